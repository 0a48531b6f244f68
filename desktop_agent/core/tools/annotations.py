"""Types that a program annotates with, as JSON: what a model is told of them, and how its JSON becomes one of them.

pydantic knows text, numbers, lists, `Literal`, enumerations, dataclasses, typed dictionaries and its own models. What
it does not know, msgspec's `Struct` (and `typing.TypedDict` before Python 3.12), is left to msgspec.
"""

import sys
import warnings
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, is_typeddict

import msgspec
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import PydanticJsonSchemaWarning
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import JsonObject

KNOWN_TYPES = (
    "str, int, float, bool, list, dict, tuple, Literal, Enum, a dataclass, a TypedDict, a msgspec Struct or a pydantic "
    "model"
)
"""What an annotation may be made of, in the words of an error."""

_DEFINITIONS = "#/$defs/"


def for_pydantic(annotation: object) -> Any:
    """Return an annotation that pydantic takes for the same: `Annotated[int, "How many."]` has a description then."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return cast("Any", Union)[tuple(map(for_pydantic, arguments))]
    if origin in (list, dict, tuple, set, frozenset):
        return cast("Any", origin)[tuple(each if each is ... else for_pydantic(each) for each in arguments)]
    is_unknown = _is_struct(annotation) or (sys.version_info < (3, 12) and is_typeddict(annotation))
    return Annotated[annotation, _ByMsgspec()] if is_unknown else annotation


def adapter_of(annotation: object) -> TypeAdapter[Any]:
    """Return what reads JSON as `annotation` says. Raises `TypeError` for what has no JSON schema, with the reason."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(for_pydantic(annotation))
        adapter.json_schema()
    except (PydanticUserError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(". Set `arbitrary_types_allowed")[0]
        raise TypeError(f"a model cannot give it: {reason}. Annotate it with {KNOWN_TYPES}") from error
    return adapter


def default_of(annotation: object, value: object) -> Any:
    """Return `value` as the default of a field with that annotation. Raises `TypeError` for what JSON cannot say."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PydanticJsonSchemaWarning)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_annotated(annotation, (Field(default=value),)))
            adapter.json_schema()
        except PydanticJsonSchemaWarning:
            return Field(default=msgspec.to_builtins(value), validate_default=True)
    return value


def first_mistake(read: Callable[[object], object], value: object) -> str:
    """Return what an adapter's `read` finds wrong with a value, with its place; nothing when it is right."""
    try:
        read(value)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, item['loc'])) or 'the value'}: {item['msg'].removeprefix('Value error, ')}"
    return ""


def _annotated(annotation: Any, metadata: tuple[object, ...]) -> Any:
    """Return it, for pydantic, with its metadata, of which text is the description."""
    told = [Field(description=each) if isinstance(each, str) else each for each in metadata]
    return Annotated[(for_pydantic(annotation), *told)]


class _ByMsgspec:
    """Tells pydantic to leave a type to msgspec."""

    def __get_pydantic_core_schema__(self, source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> object:
            try:
                return value if _is_one(value, source) else msgspec.convert(value, learned(source))
            except msgspec.ValidationError as error:
                raise PydanticCustomError("msgspec", "{problem}", {"problem": str(error)}) from error

        self._source = source
        to_json = core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins)
        return core_schema.no_info_plain_validator_function(read, serialization=to_json)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonObject:
        (schema,), definitions = msgspec.json.schema_components([self._source], ref_template=_DEFINITIONS + "{name}")
        return cast("JsonObject", _inlined(schema, definitions, ()))


def _is_struct(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)


def _is_one(value: object, source: type) -> bool:
    return not is_typeddict(source) and isinstance(value, source)


def _inlined(value: object, definitions: JsonObject, above: tuple[str, ...]) -> object:
    """Return a schema with what it refers to in its place. Raises `TypeError` for a type that holds its own kind."""
    if isinstance(value, list):
        return [_inlined(each, definitions, above) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("JsonObject", value)
    name = str(fields.get("$ref", "")).removeprefix(_DEFINITIONS)
    if name in above:
        raise TypeError(f"{name} holds itself, which only a pydantic model or a dataclass may")
    if name in definitions:
        return _inlined(definitions[name], definitions, (*above, name))
    return {key: _inlined(each, definitions, above) for key, each in fields.items()}
