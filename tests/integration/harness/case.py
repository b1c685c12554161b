"""The base of the end-to-end tests: everything a test starts is ended with it, in order."""

import threading
import time
import unittest

from .fake_worker import FakeWorker
from .gateway import Gateway
from .raw import Client

CHAT = "/v1/chat/completions"
# `C` of the reports.
C = b'{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"hi"}]}'
STREAMED = b'{"model":"m","max_tokens":4,"stream":true,"messages":[{"role":"user","content":"hi"}]}'


class GatewayCase(unittest.TestCase):
    maxDiff = None

    def fake_worker(self, *args, **options):
        worker = FakeWorker(*args, **options)
        self.addCleanup(worker.stop)
        return worker

    def start_gateway(self, workers=(), **options):
        gateway = Gateway(workers, **options)
        self.addCleanup(gateway.stop)
        return gateway

    def client(self, gateway, timeout=15.0):
        client = Client(gateway.address, timeout)
        self.addCleanup(client.close)
        return client

    def send_chat(self, gateway, body=C, headers=(), path=CHAT):
        """Sends and does not wait for the answer."""
        return self.client(gateway).post(path, body, headers)

    def chat(self, gateway, body=C, headers=(), path=CHAT):
        return self.send_chat(gateway, body, headers, path).read_response()

    def assert_refused(self, response, status, code=None):
        """A refusal in the shape that OpenAI's clients understand, with its reason in both places."""
        self.assertEqual(response.status, status, response)
        error = response.error()
        for key in ("message", "type", "param", "code"):
            self.assertIn(key, error, response)
        self.assertTrue(error["message"], response)
        self.assertEqual(response.header("x-sluice-reason"), error["code"], response)
        self.assertTrue(response.header("content-type", "").startswith("application/json"))
        if code is not None:
            self.assertEqual(error["code"], code, response)
        return error


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self):
        return time.monotonic() - self.start


def together(functions):
    """Runs all at once, each in a thread; returns their results in order, raises the first error."""
    results = [None] * len(functions)

    def run(index):
        try:
            results[index] = functions[index]()
        except BaseException as error:  # handed to the test's own thread below
            results[index] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
