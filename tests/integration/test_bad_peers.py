"""One bad peer must not end the process (B40).

Reported: writing to a closed socket raised SIGPIPE; printing a string with invalid UTF-8 threw
inside the error handler and terminated everything. Right: the process lives, everybody else's
stream is perfect to the byte, bad input gets its 4xx as valid JSON, and the log stays JSON
(checked for every line when the gateway stops).
"""

import json
import selectors
import unittest

from harness import Client, FakeWorker, Gateway, GatewayCase, fetch, scripts
from harness.case import C, CHAT, STREAMED

ROUNDS = 20
STREAMS = 100
PIECES = [scripts.delta(f"{number} " + "x" * 4000) for number in range(32)]
WHOLE = b"".join([*PIECES, scripts.DONE])


class ResetStorm(GatewayCase):
    def read_all(self, clients):
        """Reads all connections to their ends as bytes come, whichever is first."""
        with selectors.DefaultSelector() as ready:
            for client in clients:
                ready.register(client.socket, selectors.EVENT_READ, client)
            while ready.get_map():
                events = ready.select(15)
                self.assertTrue(events, "streams stand still")
                for key, _ in events:
                    if not key.data._more():
                        ready.unregister(key.fileobj)
                    elif key.data.buffer.endswith(scripts.LAST_CHUNK):
                        ready.unregister(key.fileobj)
        return [client.read_response() for client in clients]

    def test_b40_fifty_of_a_hundred_reset_twenty_times(self):
        worker = self.fake_worker(scripts.stream([*PIECES, scripts.DONE]))
        gateway = self.start_gateway([Gateway.worker(worker, slots=STREAMS)])
        pid = gateway.pid
        for number in range(ROUNDS):
            clients = [Client(gateway.address).post(CHAT, STREAMED) for _ in range(STREAMS)]
            leaving, staying = clients[::2], clients[1::2]
            for place, client in enumerate(leaving):
                if place % 2:
                    client.read_head()
                client.reset()
            for answer in self.read_all(staying):
                self.assertTrue(answer.complete)
                self.assertEqual(answer.body, WHOLE, f"round {number}")
            for client in staying:
                client.close()
        gateway.wait_status(2, in_use=0, waiting=0)
        self.assertTrue(gateway.program.running())
        self.assertEqual(gateway.pid, pid)


