"""The application behind the guard: how endpoints are declared and described, the page for phones, errors."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Literal, TypeVar, cast, get_args

from msgspec import Struct, ValidationError, convert
from msgspec.json import schema_components
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

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
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.plain_text import HIDING, MOST_BLANKS, MOST_SHOWN_CHARS, SHAPING
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import Decision, JsonObject
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
        case _:  # a defect: the server logs it, and does not send its text, which may contain anything
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
        raise refusal(400, "invalid", "It occurs more than once.", field=f"$.{twice}")
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


_FILES = (
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
    ("/shown.js", "shown.js", "text/javascript; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/icon.svg", "icon.svg", "image/svg+xml"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def _as_in_javascript(pattern: str) -> str:
    """Return a pattern in JavaScript's form, which differs for characters beyond U+FFFF."""
    return re.sub(r"\\U([0-9a-f]{8})", lambda code: f"\\u{{{int(code[1], 16):x}}}", pattern)


_FILLED_IN = {
    "shown.js": {
        "@HIDING@": _as_in_javascript(HIDING.pattern),
        "@SHAPING@": f"(?:{_as_in_javascript(SHAPING)})",
        "@MOST_BLANKS@": str(MOST_BLANKS),
        "@MOST_TABS@": str(MOST_BLANKS // 5),
        "@MOST_SHOWN_CHARS@": str(MOST_SHOWN_CHARS),
    }
}


def page_routes() -> list[Route]:
    return [Route(path, _sends(name, media_type)) for path, name, media_type in _FILES]


def _sends(name: str, media_type: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def send(_request: Request) -> Response:
        content = resource_path("rest", name).read_text(encoding="utf-8")
        for mark, value in _FILLED_IN.get(name, {}).items():
            content = content.replace(mark, value)
        return Response(content, headers={**_HEADERS, "content-type": media_type})

    return send


_REF = "#/components/schemas/{name}"
_OPS = get_args(ops.Op)
_EVENTS = (*get_args(ev.KnownEvent), *get_args(ev.LiveEvent))
_DECISIONS = get_args(Decision)
_UNIONS: dict[object, str] = {ops.Op: "Op", Decision: "Decision"}
_PARAMETER = regex(r"\{([a-z_]+)\}")


def document_of(endpoints: Iterable[Endpoint]) -> JsonObject:
    endpoints = tuple(endpoints)
    stated = (kind for endpoint in endpoints for kind in (endpoint.body, endpoint.kind))
    own = (kind for kind in stated if kind is not None and kind not in _UNIONS)
    kinds = dict.fromkeys((*_OPS, *_EVENTS, *_DECISIONS, FailureAnswer, *own))
    _, components = schema_components(kinds, schema_hook=_foreign, ref_template=_REF)
    schemas = cast("dict[str, JsonObject]", components)
    for kind in _OPS:
        schemas[kind.__name__]["additionalProperties"] = False  # a field that an op does not have is refused
    schemas["Op"] = _one_of(_OPS)
    schemas["Decision"] = _one_of(_DECISIONS, "outcome")
    schemas["Event"] = _one_of(_EVENTS)
    schemas["EventBlock"] = _EVENT_BLOCK
    paths: dict[str, JsonObject] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Desktop Agent",
            "version": __version__,
            "description": "Sessions of Desktop Agent: ops go in, events come out.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint) -> JsonObject:
    content: JsonObject = {kind: {"schema": {"type": "string"}} for kind in endpoint.media_types}
    if STREAM in content:
        content[STREAM] = _STREAMED
    if endpoint.kind is not None:
        content = _json_of(endpoint.kind.__name__)
    answer: JsonObject = {"description": endpoint.words}
    if content:
        answer["content"] = content
    operation: JsonObject = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": _parameters(endpoint),
        "responses": {
            str(endpoint.status): answer,
            "4XX": {"description": "The request was not carried out.", "content": _json_of(FailureAnswer.__name__)},
        },
    }
    if endpoint.body is not None:
        name = _UNIONS.get(endpoint.body) or endpoint.body.__name__
        operation["requestBody"] = {"required": True, "content": _json_of(name)}
    return operation


_STREAMED: JsonObject = {
    "schema": {"type": "string", "description": "Server-sent events: an `EventBlock` each, and comments between them."},
    "x-itemSchema": {"$ref": _REF.format(name="EventBlock")},  # as `itemSchema` of OpenAPI 3.2
}
_EVENT_BLOCK: JsonObject = {
    "type": "object",
    "description": "One block of the stream, with the fields of server-sent events.",
    "properties": {
        "id": {"type": "string", "description": "The number of a recorded event, for `Last-Event-ID`; only `journal`."},
        "event": {"enum": ["journal", "live", "error"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {
                "oneOf": [{"$ref": _REF.format(name="Event")}, {"$ref": _REF.format(name=Failure.__name__)}]
            },
            "description": "An `Event`; for `error`, a `Failure`, which ends the stream.",
        },
    },
    "required": ["event", "data"],
}
_LAST_EVENT: JsonObject = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**15 - 1},
    "description": "The number of the last event that the client has.",
}


