"""The OpenAPI document: made of the endpoints as they are declared, and of the Structs of the vocabulary."""

import re
from collections.abc import Iterable
from typing import Any, cast, get_args

from msgspec import Struct
from msgspec.json import schema_components
from msgspec.structs import fields

from desktop_agent.core.base.package import __version__
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Decision, JsonObject
from desktop_agent.rest.endpoint import AnyEndpoint, NoQuery
from desktop_agent.rest.problems import FailureAnswer

_REF = "#/components/schemas/{name}"
_OPS = get_args(ops.Op)
_EVENTS = (*get_args(ev.KnownEvent), *get_args(ev.LiveEvent))
_DECISIONS = get_args(Decision)
_UNIONS: dict[object, str] = {ops.Op: "Op", Decision: "Decision"}
_PARAMETER = re.compile(r"\{([a-z_]+)\}")


def document_of(endpoints: Iterable[AnyEndpoint]) -> JsonObject:
    """Return the document."""
    endpoints = tuple(endpoints)
    kinds = _kinds_of(endpoints)
    _, components = schema_components(kinds, schema_hook=_foreign, ref_template=_REF)
    schemas = cast("dict[str, JsonObject]", components)
    for kind in _OPS:
        # Which op it is must be said, and what is not of it is refused.
        schema = schemas[kind.__name__]
        schema["required"] = [*cast("list[str]", schema.get("required", [])), "type"]
        schema["additionalProperties"] = False
    schemas["Op"] = _one_of(_OPS)
    schemas["Decision"] = _one_of(_DECISIONS, "outcome")
    schemas["Event"] = _one_of(_EVENTS)
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
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _kinds_of(endpoints: Iterable[AnyEndpoint]) -> list[type[Struct]]:
    kinds: dict[type[Struct], None] = dict.fromkeys((*_OPS, *_EVENTS, *_DECISIONS, FailureAnswer))
    for endpoint in endpoints:
        for kind in (endpoint.body, endpoint.answers.kind):
            if kind is not None and kind not in _UNIONS:
                kinds[kind] = None
    return list(kinds)


def _operation(endpoint: AnyEndpoint) -> JsonObject:
    answers = endpoint.answers
    content: JsonObject = {kind: {"schema": {"type": "string"}} for kind in answers.media_types}
    if answers.kind is not None:
        content = {"application/json": {"schema": {"$ref": _REF.format(name=answers.kind.__name__)}}}
    answer: JsonObject = {"description": answers.words}
    if content:
        answer["content"] = content
    operation: JsonObject = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": {
            str(answers.status): answer,
            "4XX": {
                "description": "The request was not carried out.",
                "content": {"application/json": {"schema": {"$ref": _REF.format(name=FailureAnswer.__name__)}}},
            },
        },
    }
    if endpoint.body is not None:
        name = _UNIONS.get(endpoint.body) or endpoint.body.__name__
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": _REF.format(name=name)}}},
        }
    return operation


def _path_parameters(endpoint: AnyEndpoint) -> list[JsonObject]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(endpoint: AnyEndpoint) -> list[JsonObject]:
    if endpoint.query is NoQuery:
        return []
    _, components = schema_components([endpoint.query], schema_hook=_foreign)
    schema = cast("dict[str, Any]", components[endpoint.query.__name__])
    return [
        {"name": field.name, "in": "query", "required": False, "schema": schema["properties"][field.name]}
        for field in fields(endpoint.query)
    ]


def _one_of(kinds: Iterable[type[Struct]], discriminator: str = "type") -> JsonObject:
    references = {_tag_of(kind): _REF.format(name=kind.__name__) for kind in kinds}
    return {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": discriminator, "mapping": references},
    }


def _tag_of(kind: type[Struct]) -> str:
    """Return what an object of this kind has in its `type` or its `outcome`."""
    tag = kind.__struct_config__.tag
    return str(tag if tag is not None else kind.__struct_defaults__[-1])


def _foreign(kind: type) -> JsonObject:
    """Return the schema of what msgspec knows nothing about."""
    if kind is object:
        return {"description": "Any JSON."}  # msgspec takes an empty one for none
    return {"type": "string"}  # a path
