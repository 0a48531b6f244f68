"""Descriptions of settings, declared with their fields, for the dialog, commands, documents and errors."""

from collections.abc import Callable, Mapping
from typing import Literal, ParamSpec, Protocol, TypeVar, cast

from msgspec import Struct, StructMeta, field

T = TypeVar("T")
P = ParamSpec("P")

Kind = Literal["choice", "switch", "whole", "number", "text", "texts"]

Effect = Literal["now", "next session", "next run", "next start"]
"""When a changed value takes effect.

`now`: from the next request or call of every open session. `next start` of the window: only its language and size.
"""

Tightening = Literal["stricter", "more", "lower", "own"]
"""How a project can change a setting: to a later choice, by adding entries, to a lower number, or to any value."""


class AboutSection(Struct, frozen=True):
    title: str
    text: str


class About(AboutSection, frozen=True, kw_only=True):
    unit: str = ""
    """The unit in which people read and enter the value."""
    per_unit: int = 1
    """The value of one such unit: 1024 for a value in bytes that is entered in KiB."""
    least: float | None = None
    most: float | None = None
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    unset: str = ""
    holds: Literal["", "folders", "file", "address", "model", "keys"] = ""
    """The kind of the setting's texts: `folders` and `file` are relative to the settings file."""
    plain_keys: tuple[str, ...] = ()
    """Keys that are allowed although users type text with them; `keyboard.ANY` allows all."""
    effect: Effect = "now"
    is_advanced: bool = False
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Maps a provider to the environment variable that overrides the file."""
    tightening: Tightening | None = None


class _Declared(Struct, frozen=True):
    default: object
    about: AboutSection


class _SectionMeta(StructMeta):
    about: dict[str, AboutSection]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], *, frozen: bool, kw_only: bool
    ) -> "_SectionMeta":
        declared = {key: value for key, value in namespace.items() if isinstance(value, _Declared)}
        defaults = {key: value.default for key, value in declared.items()}
        made = super().__new__(cls, name, bases, namespace | defaults, frozen=frozen, kw_only=kw_only)
        made.about = {key: value.about for key, value in declared.items()}
        return made


class Section(Struct, metaclass=_SectionMeta, frozen=True, kw_only=True):
    """Settings that belong together, each declared by `setting` or `section`; 30 times faster than a dataclass."""


class _Declaring(Protocol[P]):
    """Takes a default and the arguments of `About`; typed to return the type of the default."""

    def __call__(self, default: T, *args: P.args, **kwargs: P.kwargs) -> T: ...


def _with_default(about: Callable[P, About]) -> _Declaring[P]:
    def declared(default: T, *args: P.args, **kwargs: P.kwargs) -> T:
        return cast("T", _Declared(default, about(*args, **kwargs)))

    return declared


setting = _with_default(About)


def section(kind: Callable[[], T], title: str, text: str) -> T:
    return cast("T", _Declared(field(default_factory=kind), AboutSection(title, text)))


def about_in(section: Section, name: str) -> AboutSection:
    return type(section).about[name]