def _json_of(name: str) -> JsonObject:
    return {"application/json": {"schema": {"$ref": _REF.format(name=name)}}}


def _parameters(endpoint: Endpoint) -> list[JsonObject]:
    text: JsonObject = {"type": "string", "minLength": 1}
    schemas: JsonObject = {}
    if endpoint.query is not NoQuery:
        _, components = schema_components([endpoint.query], schema_hook=_foreign)
        schemas = cast("JsonObject", components[endpoint.query.__name__]["properties"])
    names = _PARAMETER.findall(endpoint.path)
    return [
        *({"name": name, "in": "path", "required": True, "schema": text} for name in names),
        *({"name": name, "in": "query", "required": False, "schema": schemas[name]} for name in schemas),
        *([_LAST_EVENT] if STREAM in endpoint.media_types else []),
    ]


def _one_of(kinds: Iterable[type[Struct]], discriminator: str = "type") -> JsonObject:
    references = {str(kind.__struct_config__.tag): _REF.format(name=kind.__name__) for kind in kinds}
    return {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": discriminator, "mapping": references},
    }


def _foreign(kind: type) -> JsonObject:
    if kind is object:
        return {"description": "Any JSON."}  # msgspec takes an empty one for none
    return {"type": "string"}  # a path


OPENAPI_PATH = "/openapi.json"


def application_of(endpoints: Iterable[Endpoint]) -> Starlette:
    endpoints = tuple(endpoints)

    @cache
    def document() -> bytes:
        return json.dumps(document_of(endpoints)).encode()

    async def describe(_request: Request) -> Response:
        return Response(await asyncio.to_thread(document), media_type="application/json")

    paths = dict.fromkeys(one.path for one in endpoints)
    routes = [
        *(_route(path, [one for one in endpoints if one.path == path]) for path in paths),
        Route(OPENAPI_PATH, describe),
        *page_routes(),
    ]
    handlers = dict.fromkeys((RequestError, AgentError, HTTPException, Exception), _on_error)
    return Starlette(routes=routes, exception_handlers=handlers)  # pyright: ignore[reportArgumentType] - wide handlers


def _route(path: str, endpoints: Sequence[Endpoint]) -> Route:
    """Return one route for all methods of a path, so that a refusal of other methods can name them all."""
    by_method = {one.method: one for one in endpoints}

    async def answer(request: Request) -> Response:
        is_head = request.method == "HEAD"
        response = await by_method["GET" if is_head else request.method](request)
        if is_head and isinstance(response, StreamingResponse):  # which may have no end
            response = Response(status_code=response.status_code, headers=dict(response.headers))
            del response.headers["content-length"]  # it is not known
        return response

    return Route(path, answer, methods=list(by_method))


def public_paths() -> frozenset[str]:
    return frozenset({OPENAPI_PATH, *(route.path for route in page_routes())})


async def _on_error(_request: Request, error: Exception) -> Response:
    return failure_answer(as_request_error(error))
