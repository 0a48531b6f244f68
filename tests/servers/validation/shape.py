"""Compares decoded JSON with TypedDicts: what is missing, unknown, or of another type.

pydantic cannot forbid unknown fields in TypedDicts that are nested in another package's types.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Required, TypeGuard, Union, cast, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from desktop_agent.core.protocol.model import JsonObject

_UNIONS: tuple[object, ...] = (Union, types.UnionType)
_LISTS: tuple[object, ...] = (list, Iterable, Sequence)
_ANYTHING: tuple[object, ...] = (object, Any)
_SCALARS: Mapping[object, type | tuple[type, ...]] = {
    str: str,
    int: int,
    float: (int, float),
    bool: bool,
    types.NoneType: types.NoneType,
}


class Fields(NamedTuple):
    """The fields of a TypedDict. `is_open` if other fields are allowed."""

    types: dict[str, object]
    required: frozenset[str]
    is_open: bool


def mismatches(value: object, expected: object, path: str) -> Iterator[str]:
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (Annotated, Required):
        yield from mismatches(value, arguments[0], path)
    elif origin in _UNIONS:
        yield from _best_of(value, arguments, path)
    elif origin is Literal:
        if value not in arguments:
            yield f"{path}: {value!r} is none of {', '.join(map(repr, arguments))}"
    elif is_typeddict(expected):
        yield from _object(value, cast("type", expected), path)
    elif origin in _LISTS:
        yield from _items(value, arguments[0], path)
    elif origin is dict:
        yield from _mapping(value, arguments[1], path)
    else:
        yield from _scalar(value, expected, path)


def is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def _scalar(value: object, expected: object, path: str) -> Iterator[str]:
    if expected in _ANYTHING:
        return
    if expected not in _SCALARS:
        yield f"{path}: a {expected} cannot be sent as JSON"
    elif not isinstance(value, _SCALARS[expected]) or (isinstance(value, bool) and expected is not bool):
        yield f"{path}: {type(value).__name__} instead of {cast('type', expected).__name__}"


def _object(value: object, expected: type, path: str) -> Iterator[str]:
    if not is_object(value):
        yield f"{path}: {type(value).__name__} instead of an object"
        return
    known = _fields(expected)
    for name in sorted(known.required - value.keys()):
        yield f"{path}.{name}: missing"
    for name, item in value.items():
        if name in known.types:
            yield from mismatches(item, known.types[name], f"{path}.{name}")
        elif not known.is_open:
            yield f"{path}.{name}: unknown field"


@cache
def _fields(expected: type) -> Fields:
    hints = cast("dict[str, object]", get_type_hints(expected, include_extras=True))
    config = cast("dict[str, object]", getattr(expected, "__pydantic_config__", {}))
    required = frozenset(name for name, hint in hints.items() if get_origin(hint) is Required)
    return Fields(hints, required, config.get("extra") == "allow")


def _items(value: object, expected: object, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: {type(value).__name__} instead of a list"
        return
    for index, item in enumerate(cast("list[object]", value)):
        yield from mismatches(item, expected, f"{path}.{index}")


def _mapping(value: object, expected: object, path: str) -> Iterator[str]:
    if not is_object(value):
        yield f"{path}: {type(value).__name__} instead of an object"
        return
    for name, item in value.items():
        yield from mismatches(item, expected, f"{path}.{name}")


def _best_of(value: object, options: tuple[object, ...], path: str) -> Iterator[str]:
    """Compare with each option, and yield the problems of the closest one.

    An object's `type` and `role` choose the option; otherwise one unknown field would be reported as a
    hundred problems with a hundred types.
    """
    candidates = [option for option in _flat(options) if _kind(option) is type(value)] or list(options)
    for field in ("type", "role"):
        if not is_object(value) or (meant := value.get(field)) is None:
            continue
        named = [option for option in candidates if meant in _words_for(field, option)]
        candidates = named or [option for option in candidates if not _words_for(field, option)]
        if not candidates:
            yield f"{path}.{field}: {meant!r} is not a {field} that may stand here"
            return
    outcomes = [list(mismatches(value, option, path)) for option in candidates]
    yield from min(outcomes, key=len)


def _flat(options: tuple[object, ...]) -> Iterator[object]:
    for option in options:
        if get_origin(option) in _UNIONS:
            yield from _flat(get_args(option))
        elif get_origin(option) is Annotated:
            yield from _flat(get_args(option)[:1])
        else:
            yield option


def _kind(option: object) -> object:
    """Return the Python type of this type's JSON; None for response classes, which clients never send."""
    origin = get_origin(option)
    if origin is Literal:
        return type(cast("object", get_args(option)[0]))
    if is_typeddict(option) or origin is dict:
        return dict
    if origin in _LISTS:
        return list
    return option if option in _SCALARS else None


def _words_for(field: str, option: object) -> tuple[object, ...]:
    if not is_typeddict(option):
        return ()
    hint = _fields(cast("type", option)).types.get(field)
    while hint is not None and get_origin(hint) is not Literal:
        arguments = get_args(hint)
        hint = arguments[0] if arguments else None
    return get_args(hint) if hint is not None else ()
