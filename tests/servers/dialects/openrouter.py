"""What OpenRouter says in its own way: errors whose code is a number, and much about its models."""

from collections.abc import Mapping

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.openai import CREATED
from tests.servers.script import Refusal, Whole

_STATUSES: Mapping[str, int] = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 400,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 503,
}


def _model(model_id: str, name: str, *, inputs: tuple[str, ...], parameters: tuple[str, ...]) -> JsonObject:
    return {
        "id": model_id,
        "canonical_slug": model_id,
        "name": name,
        "created": CREATED,
        "description": "A model for tests.",
        "context_length": 200_000,
        "architecture": {
            "modality": f"{'+'.join(inputs)}->text",
            "input_modalities": list(inputs),
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {
            "prompt": "0.000003",
            "completion": "0.000015",
            "request": "0",
            "image": "0",
            "internal_reasoning": "0",
            "input_cache_read": "0.0000003",
            "input_cache_write": "0.00000375",
        },
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000, "is_moderated": False},
        "per_request_limits": None,
        "supported_parameters": list(parameters),
    }


MODELS: tuple[JsonObject, ...] = (
    _model(
        "vendor/large-test",
        "Vendor: Large Test",
        inputs=("text", "image"),
        parameters=("max_tokens", "tools", "tool_choice", "reasoning", "include_reasoning"),
    ),
    _model("vendor/small-test", "Vendor: Small Test", inputs=("text",), parameters=("max_tokens", "temperature")),
)


def numbered_error(kind: str, message: str) -> JsonObject:
    return {"code": _STATUSES.get(kind, 500), "message": message, "metadata": {"provider_name": "Vendor"}}


def numbered_refusal(refusal: Refusal) -> Whole:
    status = {413: 400, 529: 503}.get(refusal.status, refusal.status)  # what only Anthropic answers with
    error = numbered_error(refusal.type, refusal.message) | {"code": status}
    return Whole(status, {"error": error}, refusal.headers)
