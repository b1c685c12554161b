"""API keys: who comes in, as whom, and what a wrong key costs."""

import hashlib
import os
import signal
import tempfile
import unittest

from harness import GatewayCase, fetch
from harness.case import C, CHAT, STREAMED
from harness.program import run, wait_until

ACME, BATCH, FRONT, WORKER = "sk-acme-1", "sk-batch-2", "sk-front-3", "sk-worker-4"


def bearer(key):
    return ("Authorization", f"Bearer {key}")


def hashed(key, tenant, **more):
    return {"sha256": hashlib.sha256(key.encode()).hexdigest(), "tenant": tenant} | more


class KeyCase(GatewayCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, worker=None, worker_keys=None, env=None, **auth):
        self.worker = worker or self.fake_worker()
        auth = {"required": True, "keys": [
            hashed(ACME, "acme", max_class="normal"),
            {"key_file": self.file("batch.key", BATCH + "\n"), "tenant": "batch", "class": "low"},
            {"key_env": "FRONT_KEY", "tenant": "front", "trust_tenant_header": True},
        ]} | auth
        entry = {"url": self.worker.url, "slots": 8, "kv_tokens": 1_000_000, "probe": "static"}
        self.gateway = self.start_gateway(
            [entry | (worker_keys or {})], auth=auth, env={"FRONT_KEY": FRONT} | (env or {}),
            body_priority="higher_first")
        return self.gateway

    def served_as(self, headers, body=C):
        """(tenant, class) of a served request, from its log line, and the answer."""
        answer = self.chat(self.gateway, body, headers)
        self.assertEqual(answer.status, 200, answer)
        line = self.gateway.request_line(answer.header("x-request-id"))
        return (line["tenant"], line["class"]), answer


