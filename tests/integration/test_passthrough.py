"""Bodies reach the worker as they were sent (B21); so do paths that the gateway only routes."""

import hashlib
import json
import unittest

from harness import GatewayCase, fetch, scripts
from harness.case import CHAT

BODY = (
    rb'{"model":"m","seed":9007199254740993,"temperature":0.10,"x":1e2,"s":"\u00e9\/","tools":'
    rb'[{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["p"],'
    rb'"properties":{"p":{"type":"string"}}}}}],"messages":[]}'
)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Passthrough(GatewayCase):
    """B21. Reported: the body was parsed and printed again, so that key order changed between two
    turns (a prefix cache never hits) and large integers lost digits. Right: the same bytes; an
    alias replaces the value of `model` and nothing else.
    """

    def setUp(self):
        self.worker = self.fake_worker()
        self.gateway = self.start_gateway([self.worker], pool={"aliases": {"gpt-4o-mini": "m"}})

    def test_b21_the_same_bytes_twice(self):
        for _ in range(2):
            self.assertEqual(self.chat(self.gateway, BODY).status, 200)
        self.assertEqual([sha256(call.body) for call in self.worker.calls], [sha256(BODY)] * 2)

    def test_b21_an_alias_changes_the_model_alone(self):
        for spelled in (b'"gpt-4o-mini"', rb'"gpt-\u0034o-mini"', b' \t"gpt-4o-mini"\n '):
            sent = BODY.replace(b'"m"', spelled, 1)
            self.assertEqual(self.chat(self.gateway, sent).status, 200)
            want = BODY.replace(b'"m"', spelled.replace(spelled.strip(), b'"m"'), 1)
            self.assertEqual(self.worker.calls[-1].body, want)

    def test_b21_an_alias_behind_other_keys_and_in_their_values(self):
        sent = (b'{"messages":[{"role":"user","content":"\\"model\\":\\"gpt-4o-mini\\""}],'
                b'"metadata":{"model":"gpt-4o-mini"},"model":"gpt-4o-mini"}')
        self.assertEqual(self.chat(self.gateway, sent).status, 200)
        want = sent[:sent.rindex(b'"gpt-4o-mini"')] + b'"m"}'
        self.assertEqual(self.worker.calls[-1].body, want)

    def test_b21_a_model_named_twice_is_refused(self):
        for second in ('"m"', '"gpt-4o-mini"', '"unknown"'):
            body = b'{"model":"m","messages":[],"model":%s}' % second.encode()
            error = self.assert_refused(self.chat(self.gateway, body), 400, "bad_request")
            self.assertEqual(error["param"], "model")
        self.assertEqual(self.worker.calls, [])

    def test_a_large_body_in_many_pieces(self):
        text = "日本✅" * 200_000
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}],
                           "max_tokens": 1}, ensure_ascii=False).encode()
        self.assertEqual(self.chat(self.gateway, body).status, 200)
        self.assertEqual(sha256(self.worker.calls[-1].body), sha256(body))

    def test_a_chunked_body_arrives_whole(self):
        client = self.client(self.gateway)
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(BODY), 7):
            client.send(scripts.chunk(BODY[start:start + 7]))
        client.send(scripts.LAST_CHUNK)
        self.assertEqual(client.read_response().status, 200)
        self.assertEqual(sha256(self.worker.calls[-1].body), sha256(BODY))

    def test_expect_continue_is_answered_and_not_passed_on(self):
        client = self.client(self.gateway, timeout=5)
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(BODY))
        self.assertIn(b" 100 ", client._until(b"\r\n\r\n"))
        client.send(BODY)
        self.assertEqual(client.read_response().status, 200)
        self.assertIsNone(self.worker.calls[-1].header("expect"))

    def test_other_paths_are_routed_by_their_model(self):
        bodies = {
            "/v1/responses": b'{"model":"gpt-4o-mini","input":"hello","max_output_tokens":5}',
            "/v1/embeddings": b'{"model":"m","input":["a","b"]}',
            "/v1/completions": b'{"model":"m","prompt":"a","max_tokens":3}',
            "/v1/messages": b'{"model":"m","max_tokens":5,"messages":[]}',
            "/v1/rerank?x=1": b'{"model":"m","query":"q","documents":["a"]}',
        }
        for path, body in bodies.items():
            with self.subTest(path=path):
                answer = self.chat(self.gateway, body, path=path)
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.body, scripts.completion())
                self.assertEqual(self.worker.calls[-1].path, path)
                self.assertEqual(self.worker.calls[-1].body,
                                 body.replace(b'"gpt-4o-mini"', b'"m"'))
        self.assertEqual(self.gateway.in_use(), 0)

    def test_other_paths_without_a_model_are_refused(self):
        self.assert_refused(self.chat(self.gateway, b'{"input":"x"}', path="/v1/responses"), 400)
        answer = self.chat(self.gateway, b'{"model":"zzz"}', path="/v1/responses")
        self.assert_refused(answer, 404, "model_not_found")
        self.assertEqual(self.worker.calls, [])

    def test_the_workers_answer_comes_back_as_it_is(self):
        """Status, body and the engine's own headers; what belongs to one hop does not travel."""
        self.worker.script = scripts.answer(
            422, b'{"detail":[1e2, "\\u00e9"]}',
            [("x-engine", "7"), ("keep-alive", "timeout=5"), ("proxy-authenticate", "x")])
        answer = self.chat(self.gateway)
        self.assertEqual((answer.status, answer.body), (422, b'{"detail":[1e2, "\\u00e9"]}'))
        self.assertEqual(answer.header("x-engine"), "7")
        self.assertIsNone(answer.header("keep-alive"))
        self.assertIsNone(answer.header("proxy-authenticate"))

    def test_two_pools_each_get_their_models(self):
        other = self.fake_worker(model="n")
        gateway = self.start_gateway(pools=[
            self.gateway.pool([self.worker], name="one", models=["m"]),
            self.gateway.pool([other], name="two", models=["n"], aliases={"big": "n"})])
        for model, worker in (("m", self.worker), ("n", other), ("big", other)):
            seen = len(worker.calls)
            body = json.dumps({"model": model, "messages": []}).encode()
            self.assertEqual(self.chat(gateway, body).status, 200)
            self.assertEqual(len(worker.calls), seen + 1)
        listed = fetch(gateway.address, "/v1/models").json()["data"]
        self.assertEqual({"m", "n", "big"}, {entry["id"] for entry in listed})


if __name__ == "__main__":
    unittest.main()
