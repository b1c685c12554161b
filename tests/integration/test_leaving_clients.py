"""Clients that leave: while the worker thinks (B01) and while they wait in the queue (B02)."""

import unittest

from harness import Gate, Gateway, GatewayCase, scripts
from harness.case import Stopwatch


class HalfClosed(GatewayCase):
    """B01. Reported: a client that shuts its write side after a complete request got an empty
    reply; in the opposite design a client that really left kept the only slot for minutes.
    Right: one documented switch decides what a FIN means, and a reset means "gone" in both modes.
    """

    def start(self, mode):
        self.gate = Gate()
        self.worker = self.fake_worker(scripts.held(self.gate))
        self.gateway = self.start_gateway([self.worker], client_half_close=mode)
        self.sent = self.send_chat(self.gateway)
        self.call = self.worker.wait_calls(1)
        self.gateway.wait_status(1, in_use=1)

    def assert_worker_released(self, left):
        """The worker saw its socket close within a second of `left`, and nothing is in use."""
        self.assertIsNotNone(self.worker.wait_closed(self.call, 1.0))
        self.assertLess(self.call.closed_at - left.start, 1.0)
        self.gateway.wait_status(1.0, in_use=0, kv_reserved=0)

    def test_b01_tolerated_half_close_gets_the_whole_answer(self):
        self.start("tolerate")
        self.sent.half_close()
        # A wrong reading of the FIN closes the worker's socket at once; half a second shows it.
        self.assertIsNone(self.worker.wait_closed(self.call, 0.5))
        self.assertEqual(self.gateway.in_use(), 1)
        self.gate.open()
        answer = self.sent.read_response()
        self.assertTrue(answer.status_line.startswith(b"HTTP/1.1 200"), answer)
        self.assertTrue(answer.complete)
        self.assertEqual(answer.body, scripts.completion())
        self.gateway.wait_status(1.0, in_use=0)

    def test_b01_half_close_aborts_by_default(self):
        self.start("abort")
        left = Stopwatch()
        self.sent.half_close()
        self.assert_worker_released(left)

    def test_b01_reset_aborts_in_both_modes(self):
        for mode in ("abort", "tolerate"):
            with self.subTest(mode=mode):
                self.start(mode)
                left = Stopwatch()
                self.sent.reset()
                self.assert_worker_released(left)

    def test_b01_streams_follow_the_same_switch(self):
        for mode, leave in (("abort", "half_close"), ("tolerate", "reset"), ("abort", "reset")):
            with self.subTest(mode=mode, leave=leave):
                gate = Gate()
                self.worker = self.fake_worker(
                    scripts.stream(scripts.short_stream(), gate=gate, after=1))
                self.gateway = self.start_gateway([self.worker], client_half_close=mode)
                client = self.send_chat(self.gateway)
                client.read_head()
                client.read_piece()
                self.call = self.worker.wait_calls(1)
                left = Stopwatch()
                getattr(client, leave)()
                self.assert_worker_released(left)


class LeftTheQueue(GatewayCase):
    """B02. Reported: requests whose client had left kept their place and were sent to the engine
    later, which slowed everyone down, so that more clients gave up.
    Right: the place is free at once and the worker never hears of the request.
    """

    def queue_three(self):
        self.gates = [Gate(), Gate()]
        gates = iter(self.gates)
        self.worker = self.fake_worker(lambda call: scripts.held(next(gates))(call))
        self.gateway = self.start_gateway([Gateway.worker(self.worker, slots=1)])
        self.a = self.send_chat(self.gateway, headers=[("x-request-id", "A")])
        self.worker.wait_calls(1)
        self.b = self.send_chat(self.gateway, headers=[("x-request-id", "B")])
        self.gateway.wait_status(1, waiting=1)
        self.c = self.send_chat(self.gateway, headers=[("x-request-id", "C")])
        self.gateway.wait_status(1, waiting=2)

    def leave_and_finish(self, leave):
        left = Stopwatch()
        leave(self.b)
        self.gateway.wait_status(0.5, waiting=1, in_use=1)
        # Our own bound for noticing is 50 ms; half a second leaves room for a busy machine.
        self.assertLess(left(), 0.5)
        released = Stopwatch()
        self.gates[0].open()
        self.worker.wait_calls(2, within=1.0)
        self.assertLess(released(), 1.0)
        self.gates[1].open()
        self.assertEqual(self.a.read_response().status, 200)
        self.assertEqual(self.c.read_response().status, 200)
        self.gateway.wait_status(1, in_use=0, waiting=0, kv_reserved=0)
        self.assertEqual([call.header("x-request-id") for call in self.worker.calls], ["A", "C"])
        self.assertEqual(self.gateway.request_line("B")["outcome"], "client_gone")

    def test_b02_reset_while_queued(self):
        self.queue_three()
        self.leave_and_finish(lambda client: client.reset())

    def test_b02_close_while_queued(self):
        self.queue_three()
        self.leave_and_finish(lambda client: client.close())

    def test_b02_a_hundred_leave_at_once(self):
        """The kind of the fault: not one abandoned request but a storm of them."""
        gate = Gate()
        worker = self.fake_worker(scripts.held(gate))
        gateway = self.start_gateway([Gateway.worker(worker, slots=1)])
        first = self.send_chat(gateway)
        worker.wait_calls(1)
        crowd = [self.send_chat(gateway) for _ in range(100)]
        gateway.wait_status(3, waiting=100)
        for client in crowd:
            client.reset()
        gateway.wait_status(1.0, waiting=0, in_use=1)
        gate.open()
        self.assertEqual(first.read_response().status, 200)
        self.assertEqual(self.chat(gateway).status, 200)
        self.assertEqual(len(worker.calls), 2)


if __name__ == "__main__":
    unittest.main()
