"""Failures of a model server: `fault.drop_after(events=3)` within a reply, `fault.overloaded()` instead of one."""

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.script import Fault, Garbage, Refusal, StreamError, Whole


def drop_after(*, events: int | None = None, size: int | None = None) -> Fault:
    return Fault("reset", events=events, size=size)


def close_after(*, events: int | None = None, size: int | None = None) -> Fault:
    return Fault("close", events=events, size=size)


def end_after(*, events: int | None = None, size: int | None = None) -> Fault:
    return Fault("end", events=events, size=size)


def stall_after(*, events: int) -> Fault:
    return Fault("stall", events=events)


def error_after(*, events: int, type: str = "overloaded_error", message: str = "Overloaded") -> Fault:  # noqa: A002 - the API's own word
    return Fault("insert", events=events, event=StreamError(type, message), is_last=True)


def garbage_after(*, events: int, data: bytes = b'{"type": "content_block_delta", "ind') -> Fault:
    return Fault("insert", events=events, event=Garbage(data))


def status(status: int, type: str, message: str, *, code: str = "", **headers: str) -> Refusal:  # noqa: A002 - the API's own word
    return Refusal(status, type, message, code, {name.replace("_", "-"): value for name, value in headers.items()})


def unauthorized(message: str = "invalid x-api-key") -> Refusal:
    return status(401, "authentication_error", message)


def not_found(model: str = "model") -> Refusal:
    return status(404, "not_found_error", f"model: {model}")


def rate_limited(*, code: str = "", **headers: str) -> Refusal:
    """Too many requests; `retry_after="2"` says for how long."""
    return status(429, "rate_limit_error", "This request would exceed your rate limit.", code=code, **headers)


def no_credit() -> Refusal:
    return status(402, "billing_error", "You exceeded your current quota, please check your plan and billing details.")


def too_long() -> Refusal:
    return status(413, "request_too_large", "prompt is too long: 210000 tokens > 200000 maximum")


def server_error() -> Refusal:
    return status(500, "api_error", "Internal server error")


def overloaded() -> Refusal:
    return status(529, "overloaded_error", "Overloaded")


def page(body: str = "<html>Sign in to the network</html>", status: int = 200) -> Whole:
    return Whole(status, body, {"content-type": "text/html"})


def exactly(status: int, body: JsonObject, **headers: str) -> Whole:
    return Whole(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
