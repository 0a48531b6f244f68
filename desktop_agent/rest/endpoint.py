"""Endpoints: declarations that route, validate requests, and describe themselves for OpenAPI."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from msgspec import Struct, ValidationError, convert
from starlette.exceptions import HTTPException
from starlette.requests import Request
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
from desktop_agent.core.base.file_names import legible_names, real_names
from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.providers.strict_json import read_object


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    """Stable, for programs: `token_missing`, `session_not_found`, `invalid`, …"""
    message: str
    hint: str = ""
    detail: str = ""
    field: str = ""
    """The part of the request that is wrong, such as `$.workspace`; for a tool, the argument."""


class FailureAnswer(Struct, frozen=True, kw_only=True):
    """The body of every answer that is an error."""

    error: Failure


class RequestError(Exception):
    """A request that is refused, with `status` as the HTTP status."""

    def __init__(self, status: int, failure: Failure, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(failure.message)
        self.status = status
        self.failure = failure
        self.headers = headers or {}


def refusal(status: int, code: str, message: str, *, hint: str = "", field: str = "") -> RequestError:
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


def as_request_error(error: Exception) -> RequestError:
    match error:
        case RequestError():
            return error
        case AgentError():
            known = ((status, code) for kind, status, code in _KINDS if isinstance(error, kind))
            status, code = next(known, (409, "failed"))
            return RequestError(status, Failure(code=code, message=error.title, hint=error.hint, detail=error.detail))
        case HTTPException():
            phrase = HTTPStatus(error.status_code).phrase
            failure = Failure(code=phrase.lower().replace(" ", "_"), message=f"{phrase}.")
            return RequestError(error.status_code, failure, error.headers)
        case _:  # a defect, which the server logs: what it says stays here, as it may hold anything
            hint = "The server's standard error says more."
            return refusal(500, "internal", "The request failed.", hint=hint)


def json_answer(value: Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(legible_names(encode(value)), allow_nan=False, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), "application/json")


def failure_answer(error: RequestError) -> Response:
    return json_answer(FailureAnswer(error=error.failure), error.status, error.headers)


K = TypeVar("K")

STREAM = "text/event-stream"


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters."""


Answer = Struct | Response | None
"""A Struct becomes JSON with the declared status, `None` an empty body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path, declared by `get`, `post` or `delete` above its handler.

    The handler's parameters are the variable parts of the path, by name, and `body`, `query` and `headers`, all
    validated.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    handler: Callable[..., Awaitable[Answer]]
    group: object = None
    status: int
    media_types: tuple[str, ...]
    """The types of an answer that is not JSON; none for an empty one."""
    kind: type[Struct] | None
    words: str

    @property
    def name(self) -> str:
        first, *others = self.handler.__name__.split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def body(self) -> Any:
        return self.handler.__annotations__.get("body")

    @property
    def query(self) -> type[Struct]:
        return self.handler.__annotations__.get("query", NoQuery)

    async def __call__(self, request: Request) -> Response:
        given: dict[str, Any] = {**request.path_params, "headers": request.headers}
        if self.body is not None:
            content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if content_type != "application/json":
                raise refusal(415, "not_json", "The body has to be `application/json`.")
            given["body"] = _body_of(await request.body(), self.body)
        given["query"] = _query_of(request, self.query)
        wanted = {name: given[name] for name in self.handler.__annotations__ if name != "return"}
        answer = await self.handler(self.group, **wanted)
        if isinstance(answer, Response):
            return answer
        return json_answer(answer, self.status) if answer is not None else Response(status_code=204)


def _body_of(content: bytes, kind: Any) -> Any:
    try:
        fields = read_object(content.decode())
    except UnicodeDecodeError:
        raise refusal(400, "invalid_json", "The body is not UTF-8.") from None
    except ValueError as flaw:
        raise refusal(400, "invalid_json", f"The contents of the body {flaw}.") from flaw
    if kind is not ops.Op:
        return _converted(fields, kind)
    try:
        return ops.decode_op(fields)
    except ops.MalformedOpError as error:
        raise invalid(str(error)) from error


def _query_of(request: Request, kind: type[Struct]) -> Struct:
    given = request.query_params.multi_items()
    names = [name for name, _ in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refusal(400, "invalid", "It stands there more than once.", field=f"$.{twice}")
    return _converted(dict(given), kind, is_text=True)


def endpoint(
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    summary: str,
    *,
    status: int = 200,
    media_types: tuple[str, ...] = (),
    kind: type[Struct] | None = None,
    words: str = "As asked for.",
) -> Callable[[Callable[..., Awaitable[Answer]]], Endpoint]:
    """Declare an endpoint. If the handler makes the response itself, `kind` is the type of its JSON."""

    def declared(handler: Callable[..., Awaitable[Answer]]) -> Endpoint:
        answered: Any = handler.__annotations__["return"]
        return Endpoint(
            method=method,
            path=path,
            summary=summary,
            handler=handler,
            status=204 if answered is None else status,
            media_types=media_types,
            kind=kind if answered in (Response, None) else answered,
            words=words,
        )

    return declared


get = partial(endpoint, "GET")
post = partial(endpoint, "POST")
delete = partial(endpoint, "DELETE")


def endpoints_of(group: object) -> Iterator[Endpoint]:
    for declared in vars(type(group)).values():
        if isinstance(declared, Endpoint):
            yield replace(declared, group=group)


def _converted(fields: object, kind: type[K], *, is_text: bool = False) -> K:
    """Return the fields as `kind`. With `is_text`, numbers are given as strings. Raises `RequestError`."""
    try:
        return convert(real_names(fields), learned(kind), strict=not is_text)
    except ValidationError as error:
        raise invalid(str(error)) from error


def invalid(problem: str) -> RequestError:
    message, has_place, place = problem.rpartition(" - at `")
    field = place.rstrip("`") if has_place else ""
    return refusal(400, "invalid", f"{message or place}.", field=field)
