"""What can go wrong on the way to any model behind HTTP, in words for a user: statuses, waiting times, the network.

Decided on types and numbers only, never on the wording of a message. `httpx2` is imported by the caller already
when something fails; importing this module does not import it.
"""

import math
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.system.network.connections import Proxy, causes_of, names_of

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
    """Return the kind of fault that an HTTP status stands for."""
    return _FAULT_OF_STATUS.get(status, "server" if status >= 500 else "invalid_request")


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how long the server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.

    `None` when it does not say, or says something that is no waiting time. `headers` are looked up in lower case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _number(asked)
    return seconds if seconds is not None else _seconds_until(asked, now)


def broken_off(detail: str) -> ProviderError:
    """The answer began, and ended before it was whole."""
    return ProviderError(
        "The answer broke off before it was complete.", fault="stream", hint="Send the message again.", detail=detail
    )


def bad_address(reason: str = "", *, detail: str = "") -> ProviderError:
    """The configured address cannot be one, for this `reason` in words."""
    return ProviderError(
        f"The model's address is not a web address{f': {reason}' if reason else ''}.",
        fault="configuration",
        hint="Correct it in Settings, in --base-url or in the environment. A key belongs in the keyring.",
        detail=detail,
    )


def readable_by_proxy(address: str, proxy: Proxy) -> ProviderError:
    """An unencrypted request would pass a proxy, which could read the key and the conversation."""
    return ProviderError(
        f"Nothing was sent: the proxy {proxy.address} would read the key and the conversation.",
        fault="configuration",
        hint=f"{address} is not encrypted, and {proxy.named_by} names this proxy. Use an https:// address, add the "
        "host to NO_PROXY, or allow it: set model.allow_readable_proxy to true.",
    )


def refused_by_proxy(proxy: Proxy, status: int | None) -> ProviderError:
    """A proxy answered in place of the model."""
    hint = f"Ask who runs the proxy, or change {proxy.named_by}."
    if status == 407:
        hint = f"It wants a user name and a password: http://user:password@host:port in {proxy.named_by}."
    said = f" ({status})" if status else ""
    return ProviderError(
        f"The proxy {proxy.address} refused the connection{said}. The model was not reached.",
        fault="configuration",
        hint=hint,
    )


def network_error(error: BaseException, address: str, proxy: Proxy | None = None) -> ProviderError:
    """Return what a connection that failed with `error` means; with a `proxy`, that was what was connected to.

    `error` may wrap the real one: what httpx2 and the operating system raised is found along its causes.
    """
    import httpx2

    causes = list(causes_of(error))
    if known := next((cause for cause in causes if isinstance(cause, ProviderError)), None):
        return known
    if proxy is not None and (refusal := next((c for c in causes if isinstance(c, httpx2.ProxyError)), None)):
        return refused_by_proxy(proxy, _status_in(str(refusal)))
    if any(isinstance(cause, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)) for cause in causes):
        return bad_address(detail=names_of(causes))
    if any(isinstance(cause, (httpx2.LocalProtocolError, UnicodeEncodeError)) for cause in causes):
        return ProviderError(
            "The request could not be sent.",
            fault="invalid_request",
            hint="A custom header for the model's address is malformed. Correct it or remove it.",
            detail=names_of(causes),
        )
    title, hint = _unreachable(causes, address) if proxy is None else _unreachable_by(proxy, causes, address)
    return ProviderError(title, fault="network", hint=hint, detail=f"{address}: {names_of(causes)}")


class _Words(NamedTuple):
    title: str
    hint: str


def _unreachable(causes: list[BaseException], address: str) -> _Words:
    import httpx2

    title = "The model's address could not be reached."
    for cause in causes:
        match cause:
            case socket.gaierror():
                return _Words(title, f"The name in {address} is unknown. Check the address and the network connection.")
            case ssl.SSLError():
                return _Words(
                    title, f"{address} offers no connection that can be trusted. Check clock, proxy, address."
                )
            case httpx2.ReadTimeout() | httpx2.WriteTimeout():
                return _Words("The model stopped answering.", "Try again. If it stays silent, check the network.")
            case ConnectionRefusedError():
                return _Words(title, f"Nothing listens at {address}. Start the server, or check the address.")
            case _:
                pass
    return _Words(title, f"Check the network connection and the address {address}.")


def _unreachable_by(proxy: Proxy, causes: list[BaseException], address: str) -> _Words:
    """Return the words for a connection by way of a proxy: a name or a port that is wrong is the proxy's."""
    title, hint = _unreachable(causes, address)
    if any(isinstance(cause, socket.gaierror | ConnectionRefusedError) for cause in causes):
        return _Words(
            f"The proxy {proxy.address} could not be reached.",
            f"Start it, or correct or unset {proxy.named_by}. The model at {address} was not reached.",
        )
    return _Words(title, f"{hint} The connection goes by way of the proxy {proxy.address} ({proxy.named_by}).")


def _status_in(text: str) -> int | None:
    """Return the status that a proxy's refusal begins with."""
    first = text.partition(" ")[0]
    return int(first) if first.isdecimal() and len(first) == 3 else None


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
