"""A TOML file that is a list of tables, `[[rule]]`. Reading names every fault; editing keeps everything else.

The functions `…_in` return validated values of one table, and raise `ValueError`.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.settings.loading import FileProblem, FoundTable, read_file, tables_in
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

_LOCK_TIMEOUT_S = 5.0

T = TypeVar("T")


class TableList:
    """The list of tables while the file is edited. Everything else in and around the tables is kept."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables

    def plain(self) -> list[Mapping[str, object]]:
        return cast("list[Mapping[str, object]]", self._tables.unwrap())

    def find(self, is_meant: Callable[[Mapping[str, object]], bool]) -> int | None:
        return next((place for place, values in enumerate(self.plain()) if is_meant(values)), None)

    def append(self, values: Mapping[str, object], *, is_spaced: bool = False) -> None:
        import tomlkit

        table = tomlkit.table()
        for key, value in values.items():
            table.append(key, _written(value))
        if is_spaced:
            table.add(tomlkit.nl())
        self._tables.append(table)

    def update(self, place: int, values: Mapping[str, object]) -> None:
        table, before = self._tables[place], self.plain()[place]
        for key, value in values.items():
            if value is None and key in before:
                table.remove(key)
            elif value is not None and before.get(key) != value:
                table[key] = _written(value)

    def remove(self, place: int) -> None:
        del self._tables[place]

    def drop(self, is_meant: Callable[[Mapping[str, object]], bool]) -> bool:
        places = [place for place, values in enumerate(self.plain()) if is_meant(values)]
        for place in reversed(places):
            self.remove(place)
        return bool(places)


def _written(value: object) -> object:
    import tomlkit

    if not isinstance(value, Mapping):
        return value
    inline = tomlkit.inline_table()
    for key, inner in cast("Mapping[str, object]", value).items():
        inline.append(key, inner)
    return inline


class TableFile:
    """A file of tables of one name. Several processes can change it: each change reads it again."""

    def __init__(self, path: Path, table: str, plural: str) -> None:
        self.path = path
        self._table = table
        self._plural = plural

    def load(
        self,
        read: Callable[[object, Collection[Hashable]], T],
        key_of: Callable[[T], Hashable],
        problem_of: Callable[[FoundTable, str], FileProblem] = lambda entry, why: entry.problem(why, is_fault=True),
    ) -> tuple[tuple[T, ...], tuple[FileProblem, ...]]:
        """Return the results of `read` for usable tables, and the problems of the others. Blocks; never raises.

        `read` gets a table and the keys of the previous ones, and raises `ValueError` with the problem of the table.
        """
        file = read_file(self.path)
        if file.problem is not None:
            message = f"{file.problem.message}; none of the {self._plural} in it count"
            return (), (replace(file.problem, message=message),)
        message = f"{self._plural} are written as [[{self._table}]]"
        refused = {key: f"unknown key; {message}" for key in file.document if key != self._table}
        try:
            entries = tables_in(self._table, file.document.get(self._table, []), self.path, file.text)
        except ValueError:
            entries, refused[self._table] = (), message
        problems = [
            FileProblem(self.path, "", f"{key}: {why}", file.line_of(key), is_fault=True)
            for key, why in refused.items()
        ]
        found: dict[Hashable, T] = {}
        for entry in entries:
            try:
                made = read(entry.value, found)
                found[key_of(made)] = made
            except ValueError as error:
                problems.append(problem_of(entry, str(error)))
        return tuple(found.values()), tuple(problems)

    def remove(self, is_meant: Callable[[Mapping[str, object]], bool]) -> bool:
        """Remove the tables for which `is_meant`; return whether there were any. Blocks. Raises like `change`."""
        found = False

        def take(tables: TableList) -> None:
            nonlocal found
            found = tables.drop(is_meant)

        if self.path.exists():
            self.change(take)
        return found

    def change(self, change: Callable[[TableList], None]) -> None:
        """Read, change and write the list in one step, or not at all. Blocks. Raises `StorageError`, `UsageError`."""
        from filelock import FileLock, Timeout

        from desktop_agent.core.settings.settings_file import change_tables

        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            make_private_folder(self.path.parent)
            with FileLock(lock, timeout=_LOCK_TIMEOUT_S, mode=PRIVATE_FILE):
                change_tables(
                    self.path,
                    self._table,
                    lambda tables: change(TableList(tables)),
                    called=f"file of the {self._plural}",
                    mode=PRIVATE_FILE,
                )
        except Timeout as error:
            raise StorageError(
                f"The {self._plural} are being changed by another process.", hint="Try again."
            ) from error
        except OSError as error:
            raise StorageError(f"The {self._plural} could not be saved.", detail=f"{self.path}: {error}") from error


# ruff: noqa: TRY004 - one kind of error for everything wrong with an entry


def table_of(entry: object, known: Collection[str]) -> Mapping[str, object]:
    """Raise `ValueError` unless `entry` is a table that has only `known` keys."""
    if not isinstance(entry, dict):
        raise ValueError("it is not a table")
    values = cast("dict[str, object]", entry)
    if unknown := sorted(values.keys() - set(known)):
        raise ValueError(f"{unknown[0]!r} is not known")  # it may have been meant to narrow the entry down
    return values


def text_in(values: Mapping[str, object], key: str, *, is_needed: bool = False) -> str:
    value = values.get(key, "")
    if not isinstance(value, str) or (is_needed and not value.strip()):
        raise ValueError(f"{key} must be a text" + (" that is not empty" if is_needed else ""))
    return value


def choice_in(values: Mapping[str, object], key: str, known: tuple[str, ...], usual: str | None = None) -> str:
    value = values.get(key, usual)
    if value not in known:
        raise ValueError(f"{key} must be one of {', '.join(known)}")
    return cast("str", value)


def texts_in(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = values.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ValueError(f"{key} must be a list of texts")
    return tuple(cast("list[str]", value))


def flag_in(values: Mapping[str, object], key: str) -> bool:
    value = values.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def time_in(values: Mapping[str, object], key: str) -> datetime | None:
    """A time without a zone is in local time."""
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ValueError(f"{key} must be a date with a time")
    return value if value.tzinfo is not None else value.astimezone()


def optional_flag_in(values: Mapping[str, object], key: str) -> bool | None:
    return flag_in(values, key) if key in values else None


def size_in(values: Mapping[str, object], key: str) -> int | None:
    value = values.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST):
        raise ValueError(f"{key} must be a whole number greater than 0")
    return value


def amount_in(values: Mapping[str, object], key: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"{key} must be a number, 0 or more")
    return float(value)


_MOST = 2**53
"""The largest whole number that every program represents exactly."""
