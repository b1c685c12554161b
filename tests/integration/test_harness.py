"""The harness against itself: a test that leans on a crooked ruler proves nothing."""

import threading
import unittest

from harness import Client, FakeWorker, Gate, fetch, post, scripts
from harness.case import C, CHAT, STREAMED, together
from harness.raw import sse_data


class FakeWorkerTest(unittest.TestCase):
    def worker(self, *args, **options):
        worker = FakeWorker(*args, **options)
        self.addCleanup(worker.stop)
        return worker

    def test_answers_probes_apart_from_requests(self):
        worker = self.worker()
        self.assertEqual(fetch(worker.address, "/health").status, 200)
        self.assertEqual(fetch(worker.address, "/v1/models").json()["data"][0]["id"], "m")
        self.assertIn(b"vllm:num_requests_running", fetch(worker.address, "/metrics").body)
        self.assertEqual((len(worker.calls), len(worker.probes)), (0, 3))

    def test_keeps_a_connection_and_logs_its_bytes(self):
        worker = self.worker()
        with Client(worker.address) as client:
            self.assertEqual(client.post(CHAT, C).read_response().status, 200)
            streamed = client.post(CHAT, STREAMED).read_response()
        self.assertTrue(streamed.complete)
        self.assertEqual(sse_data(streamed.body)[-1], "[DONE]")
        self.assertEqual([call.body for call in worker.calls], [C, STREAMED])
        self.assertEqual(len(worker.connections), 1)
        self.assertEqual(worker.connections[0].received.count(b"POST /v1/chat/completions"), 2)

    def test_notes_a_close_while_its_script_waits(self):
        worker = self.worker(scripts.held(Gate()))
        for number, (leave, kind) in enumerate(((Client.close, "fin"), (Client.reset, "reset")), 1):
            client = Client(worker.address).post(CHAT, C)
            call = worker.wait_calls(number)
            leave(client)
            self.assertIsNotNone(worker.wait_closed(call, 2))
            self.assertEqual(call.connection.close_kind, kind)

    def test_a_gate_holds_and_lets_go(self):
        gate = Gate()
        worker = self.worker(scripts.held(gate))
        clients = [Client(worker.address).post(CHAT, C) for _ in range(20)]
        worker.wait_calls(20)
        gate.open()
        answers = together([client.read_response for client in clients])
        self.assertEqual([a.status for a in answers], [200] * 20)
        for client in clients:
            client.close()

    def test_refuses_and_listens_again_on_its_port(self):
        worker = self.worker(refusing=True)
        for _ in range(2):
            with self.assertRaises(ConnectionRefusedError):
                Client(worker.address)
            worker.listen()
            self.assertEqual(post(worker.address, CHAT, C).status, 200)
            worker.refuse()

    def test_a_cut_stream_is_not_complete(self):
        def cut(call):
            call.send(scripts.stream_head("chunked") + scripts.chunk(scripts.delta("a")))
            call.drop()
        for script, complete in ((cut, False), (scripts.raw(b""), False),
                                 (scripts.stream([b"x"], "close"), True),
                                 (scripts.stream([b"x"], 2), False)):
            worker = self.worker(script)
            with Client(worker.address, 2) as client:
                client.post(CHAT, C).read_head()
                if script is not cut and client.response.header("content-length") == "2":
                    threading.Timer(0.1, worker.calls[0].drop).start()
                self.assertEqual(client.read_rest().complete, complete)

    def test_pieces_arrive_as_they_are_sent(self):
        gate = Gate()
        worker = self.worker(scripts.stream([b"data: a", b"bc\n\n"], gate=gate, after=1))
        with Client(worker.address) as client:
            client.post(CHAT, C).read_head()
            self.assertEqual(client.read_piece(), b"data: a")
            gate.open()
            self.assertEqual(client.read_rest().body, b"data: abc\n\n")

    def test_an_endless_stream_ends_with_its_reader(self):
        worker = self.worker(scripts.endless())
        client = Client(worker.address)
        client.post(CHAT, C).read_head()
        client.read_until_body(100_000)
        client.reset()
        self.assertTrue(worker.wait_for(lambda: worker.calls[0].connection.running == 0, 5))


if __name__ == "__main__":
    unittest.main()
