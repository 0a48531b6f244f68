"""What the errors of the Messages API mean, by their type and code."""

from collections.abc import Mapping

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.faults import fault_of_status
from desktop_agent.core.providers.http.refusals import Refusal, RefusedError

_FAULT_OF_TYPE: Mapping[str, ProviderFault] = {
    "authentication_error": "authentication",
    "billing_error": "billing",
    "permission_error": "permission",
    "not_found_error": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limited",
    "timeout_error": "overloaded",
    "overloaded_error": "overloaded",
}
"""The types that say more than the status does; `api_error` and `invalid_request_error` say less."""

_BILLING_CODES = frozenset({"contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold"})
"""Sent with statuses that pass by themselves or blame the request, but the account's owner has to act."""


def read_refusal(error: RefusedError) -> Refusal:
    """Return what a status other than success means."""
    fields = object_in(error.body, "error")
    kind, code = text_in(fields, "type"), text_in(object_in(fields, "details"), "error_code")
    return Refusal(
        fault=_fault(kind, code, error.status),
        status=error.status,
        type=kind,
        code=code,
        message=text_in(fields, "message") or error.words,
        request_id=error.headers.get("request-id", ""),
        parameter=_parameter(text_in(fields, "message")) if kind == "invalid_request_error" else "",
        is_from_api=bool(kind),
        names_model=kind == "not_found_error",
    )


def reported_error(event: JsonObject) -> Refusal:
    """Return what an `error` event in the middle of a stream means."""
    fields = object_in(event, "error")
    kind = text_in(fields, "type")
    return Refusal(
        fault=_fault(kind, "", None),
        type=kind,
        message=text_in(fields, "message"),
        request_id=text_in(event, "request_id"),
        names_model=kind == "not_found_error",
    )


def _parameter(message: str) -> str:
    """Return the field that a message is about, which has no other place: `diagnostics: Extra inputs are not …`."""
    field, colon, _ = message.partition(":")
    return field if colon and " " not in field else ""


def _fault(kind: str, code: str, status: int | None) -> ProviderFault:
    if code in _BILLING_CODES:
        return "billing"
    if by_type := _FAULT_OF_TYPE.get(kind):
        return by_type
    if status:
        return fault_of_status(status)
    return "invalid_request" if kind == "invalid_request_error" else "server"
