"""The interface of a wire format, so that one server and one script serve all."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.http1 import HttpRequest
from tests.servers.script import Event, Garbage, Refusal, Reply, StreamError, Whole


@dataclass(frozen=True)
class Ask:
    """A request for an answer, with its number (from 1) and body."""

    number: int
    body: JsonObject

    @property
    def model(self) -> str:
        return str(self.body.get("model"))


class Dialect(Protocol):
    @property
    def base(self) -> str: ...

    @property
    def answers_at(self) -> str: ...

    @property
    def request_id_header(self) -> str: ...

    @property
    def content_type(self) -> str: ...

    @property
    def models(self) -> Sequence[JsonObject]: ...

    def key(self, headers: Mapping[str, str]) -> str: ...

    def objection(self, request: HttpRequest) -> Refusal | None:
        """Return what the API says to a request that lacks headers or is signed wrongly."""
        ...

    def violations(self, path: str, body: object) -> list[str]: ...

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal: ...

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]: ...

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes: ...

    def spelled(self, refusal: Refusal) -> Whole: ...


def sse(data: JsonObject | bytes, name: str = "") -> bytes:
    """Return a server-sent event in UTF-8. Without `name` it is data only."""
    if not isinstance(data, bytes):
        data = json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return (b"event: %s\n" % name.encode() if name else b"") + b"data: %s\n\n" % data
