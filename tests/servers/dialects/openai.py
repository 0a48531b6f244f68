"""What OpenAI's two wire formats share: keys, the list of models, errors."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.script import Refusal, Whole

CREATED = 1_790_000_000

MODELS: tuple[JsonObject, ...] = (
    {"id": "gpt-test-large", "object": "model", "created": CREATED, "owned_by": "openai"},
    {"id": "gpt-test-small", "object": "model", "created": CREATED, "owned_by": "openai"},
)


class Spelling(NamedTuple):
    type: str
    code: str | None


_SPELLINGS: Mapping[str, Spelling] = {
    "authentication_error": Spelling("invalid_request_error", "invalid_api_key"),
    "billing_error": Spelling("insufficient_quota", "insufficient_quota"),
    "not_found_error": Spelling("invalid_request_error", "model_not_found"),
    "request_too_large": Spelling("invalid_request_error", "context_length_exceeded"),
    "rate_limit_error": Spelling("requests", "rate_limit_exceeded"),
    "api_error": Spelling("server_error", None),
    "overloaded_error": Spelling("service_unavailable_error", "server_is_overloaded"),
}
_STATUSES: Mapping[int, int] = {402: 429, 413: 400, 529: 503}
"""Anthropic's own statuses, as OpenAI answers in these cases."""


def key_in(headers: Mapping[str, str]) -> str:
    kind, _, key = headers.get("authorization", "").partition(" ")
    return key if kind == "Bearer" else ""


def error_object(kind: str, message: str, code: str = "") -> JsonObject:
    spelling = _SPELLINGS.get(kind)
    return {
        "message": message,
        "type": spelling.type if spelling else kind,
        "param": None,
        "code": code or (spelling.code if spelling else None),
    }


def refused(refusal: Refusal) -> Whole:
    status = _STATUSES.get(refusal.status, refusal.status) if refusal.type in _SPELLINGS else refusal.status
    return Whole(status, {"error": error_object(refusal.type, refusal.message, refusal.code)}, refusal.headers)


def models_or_nothing(method: str, path: str, models: Sequence[JsonObject]) -> Whole | Refusal:
    if (method, path) == ("GET", "/v1/models"):
        return Whole(200, {"object": "list", "data": list(models)})
    return Refusal(404, "invalid_request_error", f"Invalid URL ({method} {path})")
