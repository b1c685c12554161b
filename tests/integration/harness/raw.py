"""An HTTP/1.1 client that hides nothing: bytes out, half-close, reset, and the answer's framing.

`http.client` repairs and retries; these tests are about the bytes and the moment a socket closes.
"""

import json
import socket
import struct


class Response:
    """One answer. `complete` is true only when the framing itself confirmed the end of the body."""

    def __init__(self):
        self.status = 0
        self.status_line = b""
        self.headers = []
        self.body = b""
        self.complete = False

    def header(self, name, default=None):
        """First value of the field `name`, without regard to case."""
        for key, value in self.headers:
            if key == name.lower():
                return value
        return default

    def json(self):
        return json.loads(self.body.decode("utf-8"))

    def error(self):
        """The `error` object of an OpenAI-shaped refusal."""
        return self.json()["error"]

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r} complete={self.complete}>"


def split_address(address):
    """'127.0.0.1:80' or 'http://127.0.0.1:80' as the pair that sockets want."""
    host, _, port = address.rsplit("/", 1)[-1].rpartition(":")
    return host, int(port)


def head_bytes(method, path, body=b"", headers=()):
    """A request head. Header values may be bytes, for values that are no text at all."""
    lines = [method.encode() + b" " + (path if isinstance(path, bytes) else path.encode())
             + b" HTTP/1.1"]
    given = {name.lower() for name, _ in headers}
    if "host" not in given:
        lines.append(b"Host: sluice.test")
    if method in ("POST", "PUT") and "content-length" not in given:
        lines.append(b"Content-Length: %d" % len(body))
    if body and "content-type" not in given:
        lines.append(b"Content-Type: application/json")
    for name, value in headers:
        raw = value if isinstance(value, bytes) else str(value).encode()
        lines.append(name.encode() + b": " + raw)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def as_body(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()


class Client:
    """One connection. Reading members raise `TimeoutError` when nothing comes within `timeout`."""

    def __init__(self, address, timeout=15.0, tls=None, server_name="localhost"):
        self.socket = socket.create_connection(split_address(address), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name)
        self.buffer = b""
        self.response = None
        self._framing = None
        self._left = 0
        self._head_only = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- out -------------------------------------------------------------------------------------

    def send(self, data):
        self.socket.sendall(data)

    def request(self, method, path, body=b"", headers=()):
        body = as_body(body) if body else b""
        self._head_only = method == "HEAD"
        self.send(head_bytes(method, path, body, headers) + body)
        return self

    def post(self, path, body, headers=()):
        return self.request("POST", path, as_body(body), headers)

    def half_close(self):
        """FIN only: nothing more will be sent, everything is still read."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """RST: gone without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    # -- in --------------------------------------------------------------------------------------

    def _more(self):
        """Reads once; false at the end of the stream."""
        try:
            data = self.socket.recv(256 * 1024)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                return None
        part, _, self.buffer = self.buffer.partition(mark)
        return part

    def read_head(self):
        """Reads a final response's head (1xx is skipped); `status` stays 0 when the peer closed."""
        response = self.response = Response()
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                self._framing = "none"
                return response
            lines = head.split(b"\r\n")
            response.status_line = lines[0]
            response.status = int(lines[0].split(b" ")[1])
            if response.status >= 200:
                break
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            response.headers.append((name.decode("latin-1").lower(),
                                     value.strip().decode("latin-1")))
        if self._head_only:
            self._framing, self._left = "length", 0
        elif "chunked" in response.header("transfer-encoding", ""):
            self._framing = "chunked"
        elif response.header("content-length") is not None:
            self._framing, self._left = "length", int(response.header("content-length"))
        else:
            self._framing = "close"
        return response

    def read_piece(self):
        """The next piece of the body as it came; b"" at the end, proper or not (`complete` tells)."""
        piece = getattr(self, "_read_" + self._framing)()
        self.response.body += piece
        return piece

    def _read_none(self):
        return b""

    def _read_length(self):
        if self._left == 0:
            self.response.complete = True
            return b""
        if not self.buffer and not self._more():
            return b""
        piece, self.buffer = self.buffer[:self._left], self.buffer[self._left:]
        self._left -= len(piece)
        return piece

    def _read_close(self):
        if not self.buffer and not self._more():
            self.response.complete = True
            return b""
        piece, self.buffer = self.buffer, b""
        return piece

    def _read_chunked(self):
        if self._left == 0:
            size = self._until(b"\r\n")
            if size is None:
                return b""
            self._left = int(size.split(b";")[0], 16)
            if self._left == 0:
                while (line := self._until(b"\r\n")) is not None:
                    if not line:
                        self.response.complete = True
                        break
                self._framing = "none"
                return b""
        if not self.buffer and not self._more():
            self._framing = "none"
            return b""
        piece, self.buffer = self.buffer[:self._left], self.buffer[self._left:]
        self._left -= len(piece)
        if self._left == 0 and self._until(b"\r\n") is None:
            self._framing = "none"
        return piece

    def read_until_body(self, length):
        """Reads until the body has `length` bytes (or ended). Returns what there is of it."""
        while len(self.response.body) < length and self.read_piece():
            pass
        return self.response.body

    def read_rest(self):
        while self.read_piece():
            pass
        return self.response

    def read_response(self):
        self.read_head()
        return self.read_rest()


def fetch(address, path, method="GET", body=b"", headers=(), timeout=15.0):
    """One request on a connection of its own."""
    with Client(address, timeout) as client:
        return client.request(method, path, body, headers).read_response()


def post(address, path, body, headers=(), timeout=15.0):
    return fetch(address, path, "POST", as_body(body), headers, timeout)


def sse_data(body):
    """The `data:` payloads of an event stream with plain line ends, in order."""
    payloads = []
    for block in body.decode("utf-8").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n")
                 if line.startswith("data:")]
        if lines:
            payloads.append("\n".join(lines))
    return payloads
