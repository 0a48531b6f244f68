"""What goes wrong with a request, as the one shape that every error of the server has."""

import json
from collections.abc import Mapping

from msgspec import Struct
from starlette.responses import Response

from desktop_agent.core.base.errors import (
    AgentError,
    CredentialsError,
    SessionBusyError,
    SessionNotFoundError,
    StorageError,
    UnsafeSettingsError,
    UsageError,
    WorkspaceError,
)
from desktop_agent.core.protocol.codec import encode


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong, and what to do about it."""

    code: str
    """Stable, for programs: `token_missing`, `session_not_found`, `invalid`, …"""
    message: str
    hint: str = ""
    detail: str = ""
    field: str = ""
    """The part of the request that is wrong: `$.workspace`; of a tool, the argument."""


class FailureAnswer(Struct, frozen=True, kw_only=True):
    """The body of every answer that is an error."""

    error: Failure


class RequestError(Exception):
    """A request that is not carried out; `status` is that of HTTP."""

    def __init__(self, status: int, failure: Failure, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(failure.message)
        self.status = status
        self.failure = failure
        self.headers = headers or {}


def refusal(status: int, code: str, message: str, *, hint: str = "", field: str = "") -> RequestError:
    """Return what to raise for a request that is refused."""
    return RequestError(status, Failure(code=code, message=message, hint=hint, field=field))


_KINDS: tuple[tuple[type[AgentError], int, str], ...] = (
    (SessionNotFoundError, 404, "session_not_found"),
    (SessionBusyError, 409, "session_busy"),
    (StorageError, 500, "storage"),
    (UnsafeSettingsError, 409, "unsafe_settings"),
    (UsageError, 400, "usage"),
    (WorkspaceError, 400, "workspace"),
    (CredentialsError, 409, "credentials"),
)
"""The narrower before the wider."""


def as_request_error(error: AgentError) -> RequestError:
    """Return what a client is told of an error of the core, in its words."""
    status, code = next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (409, "failed"))
    return RequestError(status, Failure(code=code, message=error.title, hint=error.hint, detail=error.detail))


def json_answer(value: Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer whose body is `value` as JSON. Pure ASCII: half a character in a name still has a form."""
    body = json.dumps(encode(value), allow_nan=False, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), "application/json")


def failure_answer(error: RequestError) -> Response:
    """Return the answer to a request that is not carried out."""
    return json_answer(FailureAnswer(error=error.failure), error.status, error.headers)
