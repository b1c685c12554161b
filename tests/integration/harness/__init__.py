"""What the end-to-end tests stand on: a scripted worker, the real gateway, a client of raw bytes."""

from .case import GatewayCase
from .fake_worker import FakeWorker, Gate
from .gateway import Gateway
from .program import BINARY, Program
from .raw import Client, Response, fetch, post
from . import scripts

__all__ = [
    "BINARY",
    "Client",
    "FakeWorker",
    "Gate",
    "Gateway",
    "GatewayCase",
    "Program",
    "Response",
    "fetch",
    "post",
    "scripts",
]
