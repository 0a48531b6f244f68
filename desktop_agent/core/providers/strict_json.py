r"""JSON from models, read strictly: text that is not one whole object is never run, stored or sent.

Half of an escaped surrogate pair becomes a lone surrogate in a `str`, which cannot be encoded as UTF-8.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, cast

from desktop_agent.core.base.plain_text import is_encodable
from desktop_agent.core.protocol.codec import is_deeper_than, parts_of, refuse_constant
from desktop_agent.core.protocol.model import Flaw, JsonObject


def repaired(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates by U+FFFD."""
    return text if is_encodable(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def with_joined_pairs(text: str) -> str:
    """Join surrogate pairs, and keep lone surrogates, so that they are noticed."""
    whole = "utf-16-le"
    return text if is_encodable(text) else text.encode(whole, "surrogatepass").decode(whole, "surrogatepass")


def repaired_object(fields: JsonObject) -> JsonObject:
    return {repaired(key): repaired_json(item) for key, item in fields.items()}


def repaired_json(value: object) -> object:
    match value:
        case str():
            return repaired(value)
        case dict():
            return repaired_object(cast("JsonObject", value))
        case list():
            return [repaired_json(item) for item in cast("list[object]", value)]
        case _:
            return value


class TextJoiner:
    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        text = self._half + piece
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return repaired(text[:-1] if self._half else text)

    def end(self) -> str:
        """Return the rest: nothing, or U+FFFD for a surrogate whose other half never came."""
        rest, self._half = repaired(self._half), ""
        return rest


MAX_DEPTH = 100
"""How deeply JSON may be nested. Encoders fail at a few hundred levels."""

_CHARS_PER_VALUE = 16


class Arguments(NamedTuple):
    """The arguments of a call. If they are unusable, they are empty and `rejected` tells the model why."""

    value: JsonObject
    rejected: str = ""
    mended: Flaw | None = None


def parse_arguments(text: str) -> Arguments:
    if text.strip() in ("", "null"):
        return Arguments({})
    try:
        return Arguments(read_object(text))
    except ValueError as flaw:
        for mended, read in _MENDING.items():
            with suppress(ValueError, RecursionError):
                return Arguments(read_object(read(text)), mended=mended)
        rejected = f"The arguments {flaw}, so the call was not run. Make the call again with correct arguments."
        return Arguments({}, rejected)


def _with_escapes(text: str) -> str:
    """Return JSON with the raw control characters in its strings escaped. Raises `ValueError`."""
    return json.dumps(json.loads(text, strict=False, parse_constant=refuse_constant, parse_float=_finite))


def _decoded_once(text: str) -> str:
    value: object = json.loads(text)
    if not isinstance(value, str):
        raise ValueError("are not a string")  # noqa: TRY004 - as any other text that is not what it should be
    return value


_MENDING: Mapping[Flaw, Callable[[str], str]] = {"control_characters": _with_escapes, "encoded_twice": _decoded_once}


def read_object(text: str) -> JsonObject:
    """Parse a JSON object. Raises `ValueError`, whose message begins with "are not …"."""
    try:
        value: object = json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"are not valid JSON ({error.msg} at character {error.pos})") from None
    except (ValueError, RecursionError):  # NaN, 1e999, a number with thousands of digits, brackets without end
        raise ValueError("are not valid JSON") from None
    if not isinstance(value, dict):
        raise ValueError("are not a JSON object")  # noqa: TRY004 - as any other text that is not what it should be
    if is_too_deep(value := cast("JsonObject", value)):
        raise ValueError(f"are nested more than {MAX_DEPTH} levels deep")
    if not all(is_encodable(text) for text in _texts(value)):
        raise ValueError("contain half a character (a lone surrogate)")
    return value


def is_too_deep(value: object) -> bool:
    return is_deeper_than(value, MAX_DEPTH)


def weight_of(value: object) -> int:
    """Return the size of decoded JSON in characters. Each number, list and object counts for a fixed number."""
    weight, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        weight += len(item) if isinstance(item, str) else _CHARS_PER_VALUE
        waiting.extend(parts_of(item))
    return weight


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _texts(value: object) -> Iterator[str]:
    parts = parts_of(value)
    match value:
        case str():
            yield value
        case dict():
            yield from cast("JsonObject", value)
        case _:
            pass
    for part in parts:
        yield from _texts(part)
