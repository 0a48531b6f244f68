"""What a server asks while one of its calls runs: a form to fill in, an address to visit, or to ask the model.

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


class SampledText(Struct, frozen=True, kw_only=True):
    """A text that the model would get."""

    role: Literal["system", "user", "assistant"]
    text: str


class SamplingQuestion(Struct, frozen=True, kw_only=True):
    """Whether a server may ask the session's model something, beside the conversation."""

    texts: tuple[SampledText, ...]
    """All that is sent, in order."""
    max_tokens: int
    """The longest answer."""
    model: str
    """Who would answer, by its provider's name."""
    price: str = ""
    """What a million tokens cost, read and written; empty when that is not known."""
    notes: tuple[str, ...] = ()
    """What else the server wanted and does not get, in sentences."""


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """A question of a server. With an `address` it is whether the user visits that, and has no fields;
    with `sampling` whether it may ask the model."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
    sampling: SamplingQuestion | None = None
    """What it wants to ask the model; yes with the scope `session` lets it ask without a question from then on."""
