"""The real gateway as a process of its own, with a configuration written for one test."""

import json
import os
import tempfile

from .program import Program, wait_until
from .raw import fetch


class Gateway:
    """`sluice gateway --config F` on free ports, ready to serve when the constructor returns.

    `workers`: entries of the pool's worker list, or a FakeWorker for one with plenty of room.
    `pool`, `queue`, `timeouts`: keys of the (single) pool. `pools`: the whole list instead.
    Everything else is a key of the file's top level. JSON is YAML, so the file is written as JSON.
    """

    def __init__(self, workers=(), pool=None, queue=None, timeouts=None, pools=None,
                 pipe_size=-1, ready=True, env=None, **top):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        if pools is None:
            pools = [self.pool(workers, queue=queue or {}, timeouts=timeouts or {}, **(pool or {}))]
        self.config = {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "pools": pools} | top
        path = os.path.join(self.folder.name, "sluice.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.config, file, indent=1)
        self.program = Program("gateway", "--config", path, pipe_size=pipe_size, env=env)
        try:
            listening = self.program.wait_message("listening")
            self.address = listening["listen"]
            self.admin = listening["admin"]
            if ready:
                self.wait_ready()
        except BaseException:
            self.program.process.kill()
            self.program.wait_exit(5)
            self.folder.cleanup()
            raise

    @staticmethod
    def pool(workers, name="p", models=("m",), **more):
        """One entry of `pools`."""
        entries = [entry if isinstance(entry, dict) else Gateway.worker(entry)
                   for entry in workers]
        return {"name": name, "models": list(models), "workers": entries,
                "prediction": "off"} | more

    @staticmethod
    def worker(worker, slots=1000, kv_tokens=10_000_000, probe="static"):
        """One entry of a pool's workers."""
        return {"url": worker.url, "slots": slots, "kv_tokens": kv_tokens, "probe": probe}

    @property
    def pid(self):
        return self.program.pid

    # -- what the admin port says ----------------------------------------------------------------

    def api(self, what):
        response = fetch(self.admin, f"/api/v1/{what}")
        assert response.status == 200, response
        return response.json()

    def status(self, pool=None):
        """One row of /api/v1/pools; `waiting` summed over the classes."""
        rows = self.api("pools")
        row = next(r for r in rows if pool is None or r["name"] == pool)
        return row | {"waiting": sum(row["waiting"].values())}

    def in_use(self):
        return self.status()["in_use"]

    def waiting(self):
        return self.status()["waiting"]

    def wait_ready(self, within=20.0):
        def ready():
            workers = self.api("workers")
            # With TLS the data port needs a client that trusts it.
            port = self.admin if "tls" in self.config else self.address
            return (fetch(port, "/readyz").status == 200
                    and len(workers) == sum(len(p["workers"]) for p in self.config["pools"])
                    and all(w["state"] == "ready" for w in workers))
        wait_until(ready, within, "the gateway's readiness")

    def wait_status(self, within, **expected):
        """Until the pool's row has these values."""
        last = {}

        def same():
            last.update(self.status())
            return all(last[key] == value for key, value in expected.items())
        try:
            wait_until(same, within, f"{expected}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {last}") from None
        return last

    # -- what the log says -----------------------------------------------------------------------

    def request_line(self, request_id, within=5.0):
        """The request's log line as an object."""
        wanted = json.dumps(request_id).encode()

        def mine(line):
            return (wanted in line and b'"request"' in line
                    and json.loads(line).get("msg") == "request"
                    and json.loads(line).get("id") == request_id)

        line = self.program.err.find(mine, within)
        assert line is not None, f"no request line for {request_id}\n{self.program.tail()}"
        return json.loads(line)

    def check_log(self):
        """Every line of the log is JSON in UTF-8."""
        for line in self.program.err.lines:
            try:
                assert isinstance(json.loads(line.decode("utf-8")), dict)
            except (ValueError, AssertionError):
                raise AssertionError(f"a log line is no JSON object: {line!r}") from None

    # -- the end ---------------------------------------------------------------------------------

    def stop(self, within=20.0):
        """SIGTERM, a clean exit, and a clean log."""
        try:
            code = self.program.stop(within)
            assert code == 0, f"the gateway ended with {code}\n{self.program.tail()}"
            self.check_log()
        finally:
            self.folder.cleanup()
