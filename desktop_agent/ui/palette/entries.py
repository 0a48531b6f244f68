"""What the palette offers, and what is asked of it: data without widgets."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from desktop_agent.core.base.matching import Span

EntryKind = Literal["action", "setting", "command", "session", "file", "key"]

Scope = Literal["all", "action", "setting", "command", "session", "file", "key"]
"""What is searched: everything but the keys, or one kind."""

PREFIXES: Final[Mapping[str, Scope]] = {">": "action", "@": "session", "/": "command", ",": "setting", "?": "key"}
"""What may stand before what is typed, to search one kind only."""


class PaletteEntry(Struct, frozen=True, kw_only=True):
    """One thing that can be chosen, or a key to be read about."""

    kind: EntryKind
    key: str
    """By which the application knows it: the name of an action, a command or a setting, a session's id, a path."""
    title: str
    group: str = ""
    """Stands behind the title: the folder of a file or session, the section of a setting, what a command does."""
    also: str = ""
    """By which it is found, too, without being shown."""
    keys: str = ""
    """The keys that do the same, as this system writes them."""
    is_choice: bool = True
    """Whether it can be chosen; else it is only read."""


class PaletteQuery(Struct, frozen=True):
    """What the user typed, and in what it is searched for."""

    scope: Scope
    text: str


class PaletteRow(Struct, frozen=True, kw_only=True):
    """One line of the list: an entry with what is emphasised in it, or a heading or note, which is only `text`."""

    text: str = ""
    is_note: bool = False
    entry: PaletteEntry | None = None
    title_spans: tuple[Span, ...] = ()
    group_spans: tuple[Span, ...] = ()
    has_group: bool = True
    """Whether the group is shown; not below a heading that says it."""

    @property
    def is_choice(self) -> bool:
        """Whether Enter does something here."""
        return self.entry is not None and self.entry.is_choice


def query_of(typed: str, base: Scope) -> PaletteQuery:
    """Return what is asked with this in the field of a palette that was opened for `base`."""
    scope = PREFIXES.get(typed[:1])
    return PaletteQuery(base, typed.strip()) if scope is None else PaletteQuery(scope, typed[1:].strip())
