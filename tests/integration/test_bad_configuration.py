"""Bad input on the command line: one clear sentence with key and line, and exit code 1."""

import os
import re
import socket
import tempfile
import unittest

from harness import FakeWorker, Gateway
from harness.program import run

GOOD = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
pools:
  - name: p
    models: [m]
    workers: [{url: "http://127.0.0.1:9", slots: 1, kv_tokens: 1000, probe: static}]
    queue: {timeout: 30s}
"""


class BadConfiguration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "sluice.yaml")

    def start_with(self, text, env=None):
        with open(self.path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return run("gateway", "--config", self.path, within=10, env=env)

    def assert_names(self, program, key, line):
        """Exit code 1, and one line on stderr that names the file's line and the key."""
        message = program.err.text()
        self.assertEqual(program.code, 1, message)
        self.assertRegex(message, rf"sluice\.yaml:{line}:\d+: .*{re.escape(key)}", message)
        self.assertNotIn("terminate", message)

    def test_each_mistake_is_named(self):
        mistakes = {
            ("timeout: 30s", "timeout: soon"): ("pools[0].queue.timeout", 7),
            ("timeout: 30s", "timout: 30s"): ("timout", 7),
            ("timeout: 30s", "timeout: -1s"): ("pools[0].queue.timeout", 7),
            ("timeout: 30s", "timeout: 30s, timeout: 31s"): ("timeout", 7),
            ("slots: 1", "slots: many"): ("pools[0].workers[0].slots", 6),
            ("slots: 1", "slots: 0"): ("pools[0].workers[0].slots", 6),
            ("slots: 1", "slots: 99999999999999999999"): ("pools[0].workers[0].slots", 6),
            ("http://127.0.0.1:9", "ftp://127.0.0.1:9"): ("pools[0].workers[0].url", 6),
            ("probe: static", "probe: magic"): ("pools[0].workers[0].probe", 6),
            ("listen: 127.0.0.1:0", "listen: here"): ("listen", 1),
            ("listen: 127.0.0.1:0", "listne: 127.0.0.1:0"): ("listne", 1),
            ("models: [m]", "models: [m, m]"): ("models", 5),
            ("models: [m]", "models: m"): ("models", 5),
            ("  - name: p", "  - nam: p"): ("nam", 4),
        }
        for (right, wrong), (key, line) in mistakes.items():
            with self.subTest(wrong):
                self.assertIn(right, GOOD)
                self.assert_names(self.start_with(GOOD.replace(right, wrong, 1)), key, line)

    def test_all_mistakes_are_listed_at_once(self):
        text = GOOD.replace("30s", "soon").replace("slots: 1", "slots: x")
        message = self.start_with(text).err.text()
        self.assertIn("slots", message)
        self.assertIn("timeout", message)

    def test_what_is_no_yaml(self):
        for text in ("pools: [", "\t- x\n", b"\xff\xfe\x00", b"listen: \xff\n", b"\x89PNG\r\n\x1a\n",
                     "a: b: c", "[" * 20_000, ""):
            with self.subTest(text=text[:20]):
                program = self.start_with(text)
                self.assertEqual(program.code, 1, program.tail())
                self.assertIn("sluice.yaml", program.err.text())

    def test_missing_file(self):
        program = run("gateway", "--config", "/nonexistent/sluice.yaml", within=10)
        self.assertEqual(program.code, 1)
        self.assertEqual(len(program.err.lines), 1, program.err.text())
        self.assertIn("/nonexistent/sluice.yaml", program.err.text())

    def test_environment_is_named_too(self):
        program = self.start_with(GOOD, env={"SLUICE_LIMITS_BODY_BYTES": "plenty"})
        self.assertEqual(program.code, 1)
        self.assertIn("SLUICE_LIMITS_BODY_BYTES", program.err.text())

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for key in ("listen", "admin"):
                with self.subTest(key=key):
                    program = self.start_with(
                        GOOD.replace(f"{key}: 127.0.0.1:0", f"{key}: {address}"))
                    self.assertEqual(program.code, 1, program.tail())
                    told = [line for line in program.err.lines if address.encode() in line]
                    self.assertEqual(len(told), 1, program.tail())
                    self.assertIn(b"in use", told[0])

    def test_two_gateways_cannot_share_a_port(self):
        """SO_REUSEPORT serves the threads of one process; a second process is told no."""
        worker = FakeWorker()
        self.addCleanup(worker.stop)
        gateway = Gateway([worker])
        self.addCleanup(gateway.stop)
        program = self.start_with(
            GOOD.replace("listen: 127.0.0.1:0", f"listen: {gateway.address}"))
        self.assertEqual(program.code, 1, program.tail())
        self.assertIn(gateway.address, program.err.text())

    def test_config_check(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(GOOD)
        good = run("config", "check", "--config", self.path, within=10)
        self.assertEqual(good.code, 0, good.tail())
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(GOOD.replace("30s", "soon"))
        bad = run("config", "check", "--config", self.path, within=10)
        self.assertEqual(bad.code, 1)
        self.assertRegex(bad.out.text() + bad.err.text(), r"sluice\.yaml:7:\d+: ")

    def test_usage_errors(self):
        for arguments in ((), ("nonsense",), ("gateway", "--nonsense"), ("gateway",),
                          ("load", "--trace", "/nonexistent.csv", "--target", "http://127.0.0.1:9"),
                          ("kv", "/nonexistent.json"),
                          ("engine", "--slots", "many")):
            with self.subTest(arguments=arguments):
                program = run(*arguments, within=10)
                self.assertIn(program.code, (1, 2), program.tail())
                self.assertTrue(program.err.text() + program.out.text())
        for arguments in (("-h",), ("gateway", "-h"), ("demo", "-h"), ("load", "-h"),
                          ("version",)):
            with self.subTest(arguments=arguments):
                self.assertEqual(run(*arguments, within=10).code, 0)


if __name__ == "__main__":
    unittest.main()
