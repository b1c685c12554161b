"""Queue limits and the worker's time-outs, each from its own start, each with its own reason."""

import unittest

from harness import Gate, Gateway, GatewayCase, scripts
from harness.case import C, STREAMED, Stopwatch, together
from harness.program import wait_until
from harness.raw import sse_data


class QueueLimits(GatewayCase):
    def start(self, **queue):
        """One slot, taken by a request that ends when the gate opens."""
        self.gate = Gate()
        self.worker = self.fake_worker(scripts.held(self.gate))
        self.gateway = self.start_gateway([Gateway.worker(self.worker, slots=1)], queue=queue)
        self.first = self.send_chat(self.gateway)
        self.worker.wait_calls(1)

    def assert_retry_headers(self, answer):
        """Seconds rounded up and at least one; milliseconds beside them agree."""
        seconds = int(answer.header("retry-after"))
        milliseconds = int(answer.header("retry-after-ms"))
        self.assertGreaterEqual(seconds, 1)
        self.assertGreater(milliseconds, 0)
        self.assertEqual(seconds, max(1, -(-milliseconds // 1000)))
        self.assertNotEqual(answer.header("x-should-retry"), "false")

    def test_full_queue_answers_at_once(self):
        self.start(max_length=2)
        queued = [self.send_chat(self.gateway) for _ in range(2)]
        self.gateway.wait_status(1, waiting=2)
        taken = Stopwatch()
        answer = self.chat(self.gateway)
        self.assertLess(taken(), 0.5)
        self.assert_refused(answer, 429, "queue_full")
        self.assert_retry_headers(answer)
        self.gate.open()
        for client in (self.first, *queued):
            self.assertEqual(client.read_response().status, 200)
        self.assertEqual(len(self.worker.calls), 3)
        self.assertEqual(self.chat(self.gateway).status, 200)

    def test_full_queue_in_bytes(self):
        self.start(max_bytes="64KiB")
        large = C[:-1] + b" " * 40_000 + b"}"
        queued = self.send_chat(self.gateway, large)
        self.gateway.wait_status(1, waiting=1)
        self.assert_refused(self.chat(self.gateway, large), 429, "queue_full")
        small = self.send_chat(self.gateway)
        self.gateway.wait_status(1, waiting=2)
        self.gate.open()
        for client in (self.first, queued, small):
            self.assertEqual(client.read_response().status, 200)

    def test_queue_timeout(self):
        self.start(timeout="300ms")
        taken = Stopwatch()
        answer = self.chat(self.gateway)
        self.assertGreaterEqual(taken(), 0.29)
        self.assertLess(taken(), 1.3)
        self.assert_refused(answer, 503, "queue_timeout")
        self.assert_retry_headers(answer)
        self.assertGreaterEqual(float(answer.header("x-sluice-queue-ms")), 290)
        self.gateway.wait_status(1, waiting=0, in_use=1)
        self.gate.open()
        self.assertEqual(self.first.read_response().status, 200)
        self.assertEqual(len(self.worker.calls), 1)

    def test_waiting_time_is_shown(self):
        self.start()
        client = self.send_chat(self.gateway)
        rows = wait_until(
            lambda: [row for row in self.gateway.api("queue") if row["waited_ms"] >= 20],
            3, "a row of the queue that has waited 20 ms")
        self.assertEqual((rows[0]["pool"], rows[0]["class"], rows[0]["position"]),
                         ("p", "normal", 1))
        self.gate.open()
        waited = float(client.read_response().header("x-sluice-queue-ms"))
        self.assertGreaterEqual(waited, int(rows[0]["waited_ms"]))

    def test_classes_are_served_in_their_order(self):
        self.start()
        order = ["low", "normal", "high", "normal", "high"]
        clients = []
        for number, priority in enumerate(order):
            clients.append(self.send_chat(self.gateway, headers=[
                ("x-sluice-priority", priority), ("x-request-id", f"{priority}-{number}")]))
            self.gateway.wait_status(1, waiting=number + 1)
        waiting = self.gateway.api("pools")[0]["waiting"]
        self.assertEqual(waiting, {"high": 2, "normal": 2, "low": 1})
        self.gate.open()
        together([client.read_response for client in clients])
        self.assertEqual([call.header("x-request-id") for call in self.worker.calls[1:]],
                         ["high-2", "high-4", "normal-1", "normal-3", "low-0"])


class WorkerTimeouts(GatewayCase):
    def start(self, script, **timeouts):
        self.worker = self.fake_worker(script)
        self.gateway = self.start_gateway([Gateway.worker(self.worker, slots=1)],
                                          timeouts=timeouts)

    def assert_given_back(self):
        self.gateway.wait_status(1, in_use=0, waiting=0, kv_reserved=0)
        self.assertIsNotNone(self.worker.wait_closed(self.worker.calls[-1], 1))

    def test_first_token(self):
        """Headers and comments are no token: the clock runs until the first event with data."""
        def silent(call):
            call.wait(Gate())

        def only_headers(call):
            call.send(scripts.stream_head("chunked"))
            call.wait(Gate())

        def comments(call):
            call.send(scripts.stream_head("chunked") + scripts.chunk(b": hold on\n\n"))
            call.wait(Gate())

        for script, body in ((silent, C), (silent, STREAMED), (only_headers, STREAMED),
                             (comments, STREAMED)):
            with self.subTest(script=script.__name__):
                self.start(script, first_token="400ms")
                taken = Stopwatch()
                answer = self.chat(self.gateway, body)
                self.assertGreaterEqual(taken(), 0.39)
                self.assertLess(taken(), 0.9)
                if script is comments and answer.status == 200:
                    self.assert_failed_stream(answer, "first_token_timeout")
                else:
                    self.assert_refused(answer, 504, "first_token_timeout")
                self.assert_given_back()

    def assert_failed_stream(self, answer, code):
        """One error event at the end, and nothing that a client would read as success."""
        payloads = sse_data(answer.body)
        self.assertIn(f'"{code}"', payloads[-1])
        self.assertIn('"error"', payloads[-1])
        self.assertEqual(sum('"error"' in payload for payload in payloads), 1)
        self.assertNotIn(b"[DONE]", answer.body)

    def test_idle(self):
        pieces = [scripts.delta("a"), scripts.delta("b")]
        self.start(scripts.stream([*pieces, scripts.DONE], gate=Gate(), after=2), idle="400ms")
        taken = Stopwatch()
        answer = self.chat(self.gateway, STREAMED, [("x-request-id", "idle-1")])
        self.assertGreaterEqual(taken(), 0.39)
        self.assertLess(taken(), 0.9)
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.body.startswith(b"".join(pieces)))
        self.assert_failed_stream(answer, "idle_timeout")
        self.assert_given_back()
        self.assertEqual(self.gateway.request_line("idle-1")["outcome"], "idle_timeout")

    def test_idle_inside_an_event(self):
        """The client's parser must not glue our error to the half of an event."""
        half = scripts.delta("b")[:20]
        self.start(scripts.stream([scripts.delta("a"), half, b"rest"], gate=Gate(), after=2),
                   idle="300ms")
        answer = self.chat(self.gateway, STREAMED)
        rest = answer.body.removeprefix(scripts.delta("a"))
        # What is left of the half is closed by a blank line, or was held back.
        self.assertIn(rest.removeprefix(half)[:2], (b"\n\n", b"da"))
        self.assert_failed_stream(answer, "idle_timeout")
        self.assert_given_back()

    def test_a_slow_healthy_stream_is_left_alone(self):
        """Longer than first_token and idle, but never silent for so long: not a time-out (B20)."""
        tick = Gate()

        def steady(call):
            call.send(scripts.stream_head("chunked"))
            for _ in range(12):
                call.send(scripts.chunk(scripts.delta("t")))
                call.wait(tick, 0.1)
            call.send(scripts.chunk(scripts.delta("", "stop") + scripts.DONE) + scripts.LAST_CHUNK)
        self.start(steady, first_token="500ms", idle="500ms")
        answer = self.chat(self.gateway, STREAMED)
        self.assertTrue(answer.complete)
        self.assertEqual(sse_data(answer.body)[-1], "[DONE]")

    def test_time_in_the_queue_is_not_the_workers(self):
        """Waits longer than first_token for its slot, then is served (B20 d)."""
        gate = Gate()
        scripts_in_turn = iter([
            scripts.stream(scripts.short_stream(), gate=gate, after=1), scripts.plain])
        self.start(lambda call: next(scripts_in_turn)(call), first_token="300ms", idle="10s")
        first = self.send_chat(self.gateway, STREAMED)
        self.worker.wait_calls(1)
        second = self.send_chat(self.gateway)
        self.gateway.wait_status(1, waiting=1)
        self.assertFalse(self.worker.wait_for(lambda: len(self.worker.calls) > 1, 0.6))
        gate.open()
        self.assertEqual(first.read_response().status, 200)
        self.assertEqual(second.read_response().status, 200)

    def test_total(self):
        def endless_drip(call):
            call.send(scripts.stream_head("chunked"))
            while call.closed_at is None:
                call.send(scripts.chunk(scripts.delta("t")))
                call.wait(Gate(), 0.05)
        self.start(endless_drip, total="500ms")
        taken = Stopwatch()
        answer = self.chat(self.gateway, STREAMED)
        self.assertGreaterEqual(taken(), 0.49)
        self.assertLess(taken(), 1.0)
        self.assert_failed_stream(answer, "total_timeout")
        self.assert_given_back()

    def test_slow_requests_are_logged_with_worker_duration_and_prompt(self):
        """Whether while it runs or at its end: one warning of its own."""
        self.start(lambda call: (call.wait(Gate(), 0.3), scripts.plain(call)), slow="200ms")
        answer = self.chat(self.gateway, headers=[("x-request-id", "slow-1")])
        self.assertEqual(answer.status, 200)
        line = self.gateway.program.wait_message("slow request", 3)
        self.assertEqual((line["id"], line["level"]), ("slow-1", "warn"))
        self.assertEqual(line["worker"], answer.header("x-sluice-worker"))
        self.assertGreaterEqual(line["duration_ms"], 200)
        self.assertGreater(line["prompt_tokens"], 0)


class Unreachable(GatewayCase):
    def test_the_only_worker_is_away(self):
        worker = self.fake_worker(refusing=True)
        gateway = self.start_gateway([worker], ready=False)
        for _ in range(3):
            taken = Stopwatch()
            answer = self.chat(gateway)
            self.assertLess(taken(), 3.0)
            error = self.assert_refused(answer, 502, "worker_failed")
            self.assertIn(worker.address, error["message"])
        worker.listen()
        self.assertEqual(self.chat(gateway).status, 200)

    def test_another_worker_takes_over_what_has_sent_nothing(self):
        dead = self.fake_worker(refusing=True)
        alive = self.fake_worker()
        gateway = self.start_gateway([dead, alive], ready=False)
        for _ in range(20):
            answer = self.chat(gateway)
            self.assertEqual(answer.status, 200)
            self.assertIn(answer.header("x-sluice-attempts"), ("1", "2"))
        self.assertEqual(len(alive.calls), 20)
        gateway.wait_status(1, in_use=0)

    def test_a_request_that_a_worker_has_read_runs_once(self):
        """It hung up after reading a fresh request: nobody knows what it did; not sent twice to it
        without bound, and the client learns of the failure."""
        worker = self.fake_worker(scripts.hang_up)
        gateway = self.start_gateway([worker], pool={"retries": 0})
        self.assert_refused(self.chat(gateway), 502, "worker_failed")
        self.assertEqual(len(worker.calls), 1)

    def test_b27_stale_pooled_connections_are_no_errors(self):
        """The worker closes a kept connection when the second request arrives on it."""
        def once(call):
            served = call.connection.__dict__.setdefault("served", 0)
            call.connection.served = served + 1
            if served:
                call.drop()
            else:
                scripts.plain(call)
        worker = self.fake_worker(once)
        gateway = self.start_gateway([Gateway.worker(worker, slots=1)])
        for _ in range(50):
            answer = self.chat(gateway)
            self.assertEqual(answer.status, 200, answer)
        gateway.wait_status(1, in_use=0)


if __name__ == "__main__":
    unittest.main()
