"""Everything that can go wrong between us and the Messages API, as a `ProviderError` that a user can act on.

Distinguished by the API's own error type and code, and by the HTTP status; never by the wording of a message. The
details hold what support asks for (status, type, request id, the API's message) with everything that looks like a key
masked.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.protocol.foreign_json import as_object, object_in, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http_faults import (
    fault_of_status,
    network_error,
    refused_by_proxy,
    retry_after_s,
)
from desktop_agent.core.system.network.proxies import Proxy

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

_LONGEST_NAME = 100
"""Of a type, a code or a request's id."""

_LONGEST_MESSAGE = 2_000
"""A proxy may answer with a whole page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """What a failed call was about: the address, the model if one was asked, and what must not be shown."""

    address: str
    model: str | None = None
    proxy: Proxy | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


class _Refusal(Struct, frozen=True, kw_only=True):
    """What the API said when it refused: everything as far as it is known."""

    status: int | None
    type: str
    code: str = ""
    message: str
    request_id: str
    retry_after_s: float | None = None

    @property
    def fault(self) -> ProviderFault:
        if self.code in _BILLING_CODES:
            return "billing"
        if by_type := _FAULT_OF_TYPE.get(self.type):
            return by_type
        if self.status:
            return fault_of_status(self.status)
        return "invalid_request" if self.type == "invalid_request_error" else "server"


class RefusedError(Exception):
    """An answer whose status is no success, read to its end. It is shown to no user: `explain` says what it means."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.text = text
        self.body: object = None
        """The text, as far as it is JSON."""
        with suppress(ValueError, RecursionError):
            self.body = json.loads(text)

    @property
    def error(self) -> JsonObject:
        """What the API says of it; empty where something else has answered."""
        return object_in(as_object(self.body), "error")


def failures() -> tuple[type[Exception], ...]:
    """Return what a request or the reading of its answer raises when something outside of us fails."""
    import httpx2

    return (
        RefusedError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        httpx2.StreamError,
        UnicodeDecodeError,
        OSError,
    )


def explain(error: Exception, call: FailedCall, *, now: datetime, has_started: bool = False) -> ProviderError:
    """Return what a refusal or an exception of the HTTP client means.

    `has_started` says that the answer had begun: then a lost connection is a broken answer, not a missing network.
    """
    import httpx2

    match error:
        case RefusedError():
            if (proxy := _answered_by(call, error)) is not None:
                return refused_by_proxy(proxy, error.status)
            return _refused(_refusal(error, now), call)
        case httpx2.TransportError() if has_started and not isinstance(error, httpx2.TimeoutException):
            return broken_off(f"the connection was lost: {type(error).__name__}")
        case httpx2.DecodingError() | UnicodeDecodeError() | httpx2.StreamError():
            return broken_off(f"the stream cannot be read: {type(error).__name__}")
        case _:
            return network_error(error, call.address, call.proxy)


def explain_event(event: JsonObject, call: FailedCall) -> ProviderError:
    """Return what an `error` event in the middle of a stream means."""
    fields = object_in(event, "error")
    return _refused(
        _Refusal(
            status=None,
            type=text_in(fields, "type")[:_LONGEST_NAME],
            message=text_in(fields, "message")[:_LONGEST_MESSAGE],
            request_id=text_in(event, "request_id")[:_LONGEST_NAME],
        ),
        call,
    )


def broken_off(detail: str) -> ProviderError:
    """The answer began, and ended before it was whole."""
    return ProviderError(
        "The answer broke off before it was complete.", fault="stream", hint="Send the message again.", detail=detail
    )


def not_the_api(call: FailedCall, detail: str) -> ProviderError:
    """Something answered, but it does not speak this API."""
    return ProviderError(
        f"{call.address} answers, but not as this model's API does.",
        fault="not_found",
        hint="Check the address in Settings, or in ANTHROPIC_BASE_URL if it comes from there.",
        detail=mask(detail, call.secrets),
    )


def bad_key() -> ProviderError:
    """The key holds characters that no key has, and that HTTP could not carry."""
    return ProviderError(
        "The key is not a key: it is empty or contains characters that keys do not have.",
        fault="authentication",
        hint=_OTHER_KEY,
    )


def _answered_by(call: FailedCall, error: RefusedError) -> Proxy | None:
    """Return the proxy that answered in place of the API: it wants a password, or it sent no error of the API."""
    is_api = error.error.get("type") is not None and error.status != 407
    return None if is_api else call.proxy


def _refusal(error: RefusedError, now: datetime) -> _Refusal:
    said = f"Error code: {error.status}"
    said = error.text or said if error.body is None else f"{said} - {error.body}"
    return _Refusal(
        status=error.status,
        type=text_in(error.error, "type")[:_LONGEST_NAME],
        code=text_in(object_in(error.error, "details"), "error_code")[:_LONGEST_NAME],
        message=(text_in(error.error, "message") or said)[:_LONGEST_MESSAGE],
        request_id=error.headers.get("request-id", "")[:_LONGEST_NAME],
        retry_after_s=retry_after_s(error.headers, now),
    )


def _refused(refusal: _Refusal, call: FailedCall) -> ProviderError:
    fault = refusal.fault
    if fault == "not_found" and (call.model is None or refusal.type != "not_found_error"):
        return not_the_api(call, _detail(refusal))
    title, hint = _words(fault, call, refusal.retry_after_s)
    return ProviderError(
        title,
        fault=fault,
        hint=hint,
        detail=mask(_detail(refusal), call.secrets),
        retry_after_s=refusal.retry_after_s,
    )


_OTHER_KEY = "Enter another key in Settings, or correct ANTHROPIC_API_KEY if the key comes from the environment."


def _words(fault: ProviderFault, call: FailedCall, wait_s: float | None) -> tuple[str, str]:
    """Return title and hint."""
    match fault:
        case "authentication":
            return "The key was refused.", _OTHER_KEY
        case "permission":
            return f"This key may not use {call.model or 'this API'}.", "Choose another model, or use another key."
        case "not_found":
            return f"There is no model named “{call.model}”.", "Choose another model in the model menu or with --model."
        case "invalid_request":
            return (
                "The request was refused as invalid.",
                "The details say why. A new session or another model may help.",
            )
        case "too_large":
            return (
                "The conversation has become too large for one request.",
                "Start a new session, or send less at once.",
            )
        case "rate_limited":
            pause = f"in {wait_s:.0f} s" if wait_s else "in a minute"
            return "The account's rate limit is reached.", f"Try again {pause}, or choose another model."
        case "billing":
            return (
                "The account has no credit or has reached its spending limit.",
                "Check the plan of the key's account.",
            )
        case "overloaded":
            return "The model's service is overloaded.", "Try again in a few minutes, or choose another model."
        case "server":
            return "The model's service had an internal error.", "Try again in a minute."
        case "network" | "stream" | "configuration" | "unacceptable":  # no status or type of the API means these
            return "The model's address could not be reached.", f"Check the network and the address {call.address}."
        case _:
            assert_never(fault)


def _detail(refusal: _Refusal) -> str:
    facts = [
        f"HTTP {refusal.status}" if refusal.status else "in the stream",
        refusal.type,
        refusal.code,
        f"request {refusal.request_id}" if refusal.request_id else "",
    ]
    return "\n".join(filter(None, [" · ".join(filter(None, facts)), refusal.message]))
