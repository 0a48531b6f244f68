"""The application that the guard stands before: every endpoint, the page for phones, and one shape for all errors."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from functools import cache
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from desktop_agent.core.base.errors import AgentError
from desktop_agent.rest.endpoint import AnyEndpoint
from desktop_agent.rest.openapi import document_of
from desktop_agent.rest.page import page_routes
from desktop_agent.rest.problems import Failure, RequestError, as_request_error, failure_answer

OPENAPI_PATH = "/openapi.json"


def application_of(endpoints: Iterable[AnyEndpoint]) -> Starlette:
    """Return the application; `server` puts the guard before it."""
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
    handlers = {RequestError: _on_refusal, AgentError: _on_failure, HTTPException: _on_http, Exception: _on_defect}
    return Starlette(routes=routes, exception_handlers=handlers)  # pyright: ignore[reportArgumentType] - wide handlers


def _route(path: str, endpoints: Sequence[AnyEndpoint]) -> Route:
    """Return the route of a path: one for all its methods, so that a refusal of another one names them all."""
    by_method = {one.method: one for one in endpoints}

    async def answer(request: Request) -> Response:
        is_head = request.method == "HEAD"
        response = await by_method["GET" if is_head else request.method](request)
        if is_head and isinstance(response, StreamingResponse):  # which may have no end
            return _head_of(response)
        return response

    return Route(path, answer, methods=list(by_method))


def _head_of(response: StreamingResponse) -> Response:
    head = Response(status_code=response.status_code, headers=dict(response.headers))
    del head.headers["content-length"]  # it is not known
    return head


def public_paths() -> frozenset[str]:
    """Return the paths that need no token."""
    return frozenset({OPENAPI_PATH, *(route.path for route in page_routes())})


async def _on_refusal(_request: Request, error: RequestError) -> Response:
    return failure_answer(error)


async def _on_failure(_request: Request, error: AgentError) -> Response:
    return failure_answer(as_request_error(error))


async def _on_http(_request: Request, error: HTTPException) -> Response:
    phrase = HTTPStatus(error.status_code).phrase
    failure = Failure(code=phrase.lower().replace(" ", "_"), message=f"{phrase}.")
    return failure_answer(RequestError(error.status_code, failure, error.headers))


async def _on_defect(_request: Request, _error: Exception) -> Response:
    """Answer for a defect; the server logs it. What it says stays here: it may hold anything."""
    hint = "The server's standard error says more."
    return failure_answer(RequestError(500, Failure(code="internal", message="The request failed.", hint=hint)))
