"""The stop signal (the gateway's part of B36).

Reported: on SIGTERM the process cut answers that needed minutes, or closed before the balancer had
noticed, or an endless stream kept it from leaving. Right: readiness says 503 first, who waits is
told to go elsewhere, running streams end by themselves, a second signal ends the process at once.
"""

import unittest

from harness import Client, Gate, Gateway, GatewayCase, fetch, scripts
from harness.case import STREAMED, Stopwatch


class StopSignal(GatewayCase):
    def start(self, script, slots):
        self.worker = self.fake_worker(script)
        self.gateway = self.start_gateway([Gateway.worker(self.worker, slots=slots)])

    def stream(self):
        client = self.send_chat(self.gateway, STREAMED)
        client.read_head()
        self.assertTrue(client.read_piece())
        return client

    def readiness(self):
        """503, or a listener that is closed already: both keep a balancer away."""
        try:
            return fetch(self.gateway.address, "/readyz").status
        except ConnectionError:
            return 503

    def test_b36_streams_complete_and_waiting_ones_are_sent_away(self):
        gate = Gate()
        pieces = scripts.short_stream()
        self.start(scripts.stream(pieces, gate=gate, after=1), slots=3)
        streams = [self.stream() for _ in range(3)]
        queued = [self.send_chat(self.gateway, STREAMED) for _ in range(2)]
        self.gateway.wait_status(1, in_use=3, waiting=2)

        stopped = Stopwatch()
        self.gateway.program.terminate()
        for client in queued:
            answer = client.read_response()
            self.assert_refused(answer, 503, "draining")
            self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertLess(stopped(), 1.0)
        self.assertEqual(self.readiness(), 503)
        try:
            with Client(self.gateway.address) as late:
                answer = late.post("/v1/chat/completions", STREAMED).read_response()
            if answer.status:
                self.assert_refused(answer, 503, "draining")
                self.assertIsNotNone(answer.header("retry-after"))
        except ConnectionError:
            pass  # refused at the door is as good

        # The running streams are left alone: none of them ends before the worker lets it.
        self.assertIsNone(self.gateway.program.wait_exit(0.3))
        gate.open()
        for client in streams:
            answer = client.read_rest()
            self.assertTrue(answer.complete)
            self.assertEqual(answer.body, b"".join(pieces))
        self.assertEqual(self.gateway.program.wait_exit(10), 0)
        self.assertEqual(len(self.worker.calls), 3)

    def test_b36_second_signal_ends_at_once(self):
        self.start(scripts.stream(scripts.short_stream(), gate=Gate(), after=1), slots=1)
        client = self.stream()
        call = self.worker.wait_calls(1)
        self.gateway.program.terminate()
        self.assertIsNone(self.gateway.program.wait_exit(0.3))
        again = Stopwatch()
        self.gateway.program.terminate()
        self.assertIsNotNone(self.gateway.program.wait_exit(2))
        self.assertLess(again(), 1.0)
        self.assertIsNotNone(self.worker.wait_closed(call, 1))
        self.assertNotIn(b"[DONE]", client.read_rest().body)

    def test_b36_idle_gateway_leaves_at_once(self):
        self.start(scripts.plain, slots=1)
        idle = self.client(self.gateway)
        self.assertEqual(idle.request("GET", "/health").read_response().status, 200)
        stopped = Stopwatch()
        self.gateway.program.terminate()
        self.assertEqual(self.gateway.program.wait_exit(10), 0)
        self.assertLess(stopped(), 5.0)


if __name__ == "__main__":
    unittest.main()
