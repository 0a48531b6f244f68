"""The values of one table of a file, as what they must be. Everything wrong with one is a `ValueError` in words."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import cast

# ruff: noqa: TRY004 - one kind of error for everything wrong with an entry


def table_of(entry: object, known: Collection[str]) -> Mapping[str, object]:
    """Return the entry as a table that has no other keys than those `known`."""
    if not isinstance(entry, dict):
        raise ValueError("it is not a table")
    values = cast("dict[str, object]", entry)
    if unknown := sorted(values.keys() - set(known)):
        raise ValueError(f"{unknown[0]!r} is not known")  # it may have been meant to narrow the entry down
    return values


def text_in(values: Mapping[str, object], key: str, *, is_needed: bool = False) -> str:
    """Return a text; it may be left out unless it `is_needed`."""
    value = values.get(key, "")
    if not isinstance(value, str) or (is_needed and not value.strip()):
        raise ValueError(f"{key} must be a text" + (" that is not empty" if is_needed else ""))
    return value


def choice_in(values: Mapping[str, object], key: str, known: tuple[str, ...], usual: str | None = None) -> str:
    """Return one of the known texts; `usual` is the one that may be left out."""
    value = values.get(key, usual)
    if value not in known:
        raise ValueError(f"{key} must be one of {', '.join(known)}")
    return cast("str", value)


def texts_in(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of texts; it may be left out."""
    value = values.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ValueError(f"{key} must be a list of texts")
    return tuple(cast("list[str]", value))


def flag_in(values: Mapping[str, object], key: str) -> bool:
    """Return true or false; left out, it is false."""
    value = values.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def time_in(values: Mapping[str, object], key: str) -> datetime | None:
    """Return a moment, with its zone; `None` when it is left out."""
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ValueError(f"{key} must be a date with a time")
    return value if value.tzinfo is not None else value.astimezone()


def optional_flag_in(values: Mapping[str, object], key: str) -> bool | None:
    """Return true or false; `None` when it is left out."""
    return flag_in(values, key) if key in values else None


def size_in(values: Mapping[str, object], key: str) -> int | None:
    """Return a whole number that is not 0; `None` when it is left out."""
    value = values.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST):
        raise ValueError(f"{key} must be a whole number greater than 0")
    return value


def amount_in(values: Mapping[str, object], key: str) -> float | None:
    """Return a number of 0 or more; `None` when it is left out."""
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"{key} must be a number, 0 or more")
    return float(value)


_MOST = 2**53
"""Beyond this a number is no longer exact everywhere."""
