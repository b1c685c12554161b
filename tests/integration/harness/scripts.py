"""Ready-made behaviours of the fake worker: functions of a `Call`, or makers of such functions."""

import json

USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
EVENT_STREAM = ("content-type", "text/event-stream")


def response_bytes(status, body, headers=(), content_type="application/json"):
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {content_type}",
             f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def completion(text="hello", **more):
    answer = {"id": "c-1", "object": "chat.completion", "model": "m", "usage": USAGE,
              "choices": [{"index": 0, "finish_reason": "stop",
                           "message": {"role": "assistant", "content": text}}]}
    return json.dumps(answer | more).encode()


def delta(text, finish=None):
    """One event of a chat stream."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c-1", "choices": [choice]}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def short_stream():
    return [delta("hel"), delta("lo", "stop"), DONE]


def plain(call):
    """What a well-behaved engine does: an event stream when asked for one, otherwise JSON."""
    if b'"stream"' in call.body and call.json().get("stream"):
        stream(short_stream())(call)
    else:
        call.send(response_bytes(200, completion()))


def held(gate, then=plain):
    """Answers nothing until the gate opens; nothing at all when the gateway leaves first."""
    def script(call):
        if call.wait(gate):
            then(call)
    return script


def answer(status, body, headers=(), content_type="application/json"):
    return lambda call: call.send(response_bytes(status, body, headers, content_type))


def raw(data, close=True):
    """Sends bytes that need be no HTTP at all."""
    def script(call):
        call.send(data)
        if close:
            call.drop()
    return script


def hang_up(call):
    """Closes without a byte."""
    call.drop()


def stream_head(framing):
    lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream"]
    if framing == "chunked":
        lines.append("transfer-encoding: chunked")
    elif framing == "close":
        lines.append("connection: close")
    else:
        lines.append(f"content-length: {framing}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def stream(pieces, framing="chunked", gate=None, after=0):
    """An event stream, one send a piece; with a gate it stops after `after` pieces until it opens.

    `framing`: "chunked", "close", or the content length.
    """
    def script(call):
        call.send(stream_head(framing))
        for number, piece in enumerate(pieces):
            if gate is not None and number == after and not call.wait(gate):
                return
            call.send(chunk(piece) if framing == "chunked" else piece)
        if framing == "chunked":
            call.send(LAST_CHUNK)
        elif framing == "close":
            call.drop()
    return script


def endless(piece=delta("x" * 200)):
    """Sends as fast as it is read, until the gateway hangs up."""
    def script(call):
        call.send(stream_head("chunked"))
        data = chunk(piece) * 16
        while call.closed_at is None:
            call.send(data)
    return script


def by_path(**of_path):
    """One script a path; '_' stands for '/' (v1_embeddings), `otherwise` for the rest."""
    def script(call):
        name = call.path.split("?")[0].strip("/").replace("/", "_")
        of_path.get(name, of_path.get("otherwise", plain))(call)
    return script


def vllm_metrics(model="m", running=0, waiting=0, kv_use=0.0, block_size=16, blocks=2588):
    """A metrics page as vLLM writes it."""
    label = f'{{engine="0",model_name="{model}"}}'
    return (
        f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{label} {running}\n"
        f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{label} {waiting}\n"
        f"# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{label} {kv_use}\n"
        "# TYPE vllm:cache_config_info gauge\n"
        f'vllm:cache_config_info{{block_size="{block_size}",num_gpu_blocks="{blocks}"}} 1\n'
    )


def answer_probe(call):
    """/health, /v1/models, /metrics, whatever script the worker has for requests."""
    if call.path == "/health":
        call.send(response_bytes(200, b""))
    elif call.path == "/v1/models":
        models = {"object": "list", "data": [
            {"id": call.worker.model, "object": "model", "max_model_len": 8192}]}
        call.send(response_bytes(200, json.dumps(models).encode()))
    else:
        page = call.worker.metrics or vllm_metrics(call.worker.model)
        call.send(response_bytes(200, page.encode(), content_type="text/plain"))
