"""Clients and workers that send much, slowly, twice over or without an end (B28, B35 and their kind).

Right: a clear answer, memory within its bounds, the connection never out of step, the permit back.
"""

import socket
import unittest

from harness import Client, Gate, Gateway, GatewayCase, scripts
from harness.case import C, CHAT, STREAMED, Stopwatch, together
from harness.program import wait_until

MIB = 1 << 20
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n"


def padded(size):
    """`C` with blanks inside, `size` bytes in all."""
    return C[:-1] + b" " * (size - len(C)) + b"}"


def resident(pid):
    """Bytes of memory that the process has now."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


class Memory(GatewayCase):
    def test_b35a_the_sum_of_bodies_is_bounded(self):
        """500 requests of 1 MiB against 64 MiB: about 64 are taken, the rest is told at once."""
        gate = Gate()
        worker = self.fake_worker(scripts.held(gate))
        gateway = self.start_gateway(
            [worker], limits={"queued_body_bytes": 64 * MIB})
        before = resident(gateway.pid)
        body = padded(MIB)
        answers = []

        def ask():
            try:
                answers.append(self.chat(gateway, body))
            except (ConnectionError, TimeoutError) as failure:
                answers.append(failure)

        def watch():
            # 436 are refused while the others hold their places.
            wait_until(lambda: len(answers) >= 436, 60, "the refusals")
            self.assertLess(resident(gateway.pid) - before, 200 * MIB)
            self.assertEqual(worker.wait_calls(64).method, "POST")
            gate.open()
        together([ask] * 500 + [watch])
        taken = [one for one in answers if getattr(one, "status", 0) == 200]
        refused = [one for one in answers if getattr(one, "status", 0) == 429]
        self.assertEqual((len(taken), len(refused)), (64, 436),
                         [one for one in answers if one not in taken + refused][:3])
        for one in refused:
            self.assert_refused(one, 429, "queue_full")
            self.assertGreaterEqual(int(one.header("retry-after")), 1)
        gateway.wait_status(5, in_use=0, waiting=0)
        # Everything was given back.
        self.assertEqual(self.chat(gateway, body).status, 200)

    def test_b35a_a_body_counts_while_it_is_read(self):
        gateway = self.start_gateway([self.fake_worker()], limits={"queued_body_bytes": 4 * MIB})
        announced = HEAD + b"content-length: %d\r\n\r\n" % (3 * MIB)
        first = self.client(gateway)
        first.send(announced)
        second = self.client(gateway)
        second.send(announced)
        # Which of the two has the room depends on who is read first.
        refused = self.chat(gateway, padded(3 * MIB))
        self.assert_refused(refused, 429, "queue_full")
        chunked = self.client(gateway)
        chunked.send(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        chunked.send(b"%x\r\n" % (2 * MIB) + padded(2 * MIB) + b"\r\n0\r\n\r\n")
        self.assert_refused(chunked.read_response(), 429, "queue_full")
        self.assertEqual(self.chat(gateway).status, 200, "small ones still fit")
        first.close()
        second.close()
        wait_until(lambda: self.chat(gateway, padded(3 * MIB)).status == 200, 5, "the room")

    def test_b35a_a_stream_gives_its_bodys_memory_back(self):
        gate = Gate()
        worker = self.fake_worker(scripts.stream(scripts.short_stream(), gate=gate, after=1))
        gateway = self.start_gateway([worker], limits={"queued_body_bytes": 4 * MIB})
        body = STREAMED[:-1] + b" " * (3 * MIB) + b"}"
        streams = []
        for _ in range(3):
            streams.append(self.send_chat(gateway, body))
            streams[-1].read_head()
        gate.open()
        for one in streams:
            self.assertTrue(one.read_rest().complete)

    def test_b35b_a_client_that_never_reads(self):
        """200 MB at full speed: the worker is held back, the stall ends, the permit comes back."""
        sent = []

        def flood(call):
            call.send(scripts.stream_head("chunked"))
            piece = scripts.chunk(scripts.delta("x" * 65_536))
            while call.closed_at is None and len(sent) * len(piece) < 200_000_000:
                call.send(piece)
                sent.append(len(piece))
        worker = self.fake_worker(flood)
        gateway = self.start_gateway([worker], limits={"write_timeout": "1s"})
        before = resident(gateway.pid)
        client = self.send_chat(gateway, STREAMED)
        call = worker.wait_calls(1)
        self.assertIsNotNone(worker.wait_closed(call, 15))
        self.assertLess(resident(gateway.pid) - before, 16 * MIB)
        self.assertLess(sum(sent), 100_000_000)
        gateway.wait_status(2, in_use=0)
        client.read_head()
        self.assertNotIn(b"[DONE]", client.read_rest().body)

    def test_b35c_an_event_without_an_end(self):
        """256 MiB of one line: it passes in bounded memory, or the stream is ended."""
        def line(call):
            call.send(scripts.stream_head("chunked") + scripts.chunk(b"data: "))
            piece = scripts.chunk(b"x" * MIB)
            for _ in range(256):
                if call.closed_at is not None:
                    return
                call.send(piece)
            call.send(scripts.LAST_CHUNK)
        worker = self.fake_worker(line)
        gateway = self.start_gateway([worker])
        before = resident(gateway.pid)
        client = self.send_chat(gateway, STREAMED)
        client.read_head()
        last = b""
        while not last.endswith(scripts.LAST_CHUNK):
            piece = client.socket.recv(MIB)
            self.assertTrue(piece, "the stream was cut")
            last = (last + piece)[-64:]
        self.assertLess(resident(gateway.pid) - before, 16 * MIB)
        gateway.wait_status(2, in_use=0)
        line = gateway.request_line(client.response.header("x-request-id"))
        self.assertEqual(line["usage"], "unknown")
        self.assertEqual(line["outcome"], "worker_failed")

    def test_a_worker_that_reads_nothing_is_not_waited_for_without_end(self):
        """A large body to a worker that has stopped reading: first_token ends it."""
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            url = "http://127.0.0.1:%d" % deaf.getsockname()[1]
            gateway = self.start_gateway(
                [{"url": url, "slots": 1, "kv_tokens": 10_000_000, "probe": "static"}],
                ready=False, pool={"retries": 0}, timeouts={"first_token": "500ms"})
            watch = Stopwatch()
            answer = self.chat(gateway, STREAMED[:-1] + b" " * (24 * MIB) + b"}")
            self.assert_refused(answer, 504, "first_token_timeout")
            self.assertLess(watch(), 5)
            gateway.wait_status(2, in_use=0)


class TooLarge(GatewayCase):
    def setUp(self):
        self.worker = self.fake_worker()
        self.gateway = self.start_gateway([self.worker], limits={"body_bytes": MIB})

    def assert_too_large(self, answer):
        self.assert_refused(answer, 413, "body_too_large")
        self.assertIn(str(MIB), answer.error()["message"])
        self.assertIn("limits.body_bytes", answer.error()["message"])
        self.assertEqual(answer.header("connection"), "close")
        self.assertEqual(self.worker.calls, [])

    def test_an_announced_length_is_refused_before_its_body(self):
        """The lead on body limits: 413 with JSON and the limit in it, never 404."""
        client = self.client(self.gateway)
        client.send(HEAD + b"content-length: %d\r\n\r\n" % (MIB + 1))
        self.assert_too_large(client.read_response())

    def test_a_client_that_sends_all_the_same_reads_the_answer(self):
        for size in (MIB + 1, 8 * MIB):
            self.assert_too_large(self.chat(self.gateway, padded(size)))

    def test_a_chunked_body_that_grows_beyond_it(self):
        client = self.client(self.gateway)
        client.send(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(16):
            client.send(piece)
        client.send(b"1\r\n \r\n")
        self.assert_too_large(client.read_response())

    def test_exactly_the_limit_is_taken(self):
        self.assertEqual(self.chat(self.gateway, padded(MIB)).status, 200)

    def test_on_every_path(self):
        for path in ("/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/responses",
                     "/v1/rerank"):
            with self.subTest(path):
                client = self.client(self.gateway)
                client.send(HEAD.replace(b"/v1/chat/completions", path.encode()) +
                            b"content-length: %d\r\n\r\n" % (64 * MIB))
                self.assert_too_large(client.read_response())


class Expect(GatewayCase):
    """B28: `100 Continue` at once for what is taken, a final answer without it for what is not."""

    def ask(self, gateway, extra=b"", size=2 * MIB):
        client = self.client(gateway)
        client.send(HEAD + extra + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % size)
        return client

    def assert_refused_without_100(self, client, status, code):
        # A second request behind the refused one: its bytes are the body that was announced.
        client.send(b"GET /health HTTP/1.1\r\nhost: t\r\n\r\n")
        answer = client.read_response()
        self.assert_refused(answer, status, code)
        self.assertEqual(answer.header("connection"), "close")
        self.assertEqual(client.buffer, b"")
        self.assertFalse(client._more(), client.buffer)

    def first_line(self, client):
        wait_until(lambda: b"\r\n\r\n" in client.buffer or not client._more(), 5, "an answer")
        return client.buffer.split(b"\r\n")[0]

    def test_b28_accepted(self):
        worker = self.fake_worker()
        gateway = self.start_gateway([worker])
        watch = Stopwatch()
        client = self.ask(gateway)
        self.assertEqual(self.first_line(client), b"HTTP/1.1 100 Continue")
        self.assertLess(watch(), 0.1)
        client.send(padded(2 * MIB))
        self.assertEqual(client.read_response().status, 200)
        self.assertLess(watch(), 0.5)
        self.assertIsNone(worker.calls[0].header("expect"))
        self.assertEqual(len(worker.calls[0].body), 2 * MIB)
        self.assertEqual(client.post(CHAT, C).read_response().status, 200, "still in step")

    def test_b28_the_body_comes_without_waiting(self):
        gateway = self.start_gateway([self.fake_worker()])
        client = self.client(gateway)
        client.send(HEAD + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(C) + C)
        self.assertEqual(client.read_response().status, 200)
        self.assertEqual(client.post(CHAT, C).read_response().status, 200, "still in step")

    def test_b28_refused_for_its_key(self):
        gateway = self.start_gateway(
            [self.fake_worker()], auth={"required": True, "keys": [
                {"sha256": "0" * 64, "tenant": "t"}]})
        self.assert_refused_without_100(
            self.ask(gateway, b"authorization: Bearer wrong\r\n"), 401, "unauthorized")

    def test_b28_refused_for_its_size(self):
        gateway = self.start_gateway([self.fake_worker()], limits={"body_bytes": MIB})
        self.assert_refused_without_100(self.ask(gateway), 413, "body_too_large")

    def test_b28_refused_because_bodies_fill_the_memory(self):
        gateway = self.start_gateway([self.fake_worker()], limits={"queued_body_bytes": MIB})
        self.assert_refused_without_100(self.ask(gateway), 429, "queue_full")

    def test_b28_refused_because_every_queue_is_full(self):
        gate = Gate()
        worker = self.fake_worker(scripts.held(gate))
        gateway = self.start_gateway([Gateway.worker(worker, slots=1)], queue={"max_length": 1})
        running, waiting = self.send_chat(gateway), self.send_chat(gateway)
        gateway.wait_status(5, in_use=1, waiting=1)
        self.assert_refused_without_100(self.ask(gateway), 429, "queue_full")
        gate.open()
        for one in (running, waiting):
            self.assertEqual(one.read_response().status, 200)

    def test_b28_unknown_expectation(self):
        gateway = self.start_gateway([self.fake_worker()])
        client = self.client(gateway)
        client.send(HEAD + b"expect: 200-ok\r\ncontent-length: 2\r\n\r\n")
        self.assert_refused(client.read_response(), 417)

    def test_http_1_0_expects_nothing(self):
        gateway = self.start_gateway([self.fake_worker()])
        client = self.client(gateway)
        client.send(HEAD.replace(b"1.1", b"1.0") +
                    b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(C) + C)
        self.assertEqual(self.first_line(client), b"HTTP/1.1 200 OK")


class Slowly(GatewayCase):
    def test_heads_and_bodies_have_a_time(self):
        worker = self.fake_worker()
        gateway = self.start_gateway(
            [worker], limits={"header_timeout": "300ms", "body_timeout": "300ms",
                              "keep_alive_timeout": "300ms"})
        cases = [(b"POST /v1/chat", 408),
                 (HEAD + b"content-length: 9\r\n\r\n{", 408),
                 (HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{", 408)]
        for data, status in cases:
            with self.subTest(data):
                watch = Stopwatch()
                client = self.client(gateway)
                client.send(data)
                self.assert_refused(client.read_response(), status, "bad_request")
                self.assertLess(watch(), 3)
        for data in (b"", b"GET /health HTTP/1.1\r\nhost: t\r\n\r\n"):
            watch = Stopwatch()
            client = self.client(gateway)
            client.send(data)
            if data:
                self.assertEqual(client.read_response().status, 200)
            self.assertFalse(client._more())
            self.assertLess(watch(), 3)
        self.assertEqual(worker.calls, [])

    def test_a_body_that_drips_is_too_slow_on_the_whole(self):
        """Each byte comes in time, and the body never would."""
        gateway = self.start_gateway([self.fake_worker()], limits={"body_timeout": "400ms"})
        client = self.client(gateway, timeout=0.05)
        client.send(HEAD + b"content-length: 100000\r\n\r\n")
        watch = Stopwatch()

        def refused():
            try:
                client.send(b" ")
                return b"\r\n\r\n" in client.buffer or not client._more()
            except TimeoutError:
                return False
        wait_until(refused, 5, "an end")
        self.assertLess(watch(), 3)
        self.assertTrue(client.buffer.startswith(b"HTTP/1.1 408"), client.buffer[:100])


if __name__ == "__main__":
    unittest.main()
