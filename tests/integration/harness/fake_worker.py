"""`UP` of the reports: a scripted worker that logs every byte and the moment its sockets close.

One thread accepts and reads all connections, so a close is noted when it happens, also while a
script waits. Each request runs its script in a thread of its own.
"""

import json
import selectors
import socket
import struct
import threading
import time

from . import scripts

PROBES = ("/health", "/v1/models", "/metrics")


class Gate:
    """Something a script waits for and a test opens."""

    def __init__(self):
        self.is_open = False
        self._waiting = set()
        self._lock = threading.Lock()

    def open(self):
        with self._lock:
            self.is_open = True
            waiting = list(self._waiting)
        for changed in waiting:
            with changed:
                changed.notify_all()

    def wait(self, changed, done, timeout):
        """Until the gate is open or `done()`; `changed` is notified for either."""
        with self._lock:
            self._waiting.add(changed)
        with changed:
            changed.wait_for(lambda: self.is_open or done(), timeout)
        with self._lock:
            self._waiting.discard(changed)
        return self.is_open


class Connection:
    def __init__(self, sock):
        self.socket = sock
        self.received = b""
        self.unparsed = b""
        self.closed_at = None
        self.close_kind = None
        self.running = 0
        self.changed = threading.Condition()

    def next_request(self):
        """(method, path, headers, body) once it is complete, otherwise nothing."""
        head, mark, rest = self.unparsed.partition(b"\r\n\r\n")
        if not mark:
            return None
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = [(name.lower(), value.strip())
                   for name, _, value in (line.partition(":") for line in lines[1:])]
        length = int(dict(headers).get("content-length", 0))
        if len(rest) < length:
            return None
        self.unparsed = rest[length:]
        return method, path, headers, rest[:length]


class Call:
    """One request at the worker, and what a script may do with it."""

    def __init__(self, worker, connection, request):
        self.worker = worker
        self.connection = connection
        self.method, self.path, self.headers, self.body = request
        self.started_at = time.monotonic()

    def header(self, name, default=None):
        return dict(self.headers).get(name.lower(), default)

    def json(self):
        return json.loads(self.body)

    @property
    def closed_at(self):
        """When the gateway's side of this connection closed; nothing while it is open."""
        return self.connection.closed_at

    def send(self, data):
        """One send per call: a test that gives pieces gets these pieces on the wire."""
        self.connection.socket.sendall(data)

    def wait(self, gate, timeout=60.0):
        """Until the gate opens (true), the gateway closes, or the time is over (false)."""
        return gate.wait(self.connection.changed, lambda: self.closed_at is not None, timeout)

    def drop(self):
        """Closes properly (FIN)."""
        try:
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def reset(self):
        self.connection.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.worker.forget(self.connection)


class FakeWorker:
    """Listens on a free loopback port. `script(call)` answers what is not a probe's question."""

    def __init__(self, script=scripts.plain, model="m", metrics=None, refusing=False):
        self.script = script
        self.model = model
        self.metrics = metrics
        self.calls = []
        self.probes = []
        self.connections = []
        self.changed = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._stopping = False
        self._listener = None
        self.port = self._reserve_port()
        if not refusing:
            self.listen()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    # -- for the test ----------------------------------------------------------------------------

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.address}"

    def wait_for(self, predicate, within):
        """Whether `predicate()` came true in time; looked at whenever something happens here."""
        with self.changed:
            return bool(self.changed.wait_for(predicate, within))

    def wait_calls(self, count, within=5.0):
        if not self.wait_for(lambda: len(self.calls) >= count, within):
            raise AssertionError(f"{len(self.calls)} of {count} requests reached the worker")
        return self.calls[count - 1]

    def wait_closed(self, call, within):
        """Seconds-exact moment of the close, or nothing when it did not come in time."""
        self.wait_for(lambda: call.closed_at is not None, within)
        return call.closed_at

    def refuse(self):
        """From now on connections are refused (the port stays ours) and idle ones are closed."""
        # A call whose answer the client has may not have returned yet: its connection is idle.
        self.wait_for(lambda: not any(one.running for one in self.connections), 5)
        self._selector.unregister(self._listener)
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in list(self.connections):
            if connection.closed_at is None and not connection.running:
                self.forget(connection)

    def listen(self):
        """Accepts (again)."""
        self._listener.listen(1024)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake.send(b"x")

    def stop(self):
        self._stopping = True
        self._wake.send(b"x")
        self._thread.join(10)
        self._listener.close()
        for connection in self.connections:
            self._mark_closed(connection, "stopped")
            connection.socket.close()
        self._wake.close()
        self._woken.close()
        self._selector.close()

    # -- inside ----------------------------------------------------------------------------------

    def _reserve_port(self):
        # Bound by number, so that the kernel keeps the port for us while we do not listen.
        while True:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self._listener = socket.socket()
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                self._listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                self._listener.close()

    def _loop(self):
        while not self._stopping:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._woken.recv(64)
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    self._read(key.data)

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(60)
        connection = Connection(sock)
        self.connections.append(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _read(self, connection):
        try:
            data = connection.socket.recv(256 * 1024)
            kind = "fin"
        except OSError:
            data, kind = b"", "reset"
        if not data:
            self._unregister(connection)
            self._mark_closed(connection, kind)
            if not connection.running:
                connection.socket.close()
            return
        connection.received += data
        connection.unparsed += data
        while (request := connection.next_request()) is not None:
            self._begin(Call(self, connection, request))

    def _begin(self, call):
        probe = call.method == "GET" and call.path in PROBES
        with self.changed:
            (self.probes if probe else self.calls).append(call)
            call.connection.running += 1
            self.changed.notify_all()
        script = scripts.answer_probe if probe else self.script
        threading.Thread(target=self._run, args=(script, call), daemon=True).start()

    def _run(self, script, call):
        try:
            script(call)
        except OSError:
            pass  # the gateway hung up: the log of closes tells the test
        with self.changed:
            call.connection.running -= 1
            self.changed.notify_all()
            over = call.closed_at is not None and not call.connection.running
        if over:
            call.connection.socket.close()

    def _mark_closed(self, connection, kind):
        if connection.closed_at is not None:
            return
        connection.closed_at, connection.close_kind = time.monotonic(), kind
        for changed in (self.changed, connection.changed):
            with changed:
                changed.notify_all()

    def _unregister(self, connection):
        try:
            self._selector.unregister(connection.socket)
        except (KeyError, ValueError):
            pass

    def forget(self, connection):
        """Closes a connection from this side."""
        self._unregister(connection)
        connection.socket.close()
        self._mark_closed(connection, "own")
