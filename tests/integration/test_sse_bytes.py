"""Event streams cut at any byte (B15).

Reported: events split over two reads were lost, characters cut in half became U+FFFD, and U+0085
and U+2028 inside JSON were taken for line ends. Right: the client gets the worker's very bytes,
and the gateway reads the same events and the same usage whatever the cut.
"""

import unittest

from harness import Gate, GatewayCase, scripts
from harness.case import CHAT, STREAMED

JAPANESE = '{"choices":[{"index":0,"delta":{"content":"日本✅"}}]}'
SEPARATORS = '{"choices":[{"index":0,"delta":{"content":"a\u2028b\u0085c"}}]}'
USAGE = ('{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}')


def event(data, field="data: ", extra=()):
    return [*extra, field + data, ""]


def lines_plain():
    return [line for data in (JAPANESE, SEPARATORS, USAGE, "[DONE]") for line in event(data)]


def lines_without_space():
    return [line for data in (JAPANESE, SEPARATORS, USAGE, "[DONE]")
            for line in event(data, "data:")]


def lines_with_fields():
    extra = (": a comment", "event: message", "id: 7")
    return [line for data in (JAPANESE, SEPARATORS, USAGE, "[DONE]")
            for line in event(data, extra=extra)]


def lines_in_two():
    """The usage event in two data lines; the line end between them is white space in JSON."""
    first, second = USAGE[:USAGE.index('"usage"')], USAGE[USAGE.index('"usage"'):]
    return [*event(JAPANESE), *event(SEPARATORS), "data: " + first, "data: " + second, "",
            *event("[DONE]")]


VARIANTS = {f"{name} {label}": (end.join(lines) + end).encode()
            for name, lines in (("plain", lines_plain()), ("no space", lines_without_space()),
                                ("fields", lines_with_fields()), ("two lines", lines_in_two()))
            for label, end in (("LF", "\n"), ("CRLF", "\r\n"), ("CR", "\r"))}


class CutAnywhere(GatewayCase):
    def setUp(self):
        self.worker = self.fake_worker(self.script)
        self.gateway = self.start_gateway([self.worker])
        self.connection = self.client(self.gateway)
        self.expected_ids = []

    def script(self, call):
        """Sends the pieces; each next one only when the client has what was sent before.

        So every piece is a read of its own at the gateway. It may hold a part of an event back (an
        error event of its own must not be glued to it): then the wait ends after a moment in which
        the piece has been read.
        """
        call.send(scripts.stream_head(self.framing))
        for piece, received in self.pieces:
            call.send(scripts.chunk(piece) if self.framing == "chunked" else piece)
            call.wait(received, 0.002)
        if self.framing == "chunked":
            call.send(scripts.LAST_CHUNK)
        else:
            call.drop()

    def relay(self, pieces, framing="chunked"):
        """What the client receives when the worker sends these pieces."""
        self.framing = framing
        self.pieces = [(piece, Gate()) for piece in pieces]
        request_id = f"cut-{len(self.expected_ids)}"
        self.expected_ids.append(request_id)
        self.connection.post(CHAT, STREAMED, [("x-request-id", request_id)]).read_head()
        sent = 0
        for piece, received in self.pieces:
            sent += len(piece)
            self.connection.read_until_body(sent)
            received.open()
        answer = self.connection.read_rest()
        self.assertTrue(answer.complete)
        return answer.body

    def assert_counts(self):
        """Three events and the same usage for every relayed stream of this test."""
        for request_id in self.expected_ids:
            line = self.gateway.request_line(request_id)
            seen = {key: line[key] for key in ("outcome", "events", "prompt_tokens",
                                               "output_tokens", "usage")}
            self.assertEqual(seen, {"outcome": "ok", "events": 3, "prompt_tokens": 11,
                                    "output_tokens": 7, "usage": "engine"}, line)

    def test_b15_every_two_way_split(self):
        for name in ("plain LF", "plain CRLF", "plain CR", "no space LF", "fields CRLF",
                     "two lines LF"):
            stream = VARIANTS[name]
            for cut in range(1, len(stream)):
                body = self.relay([stream[:cut], stream[cut:]])
                self.assertEqual(body, stream, f"{name}, cut at {cut}")
        self.assert_counts()

    def test_b15_byte_by_byte(self):
        for name, stream in VARIANTS.items():
            pieces = [stream[i:i + 1] for i in range(len(stream))]
            self.assertEqual(self.relay(pieces), stream, name)
        self.assert_counts()

    def test_b15_uncut_and_close_delimited(self):
        for name, stream in VARIANTS.items():
            self.assertEqual(self.relay([stream]), stream, name)
            self.assertEqual(self.relay([stream[:50], stream[50:]], "close"), stream, name)
        self.assert_counts()


if __name__ == "__main__":
    unittest.main()