class BadInput(GatewayCase):
    def setUp(self):
        self.worker = self.fake_worker()
        self.gateway = self.start_gateway([self.worker])

    def tearDown(self):
        self.assertTrue(self.gateway.program.running())
        self.assertEqual(self.chat(self.gateway).status, 200)
        self.gateway.wait_status(1, in_use=0, waiting=0)

    def assert_bad_body(self, body, path=CHAT):
        seen = len(self.worker.calls)
        answer = self.chat(self.gateway, body, path=path)
        self.assert_refused(answer, 400, "bad_request")
        self.assertEqual(len(self.worker.calls), seen)

    def test_b40_bodies(self):
        deep = b"[" * 100_000
        bodies = {
            "model bytes": C.replace(b'"m"', b'"\xff\xc3"'),
            "bad UTF-8 in a message": C.replace(b"hi", b"\xff\xc3"),
            "limit as text": C.replace(b":4", b':"four"'),
            "100,000 brackets": deep,
            "100,000 brackets inside": C[:-1] + b',"x":' + deep,
            "closed ones": C[:-1] + b',"x":' + deep + b"]" * 100_000 + b"}",
            "empty": b"",
            "white space": b"  \r\n ",
            "not JSON": b"hello",
            "cut": C[:-1],
            "rest behind": C + b"}",
            "an array": b"[" + C + b"]",
            "no model": b'{"messages":[]}',
            "model is a number": C.replace(b'"m"', b"7"),
            "model is null": C.replace(b'"m"', b"null"),
            "lone surrogate": C.replace(b'"m"', rb'"\ud800"'),
            "NUL": C.replace(b"hi", b"\x00"),
            "model is empty": C.replace(b'"m"', b'""'),
        }
        for name, body in bodies.items():
            with self.subTest(name):
                self.assert_bad_body(body)

    def test_b40_limit_as_a_number_in_text(self):
        """B14 leaves open whether "16" is refused or passed on with the default reserved."""
        answer = self.chat(self.gateway, C.replace(b":4", b':"16"'))
        self.assertIn(answer.status, (200, 400))
        answer.json()

    def test_b40_paths(self):
        for path in (b"/v1/%ff", b"/v1/chat/completions%ff", b"/%ff%fe", b"/v1/\xff\xfe",
                     b"/v1/%", b"/v1/%zz"):
            with self.subTest(path=path):
                with Client(self.gateway.address) as client:
                    answer = client.post(path, C).read_response()
                # Where the path is a legal one, it may be the worker's business.
                self.assertIn(answer.status, (200, 400, 404), answer)
                answer.json()

    def test_b40_header_values(self):
        for name in ("x-request-id", "x-sluice-priority", "x-sluice-tenant", "authorization",
                     "traceparent", "x-sluice-timeout-ms", "x-sluice-slo-ttft-ms", "accept"):
            with self.subTest(name=name):
                answer = self.chat(self.gateway, headers=[(name, b"\x80\xff")])
                self.assertIn(answer.status, (200, 400), answer)
                answer.json()

    def test_b40_heads(self):
        heads = [
            b"GARBAGE\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"POST /v1/chat/completions HTTP/9.9\r\nHost: t\r\n\r\n",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: "
            b"99999999999999999999999\r\n\r\n",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n"
            b"Content-Length: 2\r\n\r\n{}",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n{}",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"ffffffffffffffffffff\r\n",
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"zz\r\n",
            b"POST /v1/chat/completions HTTP/1.1\r\nbad header\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: t\r\nx: \x00\r\n\r\n",
        ]
        for head in heads:
            with self.subTest(head=head[:90]):
                with Client(self.gateway.address, 5) as client:
                    client.send(head)
                    answer = client.read_response()
                self.assertIn(answer.status, (400, 413, 501, 505), answer)
        self.assertEqual(self.worker.calls, [])

    def test_b40_oversized_head(self):
        with Client(self.gateway.address, 5) as client:
            client.send(b"GET /health HTTP/1.1\r\nHost: t\r\nx: " + b"y" * 200_000)
            self.assertIn(client.read_response().status, (400, 431))

    def test_b40_workers_error_in_bad_utf8(self):
        for status in (400, 500):
            self.worker.script = scripts.answer(status, b'{"error":{"message":"\xff\xc3"}}')
            answer = self.chat(self.gateway)
            self.assertIn(answer.status, (status, 502), answer)
            answer.json()
        self.worker.script = scripts.plain

    def test_b40_workers_endless_status_line(self):
        self.worker.script = scripts.raw(b"HTTP/1.1 200 " + b"x" * 1_000_000)
        self.assert_refused(self.chat(self.gateway), 502)
        self.worker.script = scripts.plain

    def test_b40_workers_bad_framing(self):
        bad = [
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n",
            b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n" + b"".join(
                b"x%d: %s\r\n" % (n, b"y" * 100) for n in range(10_000)),
        ]
        for data in bad:
            with self.subTest(data=data[:60]):
                self.worker.script = scripts.raw(data)
                answer = self.chat(self.gateway)
                # A head that was fine may have gone on; then the answer must show that it is cut.
                self.assertTrue(answer.status == 502 or not answer.complete, answer)
        self.worker.script = scripts.plain

    def test_b40_bad_bytes_inside_a_stream_pass_unchanged(self):
        pieces = [b"data: \xff\xfe\n\n", b"data: {\"choices\":\xc3}\n\n", b"garbage\n\n",
                  scripts.delta("a", "stop"), scripts.DONE]
        self.worker.script = scripts.stream(pieces)
        answer = self.chat(self.gateway, STREAMED)
        self.assertEqual(answer.body, b"".join(pieces))
        self.worker.script = scripts.plain

    def test_b40_the_admin_port_too(self):
        for path in (b"/api/v1/%ff", b"/api/v1/explain/%ff%00", b"/\xff", b"/api/v1/explain/\xff"):
            with self.subTest(path=path):
                answer = fetch(self.gateway.admin, path)
                self.assertIn(answer.status, (400, 404), answer)
                answer.body.decode("utf-8")
        with Client(self.gateway.admin, 5) as client:
            client.send(b"GARBAGE\r\n\r\n")
            self.assertEqual(client.read_response().status, 400)

    def test_b40_a_worker_that_is_no_server(self):
        """A worker whose port speaks another protocol altogether."""
        other = FakeWorker(scripts.raw(b"SSH-2.0-OpenSSH_9.2\r\n"))
        self.addCleanup(other.stop)
        gateway = self.start_gateway([other])
        self.assert_refused(self.chat(gateway), 502)
        self.assertTrue(json.loads(fetch(gateway.admin, "/api/v1/pools").body))


if __name__ == "__main__":
    unittest.main()
