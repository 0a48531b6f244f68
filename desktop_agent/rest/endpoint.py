"""What an endpoint is: a declaration that routes, checks what comes in, and describes itself for OpenAPI."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, ValidationError, convert
from starlette.requests import Request
from starlette.responses import Response

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.strict_json import read_object
from desktop_agent.rest.problems import Failure, RequestError, refusal

B = TypeVar("B")
Q = TypeVar("Q", bound=Struct)


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters behind the path."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[B, Q]):
    """A request that was checked."""

    path: Mapping[str, str]
    """The variable parts of the path, by name."""
    body: B
    query: Q
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What an endpoint answers when nothing goes wrong."""

    status: int = 200
    media_types: tuple[str, ...] = ("application/json",)
    kind: type[Struct] | None = None
    """What the JSON is; None where the answer is no JSON, or empty."""
    words: str = "As asked for."


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[B, Q]):
    """One method of one path."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    name: str
    """Its `operationId`."""
    summary: str
    handle: Callable[[Asked[B, Q]], Awaitable[Response]]
    answers: Answers
    body: type[B] | None = None
    """What the body is."""
    read: Callable[[JsonObject], B] | None = None
    """What makes the body of its JSON, where that is not simply converted."""
    query: type[Q]

    async def __call__(self, request: Request) -> Response:
        """Check a request and answer it. Raises `RequestError`."""
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        body: Any = None
        if self.body is not None:
            if content_type != "application/json":
                raise refusal(415, "not_json", "The body has to be `application/json`.")
            body = self._body_of(await request.body())
        return await self.handle(Asked(request.path_params, body, self._query_of(request), request.headers))

    def _body_of(self, content: bytes) -> B:
        try:
            fields = read_object(content.decode())
        except UnicodeDecodeError:
            raise refusal(400, "invalid_json", "The body is not UTF-8.") from None
        except ValueError as flaw:
            raise refusal(400, "invalid_json", f"The contents of the body {flaw}.") from flaw
        assert self.body is not None
        return self.read(fields) if self.read is not None else converted(fields, self.body)

    def _query_of(self, request: Request) -> Q:
        given = request.query_params.multi_items()
        names = [name for name, _ in given]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise refusal(400, "invalid", "It stands there more than once.", field=f"$.{twice}")
        return converted(dict(given), self.query, is_text=True)


AnyEndpoint = Endpoint[Any, Any]


def action(
    path: str,
    name: str,
    summary: str,
    handle: Callable[[Asked[B, NoQuery]], Awaitable[Response]],
    answers: Answers,
    *,
    body: type[B] | None = None,
) -> Endpoint[B, NoQuery]:
    """Return the endpoint of something that is done: a POST without parameters."""
    return Endpoint(
        method="POST", path=path, name=name, summary=summary, handle=handle, answers=answers, body=body, query=NoQuery
    )


def converted(fields: object, kind: type[B], *, is_text: bool = False) -> B:
    """Return `fields` as a value of that kind; when `is_text`, numbers stand in texts. Raises `RequestError`."""
    try:
        return convert(fields, learned(kind), strict=not is_text)
    except ValidationError as error:
        raise invalid(str(error)) from error


def invalid(problem: str) -> RequestError:
    """Return what to raise for a value that is not what it should be, as msgspec words it."""
    message, has_place, place = problem.rpartition(" - at `")
    field = place.rstrip("`") if has_place else ""
    return RequestError(400, Failure(code="invalid", message=f"{message or place}.", field=field))
