"""What a server asks of the user while one of its calls runs: a form to fill in, or an address to visit.

Every text in here is a server's and not to be trusted; what is to be shown has nothing hidden in it any more.
"""

from typing import Literal

from msgspec import Struct

Answer = str | int | float | bool | tuple[str, ...]
"""What stands in one field of a form."""

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldFormat = Literal["", "email", "uri", "date", "date-time"]


class FormOption(Struct, frozen=True, kw_only=True):
    """One of the values to choose from, and what the user reads for it."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One value that is asked for."""

    name: str
    """The server's own, for the answer."""
    label: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: Answer | None = None
    options: tuple[FormOption, ...] = ()
    """Of a `choice` or of `choices`."""
    format: FieldFormat = ""
    """Of a `text`."""
    least: float | None = None
    """The smallest number, the fewest characters or the fewest choices."""
    most: float | None = None


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """A question of a server. With an `address` it is whether the user visits that, and has no fields."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
