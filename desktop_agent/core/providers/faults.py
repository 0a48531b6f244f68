"""The failures of a model behind HTTP, in words for a user: refusals, waiting times, addresses, proxies."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import assert_never, cast

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.base.secrets import Discreet, mask
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.network.connections import Proxy

_FAULT_OF_STATUS: Mapping[int, ProviderFault] = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "server",  # the service gave up waiting for itself; the same request may succeed
    409: "server",  # two requests met; the same request may succeed
    413: "too_large",
    429: "rate_limited",
    503: "overloaded",
    504: "overloaded",
    529: "overloaded",
}


def fault_of_status(status: int) -> ProviderFault:
    return _FAULT_OF_STATUS.get(status, "server" if status >= 500 else "invalid_request")


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _number(asked)
    return seconds if seconds is not None else _seconds_until(asked, now)


def broken_off(detail: str) -> ProviderError:
    return ProviderError(
        "The answer broke off before it was complete.", fault="stream", hint="Send the message again.", detail=detail
    )


def bad_address(reason: str = "", *, detail: str = "") -> ProviderError:
    return ProviderError(
        f"The model's address is not a web address{f': {reason}' if reason else ''}.",
        fault="configuration",
        hint="Correct it in Settings, in --base-url or in the environment. A key belongs in the keyring.",
        detail=detail,
    )


def readable_by_proxy(address: str, proxy: Proxy) -> ProviderError:
    return ProviderError(
        f"Nothing was sent: the proxy {proxy.address} would read the key and the conversation.",
        fault="configuration",
        hint=f"{address} is not encrypted, and {proxy.named_by} names this proxy. Use an https:// address, add the "
        "host to NO_PROXY, or allow it: set model.allow_readable_proxy to true.",
    )


def refused_by_proxy(proxy: Proxy, status: int | None) -> ProviderError:
    hint = f"Ask whoever runs the proxy, or change {proxy.named_by}."
    if status == 407:
        hint = f"The proxy requires a user name and a password: http://user:password@host:port in {proxy.named_by}."
    said = f" ({status})" if status else ""
    return ProviderError(
        f"The proxy {proxy.address} refused the connection{said}. The model was not reached.",
        fault="configuration",
        hint=hint,
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(date: str | None, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date or "")
    except (ValueError, OverflowError):  # the second for a year, or a minute, of many digits
        return None
    if moment.tzinfo is None:  # "-0000": UTC without saying so
        moment = moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)


_LONGEST_NAME = 100

_DAY_S = 86_400.0

_LONGEST_MESSAGE = 2_000


class FailedCall(Discreet, frozen=True, kw_only=True):
    """The facts about a failed call. `secrets` are masked in messages."""

    SHOWN = ("address", "model", "proxy", "key_hint", "is_in_cloud")

    address: str
    model: str | None = None
    proxy: Proxy | None = None
    secrets: tuple[str, ...] = ()
    key_hint: str = ""
    is_in_cloud: bool = False
    """Whether a cloud answers, whose models depend on the region, and whose credentials need not be a key."""


class Refusal(Struct, frozen=True, kw_only=True):
    """The refusal of an API, as its wire format reads it. Unknown fields are empty."""

    fault: ProviderFault
    status: int | None = None
    """The HTTP status; `None` if the refusal was an event in the middle of a stream."""
    type: str = ""
    code: str = ""
    message: str = ""
    request_id: str = ""
    parameter: str = ""
    is_from_api: bool = True
    """Whether the body has the form of this API's errors. Otherwise an intermediary may have answered."""
    names_model: bool = False


class RefusedError(Exception):
    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.text = text
        self.body: JsonObject = {}
        """The body, if it is a JSON object; otherwise empty."""
        self.is_json = False
        with suppress(ValueError, RecursionError):
            said = cast("object", json.loads(text))
            # Some of Google's servers answer with a list of one error.
            first = next(iter(cast("list[object]", said)), None) if isinstance(said, list) else said
            self.body = as_object(first)
            self.is_json = True

    @property
    def words(self) -> str:
        said = f"Error code: {self.status}"
        return f"{said} - {self.text}" if self.is_json else self.text or said


class ErrorEventError(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.type)
        self.refusal = refusal


def explain_refusal(refusal: Refusal, call: FailedCall, *, wait_s: float | None = None) -> ProviderError:
    if call.proxy is not None and (refusal.status == 407 or not refusal.is_from_api):
        return refused_by_proxy(call.proxy, refusal.status)
    if refusal.fault == "not_found" and (call.model is None or not refusal.names_model):
        return not_the_api(call, _detail(refusal, call.secrets))
    title, hint = (_words_in_cloud(refusal.fault, call) if call.is_in_cloud else None) or _words(
        refusal.fault, call, wait_s
    )
    return ProviderError(
        title, fault=refusal.fault, hint=hint, detail=_detail(refusal, call.secrets), retry_after_s=wait_s
    )


def not_the_api(call: FailedCall, detail: str) -> ProviderError:
    hint = "Check provider and address in Settings, or the environment variable that the address comes from."
    if call.is_in_cloud:
        hint = "Check the region and the address of the account, or the environment variables that they come from."
    title = f"{call.address} answers, but not in the format of this model's API."
    return ProviderError(title, fault="not_found", hint=hint, detail=mask(detail, call.secrets))


def _words_in_cloud(fault: ProviderFault, call: FailedCall) -> tuple[str, str] | None:
    match fault:
        case "authentication":
            return "The credentials were refused.", call.key_hint
        case "permission":
            title = f"These credentials may not use {call.model or 'this API'}."
            return title, "Allow the model in the console of the cloud, or choose another model."
        case "not_found":
            return f"There is no model named “{call.model}” here.", "Choose another model, or a region that has it."
        case _:
            return None


def _words(fault: ProviderFault, call: FailedCall, wait_s: float | None) -> tuple[str, str]:
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
        case (
            "network" | "stream" | "configuration" | "unacceptable" | "no_answer"
        ):  # no status or type of an API means these
            return "The model's address could not be reached.", f"Check the network and the address {call.address}."
        case _:
            assert_never(fault)


def _detail(refusal: Refusal, secrets: tuple[str, ...]) -> str:
    """Return the facts for support. They are masked before they are cut, because half a key would not be recognised."""

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
