"""Claude's clouds: Anthropic's format at other paths, with other credentials and errors, and in Amazon's framing.

Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html,
https://cloud.google.com/apis/design/errors, https://learn.microsoft.com/azure/ai-foundry
"""

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import unquote

from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import JsonObject
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC, AnthropicDialect
from tests.servers.dialects.dialect import Ask
from tests.servers.http1 import HttpRequest
from tests.servers.script import Event, Garbage, Refusal, Reply, StreamError, Whole

PROJECT = "p-test"
REGION = "eu-central-1"
WORKSPACE = "wrkspc_test"


@dataclass(frozen=True)
class CloudDialect(AnthropicDialect):
    """Bodies without the model, which is in the path `answers_at`."""

    errors: ClassVar[Mapping[str, tuple[int, str]]] = {}
    """The cloud's status and name for each type of Anthropic's errors. Other ones come in Anthropic's form."""

    def violations(self, path: str, body: object) -> list[str]:
        if path != self.answers_at:
            return []
        sent = as_object(body)
        wrong = [] if "anthropic_version" in sent else ["anthropic_version: Field required"]
        wrong += ["model: Extra inputs are not permitted"] if "model" in sent else []
        own = {name: value for name, value in sent.items() if name != "anthropic_version"}
        return wrong + ANTHROPIC.violations("/v1/messages", own | {"model": self._model, "stream": True})

    def objection(self, request: HttpRequest) -> Refusal | None:
        return None

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return Refusal(404, "not_found_error", path)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        return super().events(reply, Ask(ask.number, ask.body | {"model": self._model}))

    def spelled(self, refusal: Refusal) -> Whole:
        if refusal.type not in self.errors:
            return super().spelled(refusal)
        status, kind = self.errors[refusal.type]
        return self._spelled(status, kind, refusal)

    def _spelled(self, status: int, kind: str, refusal: Refusal) -> Whole:
        raise NotImplementedError

    @property
    def _model(self) -> str:
        return unquote(re.split(r"/models?/", self.answers_at)[1].partition("/")[0].partition(":stream")[0])


@dataclass(frozen=True)
class BedrockDialect(CloudDialect):
    content_type: str = "application/vnd.amazon.eventstream"
    request_id_header: str = "x-amzn-requestid"
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """The secret keys that sign requests, by their ids. Without any, every signature is accepted."""
    errors: ClassVar = {
        "authentication_error": (403, "UnrecognizedClientException"),
        "billing_error": (403, "AccessDeniedException"),
        "permission_error": (403, "AccessDeniedException"),
        "not_found_error": (400, "ValidationException"),
        "request_too_large": (400, "ValidationException"),
        "invalid_request_error": (400, "ValidationException"),
        "rate_limit_error": (429, "ThrottlingException"),
        "overloaded_error": (503, "ServiceUnavailableException"),
        "api_error": (500, "InternalServerException"),
    }
    words: ClassVar[Mapping[str, str]] = {
        "authentication_error": "The security token included in the request is invalid.",
        "billing_error": "Model access is denied due to INVALID_PAYMENT_INSTRUMENT: A valid payment instrument must be "
        "provided.",
        "not_found_error": "The provided model identifier is invalid.",
        "request_too_large": "Input is too long for requested model.",
    }

    def objection(self, request: HttpRequest) -> Refusal | None:
        return unsigned(request, self.secrets, "bedrock")

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        return map(framed, super().events(reply, ask))

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        if isinstance(event, StreamError):
            kind = self.errors[event.type][1] if event.type in self.errors else event.type
            named = {":message-type": "exception", ":exception-type": kind[:1].lower() + kind[1:]}
            return frame(named, {"message": event.message})
        return framed(super().encoded(event, ask, number))

    def _spelled(self, status: int, kind: str, refusal: Refusal) -> Whole:
        return aws_error(status, kind, self.words.get(refusal.type, refusal.message), refusal.headers)


def bedrock(model: str, **secrets: str) -> BedrockDialect:
    return BedrockDialect(answers_at=f"/model/{model}/invoke-with-response-stream", secrets=secrets)


