"""The verbs that people start: demo, engine, gateway without a file, load, status."""

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest

from harness import Gateway, Program, fetch, post
from harness.case import CHAT, together
from harness.program import run, wait_until
from harness.raw import sse_data

TRACE_HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


class VerbCase(unittest.TestCase):
    def start(self, *arguments):
        program = Program(*arguments)
        self.addCleanup(program.stop)
        return program

    def start_engine(self, *arguments, slots=4, kv_tokens=4096):
        engine = self.start("engine", "--listen", "127.0.0.1:0", "--model", "m", "--slots", slots,
                            "--kv-tokens", kv_tokens, "--speed", 20, *arguments)
        return engine.wait_message("listening")["listen"]

    def trace(self, rows):
        """A trace as Azure publishes it: (milliseconds, prompt tokens, output tokens) a request."""
        folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "trace.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TRACE_HEAD)
            for at, prompt, output in rows:
                seconds, rest = divmod(at, 1000)
                file.write(f"2023-11-16 18:15:{seconds:02}.{rest:03}0000,{prompt},{output}\n")
        return path

    def load(self, trace, target, *arguments):
        done = run("load", "--trace", trace, "--target", target, "-o", "json", *arguments,
                   within=60)
        self.assertEqual(done.code, 0, done.tail())
        return json.loads(done.out.text())

    def assert_all_answered(self, report, sent):
        self.assertEqual(report["sent"], sent, report)
        self.assertEqual(report["answered"], sent, report)
        self.assertEqual(report["broken_streams"], 0, report)
        self.assertEqual(report["unanswered"], 0, report)
        self.assertEqual(report["ok"] + sum(report["refused"].values()), sent, report)


class Demo(VerbCase):
    def start_demo(self, *arguments):
        demo = self.start("demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *arguments)
        listening = demo.wait_message("listening")
        return demo, listening["listen"], listening["admin"]

    def curl_lines(self, demo):
        """The commands that it prints for people to paste."""
        self.assertIsNotNone(demo.out.find(lambda line: b"curl " in line, within=10), demo.tail())
        text = re.sub(r"\\\n\s*", " ", demo.out.text())
        return [line.strip().lstrip("$ ") for line in text.splitlines() if "curl " in line]

    def test_printed_curl_line_works_plain_and_streamed(self):
        demo, listen, _ = self.start_demo("--for", "5s", "--no-traffic")
        lines = self.curl_lines(demo)
        self.assertIn(listen, lines[0])
        answer = subprocess.run(lines[0], shell=True, capture_output=True, timeout=20, check=True)
        text = answer.stdout.decode("utf-8")
        if '"stream"' in lines[0]:
            self.assertEqual(sse_data(text.encode())[-1], "[DONE]")
        else:
            self.assertTrue(json.loads(text)["choices"][0]["message"]["content"])
        words = shlex.split(lines[0])
        flag = next(word for word in words if word in ("-d", "--data", "--json"))
        body = json.loads(words[words.index(flag) + 1])
        for stream in (False, True):
            answer = post(listen, CHAT, body | {"stream": stream})
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.complete)
        self.assertEqual(sse_data(answer.body)[-1], "[DONE]")
        self.assertEqual(demo.wait_exit(15), 0, demo.tail())

    def test_traffic_makes_something_to_see(self):
        demo, _, admin = self.start_demo("--traffic")

        def busy():
            return sum(p["in_use"] for p in fetch(admin, "/api/v1/pools").json()) > 0
        wait_until(busy, 15, "traffic")
        self.assertEqual(fetch(admin, "/").status, 200)
        workers = fetch(admin, "/api/v1/workers").json()
        self.assertEqual(len(workers), 2)
        self.assertEqual(demo.stop(), 0)

    def test_workers_option(self):
        demo, _, admin = self.start_demo("--workers", "3", "--no-traffic")
        self.assertEqual(len(fetch(admin, "/api/v1/workers").json()), 3)
        self.assertEqual(demo.stop(), 0)

    def test_load_against_the_demo(self):
        """Every request answered exactly once, no stream broken."""
        _, listen, admin = self.start_demo("--no-traffic")
        rows = [(number * 40, 20 + number % 7 * 60, 5 + number % 5 * 20) for number in range(150)]
        report = self.load(self.trace(rows), f"http://{listen}", "--speed", "4",
                           "--max-tokens", "256")
        self.assert_all_answered(report, 150)
        self.assertEqual(report["ok"], 150)

        def idle():
            return all(p["in_use"] == 0 and p["kv_reserved"] == 0
                       for p in fetch(admin, "/api/v1/pools").json())
        wait_until(idle, 2, "an idle pool")

    def test_load_stops_sending_and_waits(self):
        _, listen, _ = self.start_demo("--no-traffic")
        rows = [(number * 10, 20, 10) for number in range(1000)]
        report = self.load(self.trace(rows), f"http://{listen}", "--for", "2s")
        self.assertGreater(report["sent"], 50)
        self.assertLess(report["sent"], 1000)
        self.assert_all_answered(report, report["sent"])


