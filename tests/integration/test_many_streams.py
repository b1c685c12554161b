"""Many long streams at once (B19)."""

import json
import unittest

from harness import Gate, Gateway, GatewayCase, fetch, scripts
from harness.case import STREAMED, Stopwatch
from harness.program import run

STREAMS = 300


class ManyStreams(GatewayCase):
    """B19. Reported: one thread a connection, so that after as many streams as threads nothing is
    answered, and a healthy process is killed because /health hangs. Right: with the default
    configuration everything else is answered as before, and all is given back at the end.
    """

    def test_b19_three_hundred_slow_streams(self):
        end = Gate()

        def slow(call):
            call.send(scripts.stream_head("chunked"))
            while not end.is_open and call.closed_at is None:
                call.send(scripts.chunk(scripts.delta("token")))
                call.wait(end, 5.0)
            call.send(scripts.chunk(scripts.DONE) + scripts.LAST_CHUNK)

        worker = self.fake_worker(slow)
        self.addCleanup(end.open)
        gateway = self.start_gateway([Gateway.worker(worker, slots=STREAMS + 1)])
        clients = [self.send_chat(gateway, STREAMED) for _ in range(STREAMS)]
        for client in clients:
            self.assertEqual(client.read_head().status, 200)
            self.assertTrue(client.read_piece())
        self.assertEqual(gateway.in_use(), STREAMS)

        for address in (gateway.address, gateway.admin):
            for path in ("/health", "/readyz"):
                taken = Stopwatch()
                self.assertEqual(fetch(address, path).status, 200)
                self.assertLess(taken(), 0.2, f"{path} on {address}")
        taken = Stopwatch()
        self.assertIn(b"sluice_", fetch(gateway.admin, "/metrics").body)
        self.assertLess(taken(), 0.2)

        status = run("status", "--admin", f"http://{gateway.admin}", "-o", "json", within=10)
        self.assertEqual(status.code, 0, status.tail())
        self.assertEqual(json.loads(status.out.text())[0]["in_use"], STREAMS)

        last = self.send_chat(gateway, STREAMED)
        self.assertEqual(last.read_head().status, 200)
        self.assertTrue(last.read_piece())
        # The configured limit is reached now: one more is queued.
        self.send_chat(gateway, STREAMED)
        gateway.wait_status(1, waiting=1, in_use=STREAMS + 1)

        for client in [*clients, last]:
            client.close()
        gateway.wait_status(2.0, waiting=0, in_use=1)
        worker.wait_calls(STREAMS + 2)


if __name__ == "__main__":
    unittest.main()
