"""What every client meets: health, ids and headers, models, unknown paths and methods."""

import json
import re
import unittest

from harness import Client, GatewayCase, fetch, scripts
from harness.case import C, CHAT, STREAMED

HEALTH = ("/health", "/live", "/livez", "/ready", "/readyz")


class FrontDoor(GatewayCase):
    def setUp(self):
        self.worker = self.fake_worker()
        self.gateway = self.start_gateway(
            [self.worker], pool={"models": ["m", "m-lora"], "aliases": {"gpt-4o-mini": "m"}})

    def test_health_on_both_ports(self):
        for address in (self.gateway.address, self.gateway.admin):
            for path in HEALTH:
                self.assertEqual(fetch(address, path).status, 200, path)
            self.assertEqual(fetch(address, "/health", "HEAD").status, 200)
        self.assertEqual(self.worker.calls, [])

    def test_models_are_listed(self):
        answer = fetch(self.gateway.address, "/v1/models")
        self.assertEqual(answer.status, 200)
        listed = answer.json()
        self.assertEqual(listed["object"], "list")
        self.assertEqual({entry["id"] for entry in listed["data"]},
                         {"m", "m-lora", "gpt-4o-mini"})
        self.assertTrue(all(entry["object"] == "model" for entry in listed["data"]))
        self.assertEqual(fetch(self.gateway.address, "/v1/models/m").json()["id"], "m")
        self.assert_refused(fetch(self.gateway.address, "/v1/models/zzz"), 404, "model_not_found")

    def test_unknown_model(self):
        for name in (b'"zzz"', b'"M"', rb'"m\u0000"'):
            answer = self.chat(self.gateway, C.replace(b'"m"', name))
            error = self.assert_refused(answer, 404, "model_not_found")
            self.assertEqual(answer.header("x-should-retry"), "false")
            self.assertEqual(error["param"], "model")
        self.assertEqual(self.worker.calls, [])

    def test_unknown_path_and_wrong_method(self):
        for path in ("/", "/v2/chat/completions", "/metrics/x", "/api/v1/pools"):
            answer = fetch(self.gateway.address, path, "POST", C)
            self.assertEqual(answer.status, 404, path)
            self.assertTrue(answer.error()["message"])
        for method, path in (("GET", CHAT), ("DELETE", CHAT), ("PUT", "/v1/completions"),
                             ("POST", "/v1/models"), ("POST", "/health")):
            answer = fetch(self.gateway.address, path, method, C if method != "GET" else b"")
            self.assertEqual(answer.status, 405, f"{method} {path}: {answer}")
            self.assertTrue(answer.header("allow"), answer)
            self.assertTrue(answer.error()["message"])
        self.assertEqual(self.worker.calls, [])

    def test_request_id_is_kept_or_made(self):
        answer = self.chat(self.gateway, headers=[("x-request-id", "mine-7")])
        self.assertEqual(answer.header("x-request-id"), "mine-7")
        self.assertEqual(self.worker.calls[-1].header("x-request-id"), "mine-7")
        made = [self.chat(self.gateway).header("x-request-id") for _ in range(2)]
        self.assertTrue(all(made))
        self.assertEqual(len(set(made)), 2)
        self.assertEqual(self.worker.calls[-1].header("x-request-id"), made[-1])
        refused = self.chat(self.gateway, b"{}", headers=[("x-request-id", "mine-8")])
        self.assertEqual(refused.header("x-request-id"), "mine-8")

    def test_traceparent_is_passed_on(self):
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        self.chat(self.gateway, headers=[("traceparent", parent), ("tracestate", "a=b")])
        call = self.worker.calls[-1]
        # The trace stays; a gateway may put its own span in as the parent.
        self.assertRegex(call.header("traceparent"),
                         r"^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$")
        self.assertEqual(call.header("tracestate"), "a=b")

    def test_response_headers_tell_what_happened(self):
        for body in (C, STREAMED):
            answer = self.chat(self.gateway, body)
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.header("x-sluice-worker"))
            self.assertRegex(answer.header("x-sluice-queue-ms"), r"^\d+(\.\d+)?$")
            self.assertEqual(answer.header("x-sluice-attempts"), "1")
            self.assertIn(answer.header("x-sluice-reason", "ok"), ("ok",))
        workers = {worker["id"] for worker in self.gateway.api("workers")}
        self.assertIn(answer.header("x-sluice-worker"), workers)

    def test_hop_headers_stay_on_their_hop(self):
        self.chat(self.gateway, headers=[
            ("connection", "keep-alive, x-private"), ("x-private", "1"), ("te", "trailers"),
            ("keep-alive", "timeout=5"), ("proxy-authorization", "Basic eDp5"),
            ("x-public", "2")])
        call = self.worker.calls[-1]
        for name in ("x-private", "te", "keep-alive", "proxy-authorization"):
            self.assertIsNone(call.header(name), name)
        self.assertEqual(call.header("x-public"), "2")
        self.assertEqual(call.header("host"), self.worker.address)

    def test_one_connection_serves_many(self):
        client = self.client(self.gateway)
        for number in range(50):
            body = STREAMED if number % 2 else C
            answer = client.post(CHAT, body).read_response()
            self.assertTrue(answer.complete)
            self.assertEqual(answer.status, 200)
        self.assertLessEqual(len(self.worker.connections), 2 + len(self.worker.probes))

    def test_pipelined_requests_are_answered_in_order(self):
        client = self.client(self.gateway)
        request = b"POST %s HTTP/1.1\r\nHost: t\r\nx-request-id: %d\r\nContent-Length: %d\r\n\r\n%s"
        client.send(b"".join(request % (CHAT.encode(), n, len(C), C) for n in range(5)))
        for number in range(5):
            answer = client.read_response()
            self.assertEqual((answer.status, answer.header("x-request-id")), (200, str(number)))

    def test_http_1_0_and_connection_close(self):
        for head in (b"POST %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n",
                     b"POST %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: "
                     b"%d\r\n\r\n"):
            for body in (C, STREAMED):
                client = self.client(self.gateway)
                client.send(head % (CHAT.encode(), len(body)) + body)
                answer = client.read_response()
                self.assertEqual(answer.status, 200)
                self.assertTrue(answer.complete)
                self.assertFalse(client._more(), "the connection is closed")

    def test_the_log_line_of_a_request(self):
        self.chat(self.gateway, headers=[("x-request-id", "plain-1")])
        line = self.gateway.request_line("plain-1")
        self.assertEqual(
            {key: line[key] for key in ("outcome", "pool", "status", "prompt_tokens",
                                        "output_tokens", "usage")},
            {"outcome": "ok", "pool": "p", "status": 200, "prompt_tokens": 5, "output_tokens": 2,
             "usage": "engine"})
        self.assertTrue(line["worker"])
        for key in ("queue_ms", "ttft_ms", "duration_ms"):
            self.assertGreaterEqual(line[key], 0, key)
        self.chat(self.gateway, b"{}", headers=[("x-request-id", "bad-1")])
        self.assertEqual(self.gateway.request_line("bad-1")["outcome"], "bad_request")
        # No usage from the engine: its events are counted, and the line says so.
        self.worker.script = scripts.stream(
            [scripts.delta("a"), scripts.delta("b"), scripts.delta("", "stop"), scripts.DONE])
        self.chat(self.gateway, STREAMED, headers=[("x-request-id", "counted-1")])
        line = self.gateway.request_line("counted-1")
        self.assertEqual((line["usage"], line["events"]), ("counted", 3))
        self.assertIn(line["output_tokens"], (2, 3))

    def test_metrics_speak_of_requests(self):
        self.chat(self.gateway)
        self.chat(self.gateway, b"{}")
        answer = fetch(self.gateway.admin, "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertIn("text/plain", answer.header("content-type"))
        page = answer.body.decode("utf-8")
        self.assertRegex(page, r'sluice_[a-z_]+_total\{[^}]*outcome="ok"[^}]*\} 1\b')
        self.assertRegex(page, r'sluice_[a-z_]+_total\{[^}]*outcome="bad_request"[^}]*\} 1\b')
        for line in page.splitlines():
            self.assertRegex(line, r"^(#.*|[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? \S+)$")

    def test_label_values_of_clients_cannot_flood_the_metrics(self):
        for number in range(200):
            self.chat(self.gateway, C.replace(b'"m"', b'"model-%d"' % number),
                      headers=[("x-sluice-tenant", f"t{number}")])
        page = fetch(self.gateway.admin, "/metrics").body.decode()
        self.assertIsNone(re.search(r"model-\d+", page))

    def test_api_rows_have_their_fields(self):
        pools = self.gateway.api("pools")
        self.assertEqual([pool["name"] for pool in pools], ["p"])
        for key in ("models", "workers", "slots", "in_use", "waiting", "kv_capacity",
                    "kv_reserved", "kv_headroom", "grants_per_s", "oldest_wait_ms", "backend",
                    "dispatcher"):
            self.assertIn(key, pools[0])
        workers = self.gateway.api("workers")
        for key in ("id", "pool", "epoch", "state", "model", "slots", "in_use", "running",
                    "waiting", "kv_capacity", "kv_reserved", "kv_used", "kv_headroom",
                    "report_age_ms", "probe"):
            self.assertIn(key, workers[0])
        self.assertEqual(workers[0]["slots"], 1000)
        self.assertEqual(self.gateway.api("queue"), [])
        self.assertEqual(self.gateway.api("permits"), [])

    def test_live_page_and_its_push(self):
        page = fetch(self.gateway.admin, "/")
        self.assertEqual(page.status, 200)
        self.assertIn("text/html", page.header("content-type"))
        self.assertIn(b"<table", page.body.lower())
        source = re.search(rb"EventSource\(\s*['\"]([^'\"]+)", page.body)
        self.assertIsNotNone(source, "the page is pushed by server-sent events")
        with Client(self.gateway.admin) as client:
            client.request("GET", source.group(1).decode())
            head = client.read_head()
            self.assertEqual(head.header("content-type", "").split(";")[0], "text/event-stream")
            body = b""
            while b"\n\n" not in body:
                body += client.read_piece()
            data = [line[5:] for line in body.split(b"\n") if line.startswith(b"data:")]
            json.loads(data[0])


if __name__ == "__main__":
    unittest.main()
