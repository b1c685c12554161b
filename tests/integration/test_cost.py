"""What a request is charged before it runs (B13, B14), read from the pool's reserved memory.

Prompts are arrays of token ids where the number must be exact: an id is a token, no estimate.
Memory is accounted in tokens here, in blocks of 16 as engines hand it out, so that a reservation
of n sequences may exceed the plain sum by less than one block for each of them and the prompt.
"""

import json
import unittest

from harness import Gate, Gateway, GatewayCase, scripts
from harness.case import CHAT, Stopwatch

COMPLETIONS = "/v1/completions"
EMBEDDINGS = "/v1/embeddings"
BLOCK = 16


class CostCase(GatewayCase):
    context = 8192
    default_output = 512
    kv_tokens = 1_000_000

    def setUp(self):
        self.gate = Gate()
        self.worker = self.fake_worker(scripts.held(self.gate))
        self.gateway = self.start_gateway(
            [Gateway.worker(self.worker, slots=100, kv_tokens=self.kv_tokens)],
            pool={"context": self.context, "default_output": self.default_output})

    def reserved_for(self, body, path=COMPLETIONS):
        """What one request reserves while the worker holds it; the worker got its very bytes."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        seen = len(self.worker.calls)
        client = self.send_chat(self.gateway, body, path=path)
        call = self.worker.wait_calls(seen + 1)
        self.assertEqual(call.body, body)
        reserved = self.gateway.wait_status(1, in_use=1)["kv_reserved"]
        client.close()
        self.gateway.wait_status(1, in_use=0, kv_reserved=0)
        return reserved

    def assert_reserves(self, tokens, body, path=COMPLETIONS, sequences=1):
        reserved = self.reserved_for(body, path)
        self.assertGreaterEqual(reserved, tokens, body)
        self.assertLess(reserved, tokens + BLOCK * (sequences + 1), body)

    def refused_or_charged(self, body, tokens, path=COMPLETIONS):
        """For values without a meaning: 400 and no worker, or the default is charged."""
        seen = len(self.worker.calls)
        client = self.send_chat(self.gateway, body, path=path)
        if self.worker.wait_for(lambda: len(self.worker.calls) > seen, 0.2):
            reserved = self.gateway.wait_status(1, in_use=1)["kv_reserved"]
            self.assertGreaterEqual(reserved, tokens, body)
            self.assertLess(reserved, tokens + 2 * BLOCK, body)
            client.close()
        else:
            self.assert_refused(client.read_response(), 400, "bad_request")
            self.assertEqual(len(self.worker.calls), seen)
        self.gateway.wait_status(1, in_use=0, kv_reserved=0)


class ManyInOne(CostCase):
    """B13. Reported: `n`, prompt lists and embedding inputs multiply the work and cost one unit; a
    huge `n` times the limit wraps to something small. Right: each sequence is charged.
    """

    def body(self, prompt, **more):
        return {"model": "m", "prompt": prompt, "max_tokens": 100} | more

    def test_b13a_n_multiplies_the_output(self):
        def chat(n):
            return {"model": "m", "max_tokens": 100, "n": n,
                    "messages": [{"role": "user", "content": "hi"}]}
        one = self.reserved_for(chat(1), CHAT)
        four = self.reserved_for(chat(4), CHAT)
        # 300 more tokens of output, give or take a block for each sequence.
        self.assertGreaterEqual(four, 400)
        self.assertAlmostEqual(four - one, 300, delta=3 * BLOCK)

    def test_b13_best_of_multiplies_the_output(self):
        one = self.reserved_for(self.body([1, 2, 3, 4]))
        best = self.reserved_for(self.body([1, 2, 3, 4], best_of=3))
        self.assertAlmostEqual(best - one, 200, delta=3 * BLOCK)

    def test_b13b_three_prompts_are_three_sequences(self):
        reserved = self.reserved_for(self.body(["a", "b", "c"]))
        self.assertGreaterEqual(reserved, 303)
        self.assertLess(reserved, 303 + 6 * BLOCK)

    def test_b13c_token_ids_are_counted_exactly(self):
        # 4 + 12 tokens are exactly one block: a fifth token of prompt would need a second one.
        self.assertEqual(self.reserved_for(self.body([1, 2, 3, 4], max_tokens=12)), BLOCK)
        self.assertEqual(self.reserved_for(self.body([1, 2, 3, 4, 5], max_tokens=12)), 2 * BLOCK)

    def test_b13d_lists_of_token_ids(self):
        self.assert_reserves(5 + 200, self.body([[1, 2], [3, 4, 5]]), sequences=2)

    def test_b13e_a_huge_n_is_refused_by_name(self):
        for n in (1 << 62, (1 << 64) + 1, 10 ** 30):
            with self.subTest(n=n):
                answer = self.chat(self.gateway, json.dumps(self.body("a", n=n)).encode(),
                                   path=COMPLETIONS)
                error = self.assert_refused(answer, 400)
                self.assertEqual(error["param"], "n")
        self.assertEqual(self.worker.calls, [])
        self.assertEqual(self.gateway.in_use(), 0)

    def test_b13f_a_senseless_n_never_costs_nothing(self):
        for n in ("0", "-1", "1.5", '"2"'):
            with self.subTest(n=n):
                body = b'{"model":"m","prompt":[1,2,3,4],"max_tokens":12,"n":%s}' % n.encode()
                self.refused_or_charged(body, 16)

    def test_b13g_embeddings_cost_their_inputs_and_no_output(self):
        inputs = [[7] * 10] * 512
        reserved = self.reserved_for({"model": "m", "input": inputs}, EMBEDDINGS)
        self.assertGreaterEqual(reserved, 5120)
        # No output part: at most a block for each of the 512 inputs, not 512 tokens of output each.
        self.assertLessEqual(reserved, 512 * BLOCK)
        texts = self.reserved_for({"model": "m", "input": ["some words here"] * 512}, EMBEDDINGS)
        self.assertGreaterEqual(texts, 512)
        self.assertLessEqual(texts, 512 * BLOCK)


class OutputLimit(CostCase):
    """B14. Reported: `max_tokens:1` beside `max_completion_tokens:800` reserved 1; no limit
    reserved nothing; a client's default of 65,536 made every worker look too small; numbers
    wrapped. Right: the larger cap, clamped to the context that is left, the default without one.
    """

    prompt = [1] * 1000

    def body(self, limits=""):
        return (b'{"model":"m","prompt":' + json.dumps(self.prompt).encode()
                + limits.encode() + b"}")

    def test_b14_the_larger_of_two_limits(self):
        self.assert_reserves(1800, self.body(',"max_tokens":1,"max_completion_tokens":800'))
        self.assert_reserves(1800, self.body(',"max_completion_tokens":800,"max_tokens":1'))

    def test_b14_no_limit_reserves_the_default(self):
        self.assert_reserves(1512, self.body())
        self.assert_reserves(1512, self.body(',"max_tokens":null'))

    def test_b14_a_limit_beyond_the_context_is_clamped_and_admitted(self):
        # 1,000 + 7,192 is the whole context; reserved_for checks that the body went on unchanged.
        self.assertEqual(self.reserved_for(self.body(',"max_tokens":65536')), 8192)

    def test_b14_senseless_limits(self):
        for limit in ("0", "-5", "18446744073709551615", "16.5", '"16"', "1e400", "[]", "true"):
            with self.subTest(limit=limit):
                seen = len(self.worker.calls)
                client = self.send_chat(self.gateway, self.body(f',"max_tokens":{limit}'),
                                        path=COMPLETIONS)
                if self.worker.wait_for(lambda: len(self.worker.calls) > seen, 0.2):
                    reserved = self.gateway.wait_status(1, in_use=1)["kv_reserved"]
                    # The default, or the whole context for a number that is only too large.
                    self.assertIn(reserved, range(1512, 8193))
                    client.close()
                else:
                    self.assert_refused(client.read_response(), 400, "bad_request")
                self.gateway.wait_status(1, in_use=0, kv_reserved=0)

    def test_b14_the_same_for_chat(self):
        def chat(**limits):
            return {"model": "m", "messages": [{"role": "user", "content": "hi"}]} | limits
        base = self.reserved_for(chat(max_tokens=1), CHAT)
        both = self.reserved_for(chat(max_tokens=1, max_completion_tokens=800), CHAT)
        none = self.reserved_for(chat(), CHAT)
        self.assertAlmostEqual(both - base, 799, delta=BLOCK)
        self.assertAlmostEqual(none - base, 511, delta=BLOCK)
        self.assertEqual(self.reserved_for(chat(max_tokens=65536), CHAT), 8192)

    def test_b14_a_prompt_beyond_the_context_is_refused(self):
        body = {"model": "m", "prompt": [1] * 8193, "max_tokens": 1}
        answer = self.chat(self.gateway, json.dumps(body).encode(), path=COMPLETIONS)
        self.assert_refused(answer, 400, "too_large")
        self.assertEqual(self.worker.calls, [])


class TooLargeForThePool(CostCase):
    kv_tokens = 4000

    def test_b14_what_no_worker_could_hold_is_refused_at_once(self):
        body = {"model": "m", "prompt": [1] * 1000, "max_tokens": 65536}
        taken = Stopwatch()
        answer = self.chat(self.gateway, json.dumps(body).encode(), path=COMPLETIONS)
        self.assertLess(taken(), 1.0)
        self.assert_refused(answer, 400, "too_large")
        self.assertEqual(answer.header("x-should-retry"), "false")
        self.assertEqual(self.worker.calls, [])
        self.assertEqual(self.gateway.waiting(), 0)
        self.assertEqual(self.reserved_for(body | {"max_tokens": 2000}), 3008)


if __name__ == "__main__":
    unittest.main()
