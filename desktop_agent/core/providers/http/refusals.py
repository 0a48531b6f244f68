"""What a model's API means when it refuses, as a `ProviderError` that a user can act on.

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
from desktop_agent.core.protocol.foreign_json import as_object
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.faults import broken_off, network_error, refused_by_proxy, retry_after_s
from desktop_agent.core.system.network.connections import Proxy

_LONGEST_NAME = 100
"""Of a type, a code or a request's id."""

_DAY_S = 86_400.0

_LONGEST_MESSAGE = 2_000
"""A proxy may answer with a whole page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """What a failed call was about: the address, the model if one was asked, and what must not be shown."""

    address: str
    model: str | None = None
    proxy: Proxy | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_hint: str = ""
    """What to do about a credential that is refused."""


class Refusal(Struct, frozen=True, kw_only=True):
    """What an API said when it refused, as its wire format reads it: everything as far as it is known."""

    fault: ProviderFault
    status: int | None = None
    """The HTTP status; `None` for an event in the middle of a stream."""
    type: str = ""
    code: str = ""
    message: str = ""
    request_id: str = ""
    parameter: str = ""
    """The field of the request that was at fault."""
    is_from_api: bool = True
    """Whether the body has the shape of this API's errors: else something between may have answered."""
    names_model: bool = False
    """Whether it is certainly the model that was not found, and not the path."""


class RefusedError(Exception):
    """An answer whose status is no success, read to its end. It is shown to no user: `explain` says what it means."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.text = text
        self.body: JsonObject = {}
        """The text, as far as it is an object of JSON."""
        self.is_json = False
        with suppress(ValueError, RecursionError):
            self.body = as_object(json.loads(text))
            self.is_json = True

    @property
    def words(self) -> str:
        """What it says where no message can be found in it."""
        said = f"Error code: {self.status}"
        return f"{said} - {self.text}" if self.is_json else self.text or said


class ErrorEventError(Exception):
    """An error that the API reports in the middle of a stream."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.type)
        self.refusal = refusal


def failures() -> tuple[type[Exception], ...]:
    """Return what a request or the reading of its answer raises when something outside of us fails."""
    import httpx2

    return (
        httpx2.HTTPError,
        httpx2.InvalidURL,
        httpx2.StreamError,
        UnicodeError,
        OSError,
    )


def explain(error: Exception, call: FailedCall, *, has_started: bool = False) -> ProviderError:
    """Return what an exception of the HTTP client means.

    `has_started` says that the answer had begun: then a lost connection is a broken answer, not a missing network.
    """
    import httpx2

    match error:
        case httpx2.TransportError() if has_started and not isinstance(error, httpx2.TimeoutException):
            return broken_off(f"the connection was lost: {type(error).__name__}")
        case httpx2.DecodingError() | UnicodeDecodeError() | httpx2.StreamError():
            return broken_off(f"the stream cannot be read: {type(error).__name__}")
        case _:
            return network_error(error, call.address, call.proxy)


def explain_refusal(refusal: Refusal, call: FailedCall, *, wait_s: float | None = None) -> ProviderError:
    """Return what a refusal means. `wait_s` is how long the server asks to wait."""
    if call.proxy is not None and (refusal.status == 407 or not refusal.is_from_api):
        return refused_by_proxy(call.proxy, refusal.status)
    if refusal.fault == "not_found" and (call.model is None or not refusal.names_model):
        return not_the_api(call, _detail(refusal, call.secrets))
    title, hint = _words(refusal.fault, call, wait_s)
    return ProviderError(
        title,
        fault=refusal.fault,
        hint=hint,
        detail=_detail(refusal, call.secrets),
        retry_after_s=wait_s,
    )


def wait_of(error: RefusedError, now: datetime) -> float | None:
    """Return how long a refusal asks to wait, in seconds."""
    return retry_after_s(error.headers, now)


def not_the_api(call: FailedCall, detail: str) -> ProviderError:
    """Something answered, but it does not speak this API."""
    return ProviderError(
        f"{call.address} answers, but not as this model's API does.",
        fault="not_found",
        hint="Check provider and address in Settings, or the environment variable that the address comes from.",
        detail=mask(detail, call.secrets),
    )


def _words(fault: ProviderFault, call: FailedCall, wait_s: float | None) -> tuple[str, str]:
    """Return title and hint."""
    match fault:
        case "authentication":
            return "The key was refused.", call.key_hint
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
            pause = "in a minute" if not wait_s else f"in {wait_s:.0f} s" if wait_s <= _DAY_S else "another day"
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
        case "network" | "stream" | "configuration" | "unacceptable":  # no status or type of an API means these
            return "The model's address could not be reached.", f"Check the network and the address {call.address}."
        case _:
            assert_never(fault)


def _detail(refusal: Refusal, secrets: tuple[str, ...]) -> str:
    """Return the facts for support, masked before they are cut: half of a key would not be known as one."""

    def shown(text: str, longest: int = _LONGEST_NAME) -> str:
        return mask(text, secrets)[:longest]

    request_id = shown(refusal.request_id)
    facts = [
        f"HTTP {refusal.status}" if refusal.status else "in the stream",
        shown(refusal.type),
        shown(refusal.code),
        f"request {request_id}" if request_id else "",
    ]
    return "\n".join(filter(None, [" · ".join(filter(None, facts)), shown(refusal.message, _LONGEST_MESSAGE)]))
