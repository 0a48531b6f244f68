"""Claude's clouds: Anthropic's format at other paths, with other credentials, and on Bedrock in Amazon's framing."""

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.anthropic import AnthropicDialect
from tests.servers.dialects.dialect import Ask
from tests.servers.script import Event, Garbage, Refusal, Reply, StreamError
from tests.servers.validation.anthropic import check_request


@dataclass(frozen=True)
class CloudDialect(AnthropicDialect):
    """`answers_at` has the model's name, which the body does not have on Bedrock and Vertex."""

    cloud: Literal["bedrock", "vertex", "foundry", "aws"] = "bedrock"

    def violations(self, path: str, body: object) -> list[str]:
        if self.cloud in ("bedrock", "vertex") and path == self.answers_at:
            sent = as_object(body)
            whole = {name: value for name, value in sent.items() if name != "anthropic_version"}
            wrong = [] if "anthropic_version" in sent else ["anthropic_version: Field required"]
            wrong += ["model: Extra inputs are not permitted"] if "model" in sent else []
            return wrong + check_request(whole | {"model": self._model, "stream": True})
        return super().violations(path, body)

    def objection(self, headers: Mapping[str, str]) -> Refusal | None:
        return super().objection(headers) if self.cloud in ("foundry", "aws") else None

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("api-key", "") or super().key(headers)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        events = super().events(reply, Ask(ask.number, ask.body | {"model": self._model}))
        return map(framed, events) if self.cloud == "bedrock" else events

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        if self.cloud == "bedrock" and isinstance(event, StreamError):
            return frame({":message-type": "exception", ":exception-type": event.type}, {"message": event.message})
        said = super().encoded(event, ask, number)
        return framed(said) if self.cloud == "bedrock" else said

    @property
    def _model(self) -> str:
        """The name in the path, which is before what is asked of the model."""
        name = self.answers_at.rpartition("/models/" if self.cloud == "vertex" else "/model/")[2]
        return unquote(name.removesuffix(":streamRawPredict").partition("/invoke")[0])


def bedrock(model: str) -> CloudDialect:
    path = f"/model/{model}/invoke-with-response-stream"
    return CloudDialect(answers_at=path, cloud="bedrock", content_type="application/vnd.amazon.eventstream")


def framed(event: bytes) -> bytes:
    """Put a server-sent event into a chunk of Amazon's event stream."""
    data = event.partition(b"data: ")[2].rstrip(b"\n")
    chunk: JsonObject = {"bytes": base64.b64encode(data).decode(), "p": "abcdef"}
    return frame({":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}, chunk)


def frame(headers: Mapping[str, str], payload: JsonObject) -> bytes:
    """Return a message: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html"""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return message + struct.pack(">I", zlib.crc32(message))
