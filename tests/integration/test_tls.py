"""TLS of the data port and towards workers: who is let in, what is told, what changes while it runs."""

import json
import os
import shutil
import signal
import socket
import ssl
import tempfile
import unittest
import warnings

from harness import Client, Gate, GatewayCase, fetch, scripts
from harness.case import C, CHAT, STREAMED
from harness.program import run, wait_until
from harness.raw import split_address
from harness.tls import Authority, TlsFront, replace


class TlsCase(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.stranger = Authority("another authority")
        cls.addClassCleanup(cls.stranger.close)
        cls.server = cls.authority.issue("server")

    def start_secure(self, workers=None, cert=None, client_ca=None, **options):
        cert, key = cert or self.server
        tls = {"cert": cert, "key": key} | ({"client_ca": client_ca} if client_ca else {})
        # Readiness is asked for in plain HTTP on the admin port.
        return self.start_gateway(workers or [self.fake_worker()], tls=tls, **options)

    def secure(self, gateway, context=None, **options):
        client = Client(gateway.address, tls=context or self.authority.client(), **options)
        self.addCleanup(client.close)
        return client

    def metric(self, gateway, name):
        text = fetch(gateway.admin, "/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name))

    def line(self, gateway, message, **wanted):
        """The first log line with this message and these parts of its fields."""

        def mine(raw):
            line = json.loads(raw)
            return line["msg"] == message and all(
                part in str(line.get(key)) for key, part in wanted.items())
        found = gateway.program.err.find(mine, 5)
        self.assertIsNotNone(found, gateway.program.tail())
        return json.loads(found)


class DataPort(TlsCase):
    def test_answers_streams_and_keeps_the_connection(self):
        gateway = self.start_secure()
        client = self.secure(gateway)
        for _ in range(3):
            self.assertEqual(client.post(CHAT, C).read_response().status, 200)
            streamed = client.post(CHAT, STREAMED).read_response()
            self.assertTrue(streamed.complete)
            self.assertEqual(streamed.body, b"".join(scripts.short_stream()))
        self.assertEqual(client.socket.selected_alpn_protocol(), None)

    def test_versions_and_protocols(self):
        gateway = self.start_secure()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.authority.client()
            context.minimum_version = context.maximum_version = version
            context.set_alpn_protocols(["h2", "http/1.1"])
            client = self.secure(gateway, context)
            self.assertEqual(client.socket.selected_alpn_protocol(), "http/1.1")
            self.assertEqual(client.post(CHAT, C).read_response().status, 200)
        old = self.authority.client()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        h2 = self.authority.client()
        h2.set_alpn_protocols(["h2"])
        for context in (old, h2):
            with self.assertRaises(ssl.SSLError):
                self.secure(gateway, context)
        wait_until(lambda: self.metric(gateway, "sluice_tls_handshake_failures_total") == 2, 5,
                   "two counted failures")

    def test_large_bodies_both_ways(self):
        body = os.urandom(3 << 20).hex().encode()
        answer = scripts.completion(body.decode())
        worker = self.fake_worker(scripts.answer(200, answer))
        gateway = self.start_secure([worker])
        request = C.replace(b'"hi"', b'"' + body + b'"')
        response = self.secure(gateway).post(CHAT, request).read_response()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.body, answer)
        self.assertEqual(worker.calls[0].body, request)

    def test_a_client_that_reads_nothing_holds_the_worker_back(self):
        gate = Gate()
        sent = []

        def endless(call):
            call.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                      b"transfer-encoding: chunked\r\n\r\n")
            piece = scripts.delta("x" * 60_000)
            framed = b"%x\r\n%s\r\n" % (len(piece), piece)
            while not gate.is_open and len(sent) < 2000:
                call.send(framed)
                sent.append(len(framed))
        worker = self.fake_worker(endless)
        gateway = self.start_secure([worker])
        client = self.secure(gateway).post(CHAT, STREAMED)
        client.read_head()
        # It stands still as soon as the buffers of two connections are full.
        before = -1

        def still():
            nonlocal before
            before, was = len(sent), before
            return before == was and before > 0
        wait_until(still, 20, "the worker standing still")
        self.assertLess(len(sent), 2000)
        gate.open()
        client.reset()
        gateway.wait_status(5, in_use=0)

    def test_a_client_that_leaves_frees_its_place(self):
        for leave in ("close", "reset", "close_notify"):
            with self.subTest(leave):
                gate = Gate()
                worker = self.fake_worker(scripts.held(gate))
                gateway = self.start_secure([worker])
                client = self.secure(gateway).post(CHAT, C)
                call = worker.wait_calls(1)
                if leave == "close_notify":
                    # Says that it will send no more, and would still read.
                    client.socket.settimeout(0.2)
                    with self.assertRaises((TimeoutError, ssl.SSLError, OSError)):
                        client.socket.unwrap()
                elif leave == "reset":
                    client.reset()
                else:
                    client.close()
                worker.wait_closed(call, 5)
                gateway.wait_status(5, in_use=0)
                gate.open()

    def test_plain_http_is_told_so(self):
        gateway = self.start_secure()
        answer = self.chat(gateway)
        self.assertEqual(answer.status, 400)
        self.assertIn("https://", answer.error()["message"])
        line = self.line(gateway, "TLS handshake failed", why="plain HTTP")
        self.assertTrue(line["peer"].startswith("127.0.0.1:"))

    def test_garbage_silence_and_half_a_handshake_cost_nothing(self):
        gateway = self.start_secure()
        for data in (b"\x00" * 64, b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x16"):
            with socket.create_connection(split_address(gateway.address), timeout=10) as peer:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(4096):
                    pass
        wait_until(lambda: self.metric(gateway, "sluice_tls_handshake_failures_total") == 3, 5,
                   "three counted failures")
        self.assertEqual(self.secure(gateway).post(CHAT, C).read_response().status, 200)

    def test_the_process_ends_while_handshakes_are_open(self):
        gateway = self.start_secure()
        peers = [socket.create_connection(split_address(gateway.address)) for _ in range(3)]
        self.assertEqual(self.secure(gateway).post(CHAT, C).read_response().status, 200)
        gateway.stop()
        for peer in peers:
            peer.close()


class ClientCertificates(TlsCase):
    def test_only_those_of_the_authority_come_in(self):
        gateway = self.start_secure(client_ca=self.authority.cert)
        known = self.authority.issue("known", "DNS:client")
        client = self.secure(gateway, self.authority.client(*known))
        self.assertEqual(client.post(CHAT, C).read_response().status, 200)
        unknown = self.stranger.issue("unknown", "DNS:client")
        ended = self.authority.issue("ended", "DNS:client", days=-1)
        for why, shown in (("did not return a certificate", (None, None)),
                           ("unable to get local issuer certificate", unknown),
                           ("certificate has expired", ended)):
            with self.subTest(why):
                # The log has at most one such line a second.
                gateway = self.start_secure(client_ca=self.authority.cert)
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    client = self.secure(gateway, self.authority.client(*shown))
                    client.post(CHAT, C)
                    if client.socket.recv(1) == b"":
                        raise ConnectionError("closed")
                self.line(gateway, "TLS handshake failed", why=why)


class Changes(TlsCase):
    def setUp(self):
        self.cert = self.authority.path(self.id() + ".pem")
        self.key = self.authority.path(self.id() + ".key")
        for source, target in zip(self.authority.issue("first"), (self.cert, self.key)):
            shutil.copyfile(source, target)

    def subject(self, gateway):
        client = self.secure(gateway)
        try:
            return dict(pair[0] for pair in client.socket.getpeercert()["subject"])["commonName"]
        finally:
            client.close()

    def test_a_new_certificate_counts_while_a_stream_goes_on(self):
        gate = Gate()

        def slow(call):
            call.send(scripts.stream_head("chunked"))
            call.send(scripts.chunk(scripts.delta("one")))
            if call.wait(gate):
                call.send(scripts.chunk(scripts.delta("two", "stop")) +
                          scripts.chunk(scripts.DONE) + scripts.LAST_CHUNK)
        worker = self.fake_worker(slow)
        gateway = self.start_secure([worker], cert=(self.cert, self.key))
        expiry = self.metric(gateway, "sluice_tls_certificate_expiry_timestamp_seconds")
        client = self.secure(gateway).post(CHAT, STREAMED)
        client.read_head()
        self.assertEqual(self.subject(gateway), "first")
        for source, target in zip(self.authority.issue("second", days=2), (self.cert, self.key)):
            replace(source, target)
        wait_until(lambda: self.subject(gateway) == "second", 5, "the new certificate")
        gate.open()
        self.assertEqual(client.read_rest().body.count(b"data: "), 3)
        self.assertGreater(
            self.metric(gateway, "sluice_tls_certificate_expiry_timestamp_seconds"), expiry + 80_000)
        self.line(gateway, "certificates read again")

    def test_a_broken_one_changes_nothing(self):
        gateway = self.start_secure(cert=(self.cert, self.key))
        with open(self.cert + ".new", "w", encoding="utf-8") as file:
            file.write("no certificate\n")
        os.rename(self.cert + ".new", self.cert)
        self.line(gateway, "a certificate cannot be read again; the old one stays", why=self.cert)
        self.assertEqual(self.subject(gateway), "first")
        self.assertEqual(self.metric(gateway, 'sluice_tls_reloads_total{result="error"}'), 1)

    def test_a_signal_reads_again_what_no_watch_sees(self):
        # A link into another folder, whose content changes there.
        other = self.authority.path(self.id() + ".folder")
        os.mkdir(other)
        cert, key = os.path.join(other, "cert"), os.path.join(other, "key")
        os.rename(self.cert, cert)
        os.rename(self.key, key)
        os.symlink(cert, self.cert)
        os.symlink(key, self.key)
        gateway = self.start_secure(cert=(self.cert, self.key))
        for source, target in zip(self.authority.issue("second"), (cert, key)):
            replace(source, target)
        self.assertEqual(self.subject(gateway), "first")
        os.kill(gateway.pid, signal.SIGHUP)
        wait_until(lambda: self.subject(gateway) == "second", 5, "the new certificate")

    def test_a_turned_link_counts(self):
        """As Kubernetes does it: cert -> ..data/cert, and ..data is turned in one step."""
        folder = self.authority.path(self.id() + ".mount")
        os.mkdir(folder)

        def turn(version, files):
            os.mkdir(os.path.join(folder, version))
            for source, name in zip(files, ("cert", "key")):
                shutil.copyfile(source, os.path.join(folder, version, name))
            os.symlink(version, os.path.join(folder, "..data_tmp"))
            os.rename(os.path.join(folder, "..data_tmp"), os.path.join(folder, "..data"))
        turn("..1", self.authority.issue("first"))
        for name in ("cert", "key"):
            os.symlink(os.path.join("..data", name), os.path.join(folder, name))
        gateway = self.start_secure(
            cert=(os.path.join(folder, "cert"), os.path.join(folder, "key")))
        self.assertEqual(self.subject(gateway), "first")
        turn("..2", self.authority.issue("second"))
        wait_until(lambda: self.subject(gateway) == "second", 5, "the new certificate")


class Configuration(TlsCase):
    def check(self, **tls):
        with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
            path = os.path.join(folder, "sluice.yaml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "tls": tls,
                           "pools": [{"name": "p", "models": ["m"], "workers": [
                               {"url": "http://127.0.0.1:1", "slots": 1, "kv_tokens": 9,
                                "probe": "static"}]}]}, file)
            return run("gateway", "--config", path)

    def test_what_cannot_be_used_is_named(self):
        cert, key = self.server
        other = self.authority.issue("other")[1]
        text = self.authority.path("text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("secret text\n")
        locked = self.authority.path("locked.key")
        self.authority._run("ec", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked)
        for tls, said in (
                ({"cert": cert}, "expected cert and key together"),
                ({"client_ca": cert}, "expected cert and key beside it"),
                ({"cert": "/no/such.pem", "key": key}, "/no/such.pem cannot be read: No such file"),
                ({"cert": text, "key": key}, f"the certificate {text} is not usable"),
                ({"cert": cert, "key": text}, f"the key {text} is not usable"),
                ({"cert": cert, "key": other}, "key values mismatch"),
                ({"cert": cert, "key": locked}, f"the key {locked} is not usable"),
                ({"cert": cert, "key": key, "client_ca": text}, f"the authority {text}")):
            done = self.check(**tls)
            self.assertEqual(done.code, 1, done.tail())
            self.assertIn(said, done.err.text())
            self.assertNotIn("secret text", done.err.text())


class Workers(TlsCase):
    def front(self, cert=None, client_ca=None, script=scripts.plain):
        self.worker = self.fake_worker(script)
        front = TlsFront(self.worker.address, *(cert or self.server), client_ca)
        self.addCleanup(front.stop)
        return front

    def start_with(self, front, query=None, host=None, **options):
        query = f"?ca={self.authority.cert}" if query is None else query
        address = front.address if host is None else front.address.replace("127.0.0.1", host)
        entry = {"url": f"https://{address}{query}", "slots": 8, "kv_tokens": 100_000_000,
                 "probe": "static"}
        return self.start_gateway([entry], **({"ready": False} | options))

    def test_answers_and_streams_over_one_connection(self):
        front = self.front()
        gateway = self.start_with(front, ready=True)
        for _ in range(4):
            self.assertEqual(self.chat(gateway).status, 200)
            streamed = self.chat(gateway, STREAMED)
            self.assertEqual(streamed.body, b"".join(scripts.short_stream()))
        self.assertLessEqual(front.accepted, 4, "one a thread, and the watch")

    def test_large_bodies_both_ways(self):
        body = os.urandom(3 << 20).hex().encode()
        answer = scripts.completion(body.decode())
        gateway = self.start_with(self.front(script=scripts.answer(200, answer)))
        request = C.replace(b'"hi"', b'"' + body + b'"')
        response = self.chat(gateway, request)
        self.assertEqual((response.status, response.body == answer), (200, True))
        self.assertEqual(self.worker.calls[0].body, request)

    def test_a_certificate_that_does_not_hold_is_named(self):
        for said, cert, query, host in (
                ("unable to get local issuer certificate", None, f"?ca={self.stranger.cert}", None),
                ("unable to get local issuer certificate", None, "", None),
                ("certificate has expired", self.authority.issue("past", days=-1), None, None),
                ("IP address mismatch", self.authority.issue("named", "DNS:localhost"), None, None),
                ("hostname mismatch", self.authority.issue("elsewhere", "DNS:e,IP:127.0.0.1"),
                 None, "localhost")):
            with self.subTest(said, query=query):
                gateway = self.start_with(self.front(cert), query, host, pool={"retries": 0})
                answer = self.chat(gateway)
                self.assert_refused(answer, 502, "worker_failed")
                line = gateway.request_line(answer.header("x-request-id"))
                self.assertIn(said, line["error"])
                self.assertEqual(self.worker.calls, [])

    def test_another_name_can_be_asked_for(self):
        front = self.front(self.authority.issue("engine", "DNS:engine.example"))
        gateway = self.start_with(
            front, f"?ca={self.authority.cert}&server_name=engine.example", ready=True)
        self.assertEqual(self.chat(gateway).status, 200)

    def test_a_worker_may_want_a_certificate(self):
        known = self.authority.issue("gateway", "DNS:gateway")
        front = self.front(client_ca=self.authority.cert)
        with_it = self.start_with(
            front, f"?ca={self.authority.cert}&cert={known[0]}&key={known[1]}", ready=True)
        self.assertEqual(self.chat(with_it).status, 200)
        without = self.start_with(front, pool={"retries": 0})
        self.assert_refused(self.chat(without), 502, "worker_failed")

    def test_a_worker_that_never_answers_the_handshake(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            url = "https://127.0.0.1:%d?ca=%s" % (mute.getsockname()[1], self.authority.cert)
            gateway = self.start_gateway(
                [{"url": url, "slots": 1, "kv_tokens": 9000, "probe": "static"}], ready=False,
                pool={"retries": 0}, timeouts={"connect": "200ms"})
            answer = self.chat(gateway)
            self.assert_refused(answer, 502, "worker_failed")
            self.assertIn("handshake",
                          gateway.request_line(answer.header("x-request-id"))["error"])

    def test_a_plain_worker_behind_an_https_address(self):
        worker = self.fake_worker()
        gateway = self.start_gateway(
            [{"url": f"https://{worker.address}?ca={self.authority.cert}", "slots": 1,
              "kv_tokens": 9000, "probe": "static"}], ready=False, pool={"retries": 0})
        self.assert_refused(self.chat(gateway), 502, "worker_failed")

    def test_an_end_without_close_notify_is_no_proper_end(self):
        """A stream that only its close ends could have been shortened by anyone."""
        gate = Gate()

        def until_close(call):
            call.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" +
                      scripts.delta("one"))
            if call.wait(gate):
                call.send(scripts.DONE)
                call.drop()
        front = self.front(script=until_close)
        gateway = self.start_with(front)
        client = self.send_chat(gateway, STREAMED)
        client.read_head()
        wait_until(lambda: client.buffer or client._more(), 5, "the first event")
        front.cut()
        rest = client.read_rest()
        self.assertIn(b"error", rest.body)
        self.assertNotIn(b"[DONE]", rest.body)
        gate.open()
        # The same with a proper end is complete.
        proper = self.chat(gateway, STREAMED)
        self.assertNotIn(b"error", proper.body)

    def test_a_client_that_leaves_ends_the_call(self):
        gate = Gate()
        front = self.front(script=scripts.held(gate))
        gateway = self.start_with(front)
        client = self.send_chat(gateway)
        call = self.worker.wait_calls(1)
        client.reset()
        self.worker.wait_closed(call, 5)
        gateway.wait_status(5, in_use=0)
        gate.open()

    def test_new_authorities_count_for_new_connections(self):
        ca = self.authority.path(self.id() + ".pem")
        shutil.copyfile(self.stranger.cert, ca)
        gateway = self.start_with(self.front(), f"?ca={ca}", pool={"retries": 0})
        self.assertEqual(self.chat(gateway).status, 502)
        replace(self.authority.cert, ca)
        wait_until(lambda: self.chat(gateway).status == 200, 10, "an answer")


if __name__ == "__main__":
    unittest.main()
