"""Certificates of a test's own, and a worker's TLS end."""

import asyncio
import os
import shutil
import ssl
import subprocess
import tempfile
import threading

from .raw import split_address


class Authority:
    """A certificate authority in a temporary folder. Needs the program `openssl`."""

    def __init__(self, name="test authority"):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.key = self._key("ca.key")
        self.cert = self.path("ca.pem")
        self._run("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN={name}", "-days", "2",
                  "-out", self.cert)
        self._serial = 1

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def _run(self, *args, text=None):
        done = subprocess.run(("openssl",) + args, input=text, capture_output=True, text=True,
                              timeout=30, check=False)
        assert done.returncode == 0, done.stderr

    def _key(self, name):
        path = self.path(name)
        self._run("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", path)
        return path

    def issue(self, name, alternative="DNS:localhost,IP:127.0.0.1", days=1):
        """(certificate, key); with days=-1 one that has ended to be valid."""
        self._serial += 1
        key = self._key(name + ".key")
        request, cert = self.path(name + ".csr"), self.path(name + ".pem")
        options = self.path(name + ".ext")
        with open(options, "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={alternative}\n")
        self._run("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        self._run("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                  "-set_serial", str(self._serial), "-days", str(days), "-extfile", options,
                  "-out", cert)
        return cert, key

    def client(self, cert=None, key=None):
        """What a client trusts and shows."""
        context = ssl.create_default_context(cafile=self.cert)
        if cert is not None:
            context.load_cert_chain(cert, key)
        return context

    def close(self):
        self.folder.cleanup()


def replace(source, target):
    """Puts another file in a file's place, in one step."""
    fresh = target + ".new"
    shutil.copyfile(source, fresh)
    os.rename(fresh, target)


class TlsFront:
    """The TLS end of a worker: takes TLS connections and carries their bytes to a plain one.

    cut() drops all connections without a word of TLS.
    """

    def __init__(self, target, cert, key, client_ca=None):
        self.target = target
        self.accepted = 0
        self._open = set()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if client_ca:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # handshakes fail on purpose here
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(
            asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context))
        self.address = "127.0.0.1:%d" % self._server.sockets[0].getsockname()[1]

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _serve(self, reader, writer):
        self.accepted += 1
        host, port = split_address(self.target)
        inner_reader, inner_writer = await asyncio.open_connection(host, port)
        self._open |= {writer, inner_writer}
        await asyncio.gather(self._carry(reader, inner_writer), self._carry(inner_reader, writer))
        self._open -= {writer, inner_writer}

    @staticmethod
    async def _carry(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except (OSError, ssl.SSLError):
            pass
        writer.close()

    def cut(self):
        async def abort():
            for one in list(self._open):
                one.transport.abort()
        self._call(abort())

    def stop(self):
        async def end():
            self._server.close()
            for one in list(self._open):
                one.transport.abort()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            if rest:
                await asyncio.wait(rest, timeout=10)
        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the TLS end does not end"
        self._loop.close()