class Keys(KeyCase):
    def test_who_comes_in_and_as_whom(self):
        self.start()
        for headers, tenant, cls in (
                ([bearer(ACME)], "acme", "normal"),
                ([("authorization", f"bearer {ACME}")], "acme", "normal"),
                ([("x-api-key", ACME)], "acme", "normal"),
                ([bearer(BATCH)], "batch", "low"),
                ([bearer(FRONT)], "front", "normal"),
                # Only the key of a gateway in front may name tenants.
                ([bearer(ACME), ("x-sluice-tenant", "other")], "acme", "normal"),
                ([bearer(FRONT), ("x-sluice-tenant", "other")], "other", "normal"),
                ([bearer(BATCH), ("x-sluice-priority", "high")], "batch", "high")):
            with self.subTest(headers=headers):
                self.assertEqual(self.served_as(headers)[0], (tenant, cls))

    def test_a_class_above_the_keys_is_lowered(self):
        self.start()
        as_whom, answer = self.served_as([bearer(ACME), ("x-sluice-priority", "high")])
        self.assertEqual(as_whom, ("acme", "normal"))
        self.assertEqual(answer.header("x-sluice-class"), "normal")
        as_whom, answer = self.served_as([bearer(ACME)], C[:-1] + b',"priority":9}')
        self.assertEqual(as_whom, ("acme", "normal"))
        self.assertEqual(answer.header("x-sluice-class"), "normal")
        as_whom, answer = self.served_as([bearer(ACME), ("x-sluice-priority", "low")])
        self.assertEqual(as_whom, ("acme", "low"))
        self.assertIsNone(answer.header("x-sluice-class"))

    def test_who_does_not(self):
        self.start()
        for headers, cause in (
                ([], "missing_api_key"),
                ([("authorization", "Basic eDp5")], "missing_api_key"),
                ([bearer("sk-acme-2")], "invalid_api_key"),
                ([bearer(hashlib.sha256(ACME.encode()).hexdigest())], "invalid_api_key"),
                ([bearer(ACME + " ")], None),
                ([bearer(ACME[:-1])], "invalid_api_key"),
                ([bearer("\x80\xff")], "invalid_api_key"),
                ([bearer("x" * 5000)], "invalid_api_key"),
                ([bearer("")], None),
                ([("x-api-key", "sk-nobody")], "invalid_api_key"),
                ([bearer("sk-nobody"), ("x-api-key", ACME)], "invalid_api_key")):
            with self.subTest(headers=headers):
                answer = self.chat(self.gateway, C, [*headers, ("x-request-id", "r-1")])
                if headers == [bearer(ACME + " ")]:
                    self.assertEqual(answer.status, 200, "blanks around a value are none of it")
                    continue
                error = self.assert_refused(answer, 401, "unauthorized")
                self.assertEqual(answer.header("www-authenticate"), "Bearer")
                self.assertEqual(answer.header("x-should-retry"), "false")
                self.assertEqual(answer.header("x-request-id"), "r-1")
                self.assertEqual(error["type"], "authentication_error")
                if cause:
                    self.assertEqual(error["sluice"]["cause"], cause)
                for _, value in headers:
                    self.assertNotIn(str(value).split(" ")[-1] or "?", answer.body.decode())
        self.assertEqual(len(self.worker.calls), 1)

    def test_a_wrong_key_costs_nothing(self):
        self.start()
        # The body is announced and not sent: the answer comes all the same, without 100 Continue.
        for more in ([], [("Expect", "100-continue")]):
            client = self.client(self.gateway, 5)
            client.request("POST", CHAT, b"", [
                bearer("sk-wrong"), ("content-length", "30000000"), *more])
            head = client._until(b"\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 401 "), head)
        client = self.client(self.gateway)
        for _ in range(300):
            # A body that came with its head is skipped, and the connection stays.
            self.assertEqual(client.post(CHAT, C, [bearer("sk-wrong")]).read_response().status, 401)
        page = fetch(self.gateway.admin, "/metrics").body.decode()
        self.assertIn('sluice_auth_failures_total{cause="wrong"} 302\n', page)
        self.assertIn('sluice_auth_failures_total{cause="missing"} 0\n', page)
        lines = [line for line in self.gateway.program.err.lines if b'"unauthorized"' in line]
        self.assertGreaterEqual(len(lines), 1)
        self.assertLess(len(lines), 60, "at most one a second")
        self.assertEqual(self.worker.calls, [])

    def test_health_is_open_and_the_rest_is_not(self):
        self.start()
        for path in ("/health", "/live", "/livez", "/ready", "/readyz"):
            self.assertEqual(fetch(self.gateway.address, path).status, 200, path)
        for path in ("/v1/models", "/v1/models/m", "/metrics", "/v1/none", "/", "/v1/models/../x"):
            with self.subTest(path=path):
                self.assert_refused(fetch(self.gateway.address, path), 401, "unauthorized")
                allowed = fetch(self.gateway.address, path, headers=[bearer(ACME)])
                self.assertNotEqual(allowed.status, 401, path)
        # A known key in the query is no key: addresses end up in logs.
        self.assertEqual(fetch(self.gateway.address, f"/v1/models?api_key={ACME}").status, 401)

    def test_keys_without_being_required(self):
        self.start(required=False)
        self.assertEqual(self.served_as([])[0], ("", "normal"))
        self.assertEqual(self.served_as([("x-sluice-tenant", "acme")])[0], ("", "normal"))
        self.assertEqual(self.served_as([bearer(BATCH)])[0], ("batch", "low"))
        self.assert_refused(self.chat(self.gateway, C, [bearer("wrong")]), 401, "unauthorized")
        self.assert_refused(
            fetch(self.gateway.address, "/v1/models", headers=[bearer("wrong")]), 401)

    def test_a_clients_key_stays_here_and_a_worker_gets_its_own(self):
        self.start(worker_keys={"api_key_file": self.file("worker.key", WORKER)})
        for body in (C, STREAMED):
            self.chat(self.gateway, body, [bearer(ACME), ("x-api-key", BATCH)])
            call = self.worker.calls[-1]
            self.assertEqual(call.header("authorization"), f"Bearer {WORKER}")
            self.assertIsNone(call.header("x-api-key"))
        for connection in self.worker.connections:
            for secret in (ACME, BATCH):
                self.assertNotIn(secret.encode(), connection.received)

    def test_without_a_workers_key_nothing_goes_on(self):
        self.start()
        self.chat(self.gateway, C, [bearer(ACME), ("x-api-key", BATCH)])
        self.assertIsNone(self.worker.calls[-1].header("authorization"))
        self.assertIsNone(self.worker.calls[-1].header("x-api-key"))

    def test_probes_carry_the_workers_key(self):
        worker = self.fake_worker()
        entry = {"url": worker.url, "api_key_env": "WORKER_KEY"}
        self.start_gateway([entry], env={"WORKER_KEY": WORKER})
        self.assertTrue(worker.probes)
        for probe in worker.probes:
            self.assertEqual(probe.header("authorization"), f"Bearer {WORKER}", probe.path)

    def test_key_files_are_read_again_on_sighup(self):
        self.start(worker_keys={"api_key_file": self.file("worker.key", WORKER)})
        err = self.gateway.program.err
        self.file("batch.key", "sk-next")
        self.file("worker.key", "sk-next-worker")
        os.kill(self.gateway.pid, signal.SIGHUP)
        self.assertIsNotNone(err.find(lambda line: b'"keys read again"' in line, 5))
        # Every thread has taken them when each has answered with the new ones.
        wait_until(lambda: all(self.chat(self.gateway, C, [bearer("sk-next")]).status == 200
                               for _ in range(20)), 5)
        wait_until(lambda: all(self.chat(self.gateway, C, [bearer(BATCH)]).status == 401
                               for _ in range(20)), 5)
        self.assertEqual(self.served_as([bearer(ACME)])[0], ("acme", "normal"))
        self.assertEqual(self.worker.calls[-1].header("authorization"), "Bearer sk-next-worker")
        # What cannot be read changes nothing.
        self.file("batch.key", "")
        os.kill(self.gateway.pid, signal.SIGHUP)
        line = err.find(lambda line: b"keys cannot be read again" in line, 5)
        self.assertIn(b"batch.key", line)
        self.assertEqual(self.chat(self.gateway, C, [bearer("sk-next")]).status, 200)

    def test_a_key_that_cannot_be_read_stops_the_start(self):
        worker = self.fake_worker()
        for key, words in (({"key_env": "NOT_SET"}, "NOT_SET"),
                           ({"key_file": "/does/not/exist"}, "/does/not/exist"),
                           ({"key_file": self.file("two.key", "sk-a\nsk-b\n")}, "two.key")):
            with self.subTest(key=key):
                path = self.file("sluice.yaml", f"""
listen: 127.0.0.1:0
admin: 127.0.0.1:0
auth: {{keys: [{{tenant: t, {", ".join(f"{k}: {v}" for k, v in key.items())}}}]}}
pools: [{{name: p, models: [m], workers: [{{url: "{worker.url}"}}]}}]
""")
                program = run("gateway", "--config", path)
                self.assertEqual(program.code, 1)
                said = program.err.text()
                self.assertIn("auth.keys[0]", said)
                self.assertIn(words, said)
                self.assertNotIn("sk-a", said)


if __name__ == "__main__":
    unittest.main()
