"""What errors in OpenAI's shape mean, of OpenAI itself and of the servers that are compatible with it.

Source: https://platform.openai.com/docs/guides/error-codes. Others fill the same fields with less: a code that is a
number (OpenRouter), a type without a code (Ollama), or a text in place of the object (llama.cpp's proxies).
"""

from collections.abc import Mapping

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.faults import fault_of_status
from desktop_agent.core.providers.http.refusals import Refusal, RefusedError

_FAULT_OF_CODE: Mapping[str, ProviderFault] = {
    "invalid_api_key": "authentication",
    "insufficient_quota": "billing",
    "billing_hard_limit_reached": "billing",
    "billing_not_active": "billing",
    "model_not_found": "not_found",
    "context_length_exceeded": "too_large",
    "exceed_context_size_error": "too_large",
    "request_too_large": "too_large",
    "rate_limit_exceeded": "rate_limited",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "server_error": "server",
}
"""By code or type; they say more than the status does."""


def read_refusal(error: RefusedError) -> Refusal:
    """Return what a status other than success means."""
    fields = object_in(error.body, "error")
    said = text_in(error.body, "error")  # a plain text, as some servers send
    refusal = _refusal(fields, error.status)
    message = text_in(fields, "message") or said or error.words
    return Refusal(
        fault=refusal.fault,
        status=error.status,
        type=refusal.type,
        code=refusal.code,
        message=message,
        request_id=error.headers.get("x-request-id", ""),
        parameter=refusal.parameter,
        is_from_api=bool(fields) or bool(said),
        names_model=refusal.names_model,
    )


def reported_error(fields: JsonObject) -> Refusal:
    """Return what an error in the middle of a stream means; `fields` has its code and message."""
    status = fields.get("code")
    return _refusal(fields, status if isinstance(status, int) and 400 <= status < 600 else None)


def _refusal(fields: JsonObject, status: int | None) -> Refusal:
    kind, code = text_in(fields, "type"), text_in(fields, "code")
    fault = _FAULT_OF_CODE.get(code) or _FAULT_OF_CODE.get(kind)
    if fault is None:
        fault = fault_of_status(status) if status else "server"
    return Refusal(
        fault=fault,
        type=kind,
        code=code,
        message=text_in(fields, "message"),
        parameter=text_in(fields, "param"),
        # At OpenAI, a path that does not exist is an `invalid_request_error` without a code; others have no codes.
        names_model=code == "model_not_found" or (bool(fields) and kind != "invalid_request_error"),
    )