class GatewayWithoutFile(VerbCase):
    def start_gateway(self, *engines):
        arguments = [part for engine in engines for part in ("--worker", f"http://{engine}")]
        gateway = self.start("gateway", *arguments, "--listen", "127.0.0.1:0",
                             "--admin", "127.0.0.1:0")
        listening = gateway.wait_message("listening")
        wait_until(lambda: fetch(listening["listen"], "/readyz").status == 200, 10, "readiness")
        return gateway, listening["listen"], listening["admin"]

    def test_model_and_capacity_are_read_from_the_engine(self):
        engine = self.start_engine(slots=4, kv_tokens=4096)
        gateway, listen, admin = self.start_gateway(engine)
        models = fetch(listen, "/v1/models").json()
        self.assertEqual([entry["id"] for entry in models["data"]], ["m"])
        pool = fetch(admin, "/api/v1/pools").json()[0]
        self.assertEqual((pool["kv_capacity"], pool["slots"]), (4096, 4))
        body = {"model": "m", "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}]}
        self.assertEqual(post(listen, CHAT, body).status, 200)
        streamed = post(listen, CHAT, body | {"stream": True})
        self.assertEqual(sse_data(streamed.body)[-1], "[DONE]")
        status = run("status", "--admin", f"http://{admin}", within=10)
        self.assertEqual(status.code, 0, status.tail())
        self.assertIn("m", status.out.text())
        self.assertEqual(gateway.stop(), 0)

    def test_no_worker_at_all(self):
        """Nothing listens there: one sentence that names the address, and no crash."""
        program = Program("gateway", "--worker", "http://127.0.0.1:9", "--listen", "127.0.0.1:0",
                          "--admin", "127.0.0.1:0")
        try:
            line = program.err.find(lambda text: b"127.0.0.1:9" in text, within=10)
            self.assertIsNotNone(line, program.tail())
            if program.wait_exit(0.5) is not None:
                self.assertEqual(program.process.returncode, 1)
        finally:
            program.stop()


class LoadThroughTheGateway(VerbCase):
    def test_load_never_exceeds_slots_and_memory(self):
        """Two engines say themselves what they held at most."""
        slots, kv_tokens = 4, 4096
        engines = [self.start_engine("--when-full", "refuse", slots=slots, kv_tokens=kv_tokens)
                   for _ in range(2)]
        gateway = Gateway([{"url": f"http://{engine}", "slots": slots, "kv_tokens": kv_tokens,
                            "probe": "vllm"} for engine in engines])
        self.addCleanup(gateway.stop)
        rows = [(number * 10, 50 + number % 11 * 40, 10 + number % 6 * 30) for number in range(200)]
        report = self.load(self.trace(rows), f"http://{gateway.address}", "--max-tokens", "256")
        self.assert_all_answered(report, 200)
        self.assertEqual(report["ok"], 200)
        started = 0
        for engine in engines:
            stats = fetch(engine, "/stats").json()
            self.assertLessEqual(stats["peak_running"], slots, stats)
            self.assertLessEqual(stats["peak_kv_tokens"], kv_tokens, stats)
            self.assertGreater(stats["peak_kv_tokens"], 0, stats)
            self.assertEqual((stats["running"], stats["preemptions"], stats["crashes"]), (0, 0, 0))
            started += stats["started"]
        self.assertEqual(started, 200)


class Engine(VerbCase):
    def test_speaks_as_an_engine_does(self):
        engine = self.start_engine()
        self.assertEqual(fetch(engine, "/health").status, 200)
        self.assertEqual(fetch(engine, "/v1/models").json()["data"][0]["id"], "m")
        page = fetch(engine, "/metrics").body.decode()
        for name in ("vllm:num_requests_running", "vllm:num_requests_waiting",
                     "vllm:kv_cache_usage_perc", "vllm:cache_config_info"):
            self.assertIn(name, page)
        body = {"model": "m", "max_tokens": 50, "sluice_sim_output": 7,
                "messages": [{"role": "user", "content": "hi"}]}
        plain = post(engine, CHAT, body).json()
        self.assertEqual(plain["usage"]["completion_tokens"], 7)
        asked = body | {"stream": True, "stream_options": {"include_usage": True}}
        usage = json.loads(sse_data(post(engine, CHAT, asked).body)[-2])
        self.assertEqual(usage["usage"]["completion_tokens"], 7)
        self.assertEqual(usage["choices"], [])
        silent = post(engine, CHAT, body | {"stream": True}).body
        self.assertNotIn(b'"completion_tokens"', silent)

    def test_counts_its_own_peaks(self):
        engine = self.start_engine(slots=3)
        body = {"model": "m", "max_tokens": 40, "sluice_sim_output": 40,
                "messages": [{"role": "user", "content": "hi"}]}
        together([lambda: post(engine, CHAT, body)] * 3)
        stats = fetch(engine, "/stats").json()
        self.assertEqual((stats["started"], stats["finished"], stats["running"]), (3, 3, 0))
        self.assertLessEqual(stats["peak_running"], 3)
        self.assertGreaterEqual(stats["peak_kv_tokens"], 40)
        self.assertEqual(stats["kv_tokens_used"], 0)


if __name__ == "__main__":
    unittest.main()
