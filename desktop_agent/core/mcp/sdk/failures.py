"""What the SDK raises when a server does not do what was asked of it, in words."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import cast

import httpx2
from mcp import InputRequiredRoundsExceededError, MCPError
from mcp_types import CONNECTION_CLOSED, CORE_RESULT_TYPES, REQUEST_TIMEOUT
from pydantic import ValidationError

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.mcp.client import ConnectionLostError
from desktop_agent.core.mcp.sdk.http import http_faults
from desktop_agent.core.mcp.sdk.http.http_link import HttpLink
from desktop_agent.core.mcp.sdk.messages import NOT_READABLE, UNREADABLE
from desktop_agent.core.mcp.sdk.process_transport import ServerProcess

_LONGEST_KIND = 40
_LONGEST_SAYING = 2_000
"""How much is shown of what a server says of a failure, in characters."""

_SDK_CANNOT_READ = ("Failed to parse JSON response", "Failed to parse SSE message")
_SDK_WANTS_ANOTHER_TYPE = "Unexpected content type"
"""How the SDK begins to say so of what came by HTTP."""

_KNOWN = (
    ServerError,
    MCPError,
    ValidationError,
    OSError,
    InputRequiredRoundsExceededError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
)
"""What is raised when a server does not do what was asked of it."""


@contextmanager
def in_words(way: ServerProcess | HttpLink) -> Generator[None]:
    """Turn what the SDK raises into `ServerError`."""
    try:
        yield
    except TimeoutError:  # an `OSError` that the setter of the time limit handles
        raise
    except ServerError:
        raise
    except _KNOWN as error:
        raise _explained(error, way) from error
    except ExceptionGroup as group:
        known, others = group.split(_KNOWN)
        if known is None or others is not None:
            raise
        raise _explained(next(_leaves(cast("Exception", known))), way) from group


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _explained(error: Exception, way: ServerProcess | HttpLink) -> ServerError:
    if isinstance(error, ServerError):
        return error
    if isinstance(error, ValidationError):
        return _not_known(error)
    if isinstance(error, InputRequiredRoundsExceededError):
        return ServerError("The server asked again and again instead of answering.")
    if not isinstance(error, MCPError):
        return ServerError(f"It could not be reached: {_shortened(str(error))}.")
    link = way if isinstance(way, HttpLink) else None
    if link is not None and (failure := link.failure_in(error)) is not None:
        return failure
    if error.code == CONNECTION_CLOSED:
        if link is not None:
            link.end(http_faults.broken_off())
        return ConnectionLostError("The connection with the server was lost.")
    if error.code == REQUEST_TIMEOUT:
        return ServerError("The server did not answer in time.")
    if error.code == UNREADABLE or error.message.startswith(_SDK_CANNOT_READ):
        return ServerError(NOT_READABLE)
    if error.message.startswith(_SDK_WANTS_ANOTHER_TYPE):
        title = "It answers with something else than the protocol, such as a web page."
        return ServerError(title, hint="Check the address.")
    said = link.hidden(error.message) if link else error.message
    return ServerError(f"The server refused: {_shortened(said)}")


def _not_known(error: ValidationError) -> ServerError:
    """Return what is said of an answer that cannot be read, with the kind that it says to be."""
    for mistake in error.errors(include_url=False):
        answer: object = mistake["input"]
        if not isinstance(answer, dict):
            continue
        fields = cast("dict[str, object]", answer)
        kind = fields.get("resultType")
        if isinstance(kind, str) and kind not in CORE_RESULT_TYPES:
            return ServerError(
                f"It answered with a result of the kind {kind[:_LONGEST_KIND]!r}, which is not supported here."
            )
        if "task" in fields:
            return ServerError("It answered with a task to be waited for, which is not supported here.")
    return ServerError("It answered with what the protocol does not know.", detail=_shortened(str(error)))


def _shortened(said: str) -> str:
    """Return what a server said, so that it steers no terminal and fills no window."""
    cut = said[:_LONGEST_SAYING]
    return without_controls(cut) + (" …" if len(said) > len(cut) else "")
