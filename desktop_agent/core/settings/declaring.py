"""What is said about a setting beside its field, for every place that shows it: dialog, commands, documents, errors."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, ParamSpec, Protocol, TypeVar

from msgspec import Struct, field

T = TypeVar("T")
P = ParamSpec("P")

Kind = Literal["choice", "switch", "whole", "number", "text", "texts"]
"""What a setting holds, and so which control it has."""

Effect = Literal["now", "next session", "next run", "next start"]
"""From when a changed value holds. `now`: from the next request or call of every open session; `next start` of the
window: only its language and size."""

Tightening = Literal["stricter", "more", "lower"]
"""How a project may change a setting: to a choice further on, by adding entries, to a lower number."""

_KEY = "about"


class About(Struct, frozen=True, kw_only=True):
    """What a user needs to know to decide about one setting."""

    title: str
    text: str
    """One or two sentences: what it does, and what it is good for."""
    unit: str = ""
    """The unit in which people read and enter it."""
    per_unit: int = 1
    """How much of the value one such unit is: 1024 for a value in bytes that is entered in KiB."""
    least: float | None = None
    most: float | None = None
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each choice is called."""
    unset: str = ""
    """What it comes to when nothing is set."""
    holds: Literal["", "folders", "file", "address", "model", "keys"] = ""
    """Whether its texts are paths, relative to the settings file, a web address, which has no password in it, a model
    with its provider, or keys."""
    plain_keys: tuple[str, ...] = ()
    """Keys that it may be although people write with them; `written_keys.ANY` for all."""
    effect: Effect = "now"
    is_advanced: bool = False
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variable that goes before the file, by the provider with which it does."""
    tightening: Tightening | None = None
    """How a project may change it; None: not at all."""


class AboutSection(Struct, frozen=True):
    """The name of a section, and what it is about."""

    title: str
    text: str


class _Declaring(Protocol[P]):
    """Takes a default, then the arguments of `About`, which a type checker knows from `P` without a list of them here.

    It is typed to return the default's type, as typeshed types `dataclasses.field`: only then may a field of that type
    be declared by it.
    """

    def __call__(self, default: T, *args: P.args, **kwargs: P.kwargs) -> T: ...


def _with_default(about: Callable[P, About]) -> _Declaring[P]:
    def declared(default: T, *args: P.args, **kwargs: P.kwargs) -> T:
        return dataclasses.field(default=default, metadata={_KEY: about(*args, **kwargs)})

    return declared


setting = _with_default(About)
"""The dataclass field of a setting: its default, then what `About` says of it."""


def section(kind: Callable[[], T], title: str, text: str) -> T:
    """Return the dataclass field of a section, which is made by `kind`, and what it is called and about."""
    return dataclasses.field(default_factory=kind, metadata={_KEY: AboutSection(title, text)})


def about_in(metadata: Mapping[str, object]) -> About | AboutSection:
    """Return what a field's metadata says of it."""
    found = metadata[_KEY]
    assert isinstance(found, About | AboutSection)
    return found
