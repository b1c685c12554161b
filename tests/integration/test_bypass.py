"""Large and small requests in one queue, through the gateway (B23).

Reported: strict order lets one large waiter stop all small ones; best fit lets a stream of small
ones starve the large for ever. Right: the large one is passed by a bounded number of later ones,
then room is kept for it. Weights are tokens here: a capacity of 100, blocks of one token.
"""

import json
import threading
import unittest

from harness import Gate, Gateway, GatewayCase, scripts
from harness.case import Stopwatch

CAPACITY = 100


class Weighted(GatewayCase):
    def start(self, max_bypass):
        self.gates = {}
        self.weights = {}
        self.sum = self.peak = 0
        self.lock = threading.Lock()
        self.worker = self.fake_worker(self.script)
        self.gateway = self.start_gateway(
            [Gateway.worker(self.worker, slots=100, kv_tokens=CAPACITY)],
            pool={"kv": {"block": 1}}, queue={"max_bypass": max_bypass, "ageing": "1h"})

    def script(self, call):
        name = call.header("x-request-id")
        with self.lock:
            self.sum += self.weights[name]
            self.peak = max(self.peak, self.sum)
        call.wait(self.gates[name])
        with self.lock:
            self.sum -= self.weights[name]
        scripts.plain(call)

    def order(self):
        """Names in the order in which they reached the worker."""
        return [call.header("x-request-id") for call in self.worker.calls]

    def submit(self, name, weight):
        """Sends a request of this weight: a prompt of one token, the rest is output."""
        self.gates[name], self.weights[name] = Gate(), weight
        body = {"model": "m", "prompt": [1], "max_tokens": weight - 1}
        return self.send_chat(self.gateway, json.dumps(body).encode(),
                              [("x-request-id", name)], "/v1/completions")

    def finish(self, name):
        client = self.clients[name]
        self.gates[name].open()
        self.assertEqual(client.read_response().status, 200, name)
        self.finished.add(name)

    def queue_up(self, expect_running):
        """A of 60 runs, W of 80 queues, then s1 … s10 of 10 arrive in this order."""
        self.finished = set()
        self.clients = {"A": self.submit("A", 60)}
        self.worker.wait_calls(1)
        self.clients["W"] = self.submit("W", 80)
        self.gateway.wait_status(1, waiting=1)
        for number in range(1, 11):
            name = f"s{number}"
            self.clients[name] = self.submit(name, 10)
            running = 1 + min(number, expect_running)
            self.gateway.wait_status(1, in_use=running, waiting=number + 2 - running)
            self.worker.wait_calls(running)  # granted in order, but two threads may carry the bytes
        self.worker.wait_calls(1 + expect_running)
        self.assertEqual(self.order(), ["A"] + [f"s{n + 1}" for n in range(expect_running)])

    def finish_in_order(self):
        """Ends what runs, one by one, until all have run; the worker's order grows meanwhile."""
        while len(self.finished) < len(self.clients):
            self.worker.wait_calls(len(self.finished) + 1)
            self.finish(next(name for name in self.order() if name not in self.finished))
        self.gateway.wait_status(1, in_use=0, waiting=0, kv_reserved=0)
        self.assertLessEqual(self.peak, CAPACITY)

    def test_b23_no_bypass(self):
        self.start(0)
        self.queue_up(expect_running=0)
        self.finish("A")
        # W and, beside it, the first two small ones fit at once; their bytes may overtake W's.
        self.worker.wait_calls(4, within=1)
        self.gateway.wait_status(1, in_use=3, waiting=8)
        self.assertEqual(sorted(self.order()[1:]), ["W", "s1", "s2"])
        self.finish("s1")
        self.worker.wait_calls(5, within=1)
        self.assertEqual(self.order()[4], "s3")
        self.finish_in_order()

    def test_b23_three_may_pass(self):
        self.start(3)
        self.queue_up(expect_running=3)
        # 90 of 100 are used and s4 would fit; W's turn comes first.
        self.finish("s1")
        self.finish("s2")
        self.gateway.wait_status(1, in_use=2, waiting=8, kv_reserved=70)
        self.assertFalse(self.worker.wait_for(lambda: len(self.worker.calls) > 4, 0.3),
                         self.order())
        self.finish("A")
        self.worker.wait_calls(6, within=1)
        self.assertEqual(sorted(self.order()[4:6]), ["W", "s4"])
        self.finish_in_order()

    def test_b23_more_than_the_capacity_is_refused_at_once(self):
        self.start(3)
        taken = Stopwatch()
        self.assert_refused(self.submit("X", 120).read_response(), 400, "too_large")
        self.assertLess(taken(), 1.0)
        self.assertEqual((self.worker.calls, self.gateway.waiting()), ([], 0))


if __name__ == "__main__":
    unittest.main()