@dataclass(frozen=True)
class VertexDialect(CloudDialect):
    base: str = "/v1"
    errors: ClassVar = {
        "authentication_error": (401, "UNAUTHENTICATED"),
        "billing_error": (403, "PERMISSION_DENIED"),
        "permission_error": (403, "PERMISSION_DENIED"),
        "not_found_error": (404, "NOT_FOUND"),
        "invalid_request_error": (400, "INVALID_ARGUMENT"),
        "rate_limit_error": (429, "RESOURCE_EXHAUSTED"),
        "api_error": (500, "INTERNAL"),
    }

    def violations(self, path: str, body: object) -> list[str]:
        if path == self._counts_at:
            own = {name: value for name, value in as_object(body).items() if name != "anthropic_version"}
            return ANTHROPIC.violations("/v1/messages/count_tokens", own)
        return super().violations(path, {name: value for name, value in as_object(body).items() if name != "stream"})

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        own = "/v1/messages/count_tokens" if path == self._counts_at else path
        return ANTHROPIC.besides(method, own, body, models)

    def _spelled(self, status: int, kind: str, refusal: Refusal) -> Whole:
        error: JsonObject = {"code": status, "message": refusal.message, "status": kind}
        if refusal.type == "billing_error":
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "BILLING_DISABLED"}]
        # Some of Google's servers answer with a list of one error.
        return Whole(status, json.dumps([{"error": error}]) if status == 429 else {"error": error}, refusal.headers)

    @property
    def _counts_at(self) -> str:
        return f"{self.answers_at.rpartition('/')[0]}/count-tokens:rawPredict"


def vertex(model: str, region: str = "global") -> VertexDialect:
    place = f"/v1/projects/{PROJECT}/locations/{region}/publishers/anthropic/models"
    return VertexDialect(answers_at=f"{place}/{model}:streamRawPredict")


@dataclass(frozen=True)
class FoundryDialect(CloudDialect):
    base: str = "/anthropic"
    answers_at: str = "/anthropic/v1/messages"
    errors: ClassVar = {
        "authentication_error": (401, "401"),
        "permission_error": (403, "PermissionDenied"),
        "not_found_error": (404, "DeploymentNotFound"),
        "rate_limit_error": (429, "RateLimitReached"),
    }

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("api-key", "") or super().key(headers)

    def violations(self, path: str, body: object) -> list[str]:
        return ANTHROPIC.violations(path.removeprefix(self.base), body)

    def objection(self, request: HttpRequest) -> Refusal | None:
        return ANTHROPIC.objection(request)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        return ANTHROPIC.events(reply, ask)

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return ANTHROPIC.besides(method, path.removeprefix(self.base), body, ())

    def _spelled(self, status: int, kind: str, refusal: Refusal) -> Whole:
        return Whole(status, {"error": {"code": kind, "message": refusal.message}}, refusal.headers)


@dataclass(frozen=True)
class AwsDialect(AnthropicDialect):
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])

    def objection(self, request: HttpRequest) -> Refusal | None:
        if request.headers.get("anthropic-workspace-id") != WORKSPACE:
            return fault.status(400, "invalid_request_error", "anthropic-workspace-id: header is required")
        return unsigned(request, self.secrets, "aws-external-anthropic") or super().objection(request)

    def spelled(self, refusal: Refusal) -> Whole:
        if refusal.type == "authentication_error":
            return aws_error(403, "InvalidClientTokenId", BedrockDialect.words[refusal.type], refusal.headers)
        return super().spelled(refusal)


def aws_error(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Whole:
    named = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
    return Whole(status, {"message": message}, named | dict(headers or {}))


_SIGNATURE = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d+/([^/]+)/([^/]+)/aws4_request, .*Signature=(\w+)")


def unsigned(request: HttpRequest, secrets: Mapping[str, str], service: str) -> Refusal | None:
    """Return what AWS says unless the request has an API key, or the signature that botocore computes for it."""
    given = request.headers.get("authorization", "")
    if not secrets or not given or given.startswith("Bearer "):
        return None
    match = _SIGNATURE.fullmatch(given)
    if match is None or match[1] not in secrets:
        return fault.unauthorized()
    signed = re.split(r"SignedHeaders=([\w;-]+)", given)[1].split(";")
    auth_library: Any = import_module("botocore.auth")
    awsrequest: Any = import_module("botocore.awsrequest")
    credentials: Any = import_module("botocore.credentials")
    again = awsrequest.AWSRequest(
        method=request.method,
        url=f"http://{request.headers['host']}{request.path}",
        headers={name: request.headers[name] for name in signed},
        data=request.body,
    )
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = auth_library.SigV4Auth(credentials.Credentials(match[1], secrets[match[1]]), service, REGION)
    signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    is_right = (match[2], match[3], match[4]) == (REGION, service, signature)
    return None if is_right else fault.unauthorized("The request signature we calculated does not match.")


def framed(event: bytes) -> bytes:
    """Put a server-sent event into a chunk of Amazon's event stream. Messages of such a stream stay as they are."""
    if not event.startswith((b"event:", b"data:")):
        return event
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
