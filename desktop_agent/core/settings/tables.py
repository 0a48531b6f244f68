"""Lists of tables in a settings file, `[[mcp.definitions]]`: found and handed on as they are.

What stands in a table is the business of who reads it: `entry_values` has what readers need.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import cast

from msgspec import Struct

LISTS = frozenset({"mcp.definitions"})
"""The dotted keys of the lists that a settings file may have beside its settings."""


class FoundTable(Struct, frozen=True, kw_only=True):
    """One table of a list, or what stands in the place of one."""

    key: str
    """The dotted key of its list."""
    number: int
    """Counted from 1."""
    value: object
    path: Path
    line: int | None
    """Where it begins in the file; None for one that is written in a line with others."""
    is_project: bool = False
    """Whether a project says it, and not the user."""


def tables_in(key: str, value: object, path: Path, text: str) -> tuple[FoundTable, ...]:
    """Return the tables of the list `key`. Raises `ValueError` for what is no list."""
    if not isinstance(value, list):
        raise ValueError(f"entries must be tables, written as [[{key}]]")  # noqa: TRY004 -- as all mistakes in a file
    lines = _lines(text, key)
    return tuple(
        FoundTable(
            key=key, number=number, value=entry, path=path, line=lines[number - 1] if number <= len(lines) else None
        )
        for number, entry in enumerate(cast("list[object]", value), start=1)
    )


@lru_cache(maxsize=4)
def _lines(text: str, key: str) -> tuple[int, ...]:
    name = r"\s*\.\s*".join(map(re.escape, key.split(".")))
    header = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
    return tuple(number for number, line in enumerate(text.split("\n"), start=1) if header.match(line))
