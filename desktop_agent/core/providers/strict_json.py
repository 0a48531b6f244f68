"""JSON that models write, read strictly: what does not parse as one whole object is never run, nor stored or sent.

JSON may spell a character beyond U+FFFF as two escapes, `\\uD83D\\uDE00`. A stream can cut between the two, and a
model can write one alone. Python keeps such a half in a `str`, but a file or a request cannot: encoding it as UTF-8
raises.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn, cast

from desktop_agent.core.protocol.model import JsonObject


def is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def repaired(text: str) -> str:
    """Return `text` with halves that belong together joined, and the lone ones replaced by U+FFFD."""
    return text if is_encodable(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def repaired_json(value: object) -> object:
    match value:
        case str():
            return repaired(value)
        case dict():
            return {repaired(key): repaired_json(item) for key, item in cast("dict[str, object]", value).items()}
        case list():
            return [repaired_json(item) for item in cast("list[object]", value)]
        case _:
            return value


class TextJoiner:
    """Repairs text that arrives in pieces: half a character waits for the piece that brings the other half."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Return what is certain after this piece."""
        text = self._half + piece
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return repaired(text[:-1] if self._half else text)

    def end(self) -> str:
        """Return what is left: nothing, or U+FFFD for a half whose other half never came."""
        rest, self._half = repaired(self._half), ""
        return rest


MAX_DEPTH = 100
"""Deeper nesting is refused: no tool needs it, and encoders give up at a few hundred levels."""


_CHARS_PER_VALUE = 16
"""What an empty list weighs. It takes more memory than its two characters."""


class Arguments(NamedTuple):
    """The arguments of a call. `rejected` says, for the model, why they cannot be trusted; then they are empty."""

    value: JsonObject
    rejected: str = ""


def parse_arguments(text: str) -> Arguments:
    """Return the arguments that `text` spells. No text at all means no arguments."""
    if not text.strip():
        return Arguments({})
    try:
        return Arguments(read_object(text))
    except ValueError as flaw:
        rejected = f"The arguments {flaw}, so the call was not run. Make the call again with correct arguments."
        return Arguments({}, rejected)


def read_object(text: str) -> JsonObject:
    """Return the JSON object that `text` spells. Raises `ValueError` that says what is wrong: "are not …"."""
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
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
    """Whether decoded JSON is nested deeper than `MAX_DEPTH`. Does not recurse itself."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _parts(outer)]
        if not level:
            return False
    return True


def weight_of(value: object) -> int:
    """Return how many characters decoded JSON has, where every number, list and object counts for some, too."""
    weight, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        weight += len(item) if isinstance(item, str) else _CHARS_PER_VALUE
        waiting.extend(_parts(item))
    return weight


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """Return a number. Raises `ValueError` for one that is infinite here: no journal and no request could hold it."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _parts(value: object) -> Iterable[object]:
    """Return what a decoded array or object holds; nothing for any other value."""
    match value:
        case dict():
            return cast("JsonObject", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def _texts(value: object) -> Iterator[str]:
    parts = _parts(value)
    match value:
        case str():
            yield value
        case dict():
            yield from cast("JsonObject", value)
        case _:
            pass
    for part in parts:
        yield from _texts(part)
