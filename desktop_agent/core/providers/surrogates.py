"""Text that can be stored and sent: no surrogate without its other half.

JSON may spell a character beyond U+FFFF as two escapes, `\\uD83D\\uDE00`. A stream can cut between the two, and a model
can write one alone. Python keeps such a half in a `str`, but a file or a request cannot: encoding it as UTF-8 raises.
"""

from typing import cast


def is_encodable(text: str) -> bool:
    """Whether `text` can be written as UTF-8."""
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
    """Return decoded JSON with every string and key in it repaired."""
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
