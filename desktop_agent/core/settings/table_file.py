"""Lists of tables in TOML, `[[rule]]`, in files of their own or in the settings. Editing keeps everything else.

The functions `…_in` return validated values of one table, and raise `ValueError`.
"""

import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import CredentialsError, StorageError, UsageError
from desktop_agent.core.base.secrets import Keyring, keep_all
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


class _Named(Protocol):
    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=_Named)


class NamedTables(Struct, frozen=True, kw_only=True):
    """A list of settings files, `[[agents]]`, whose tables each define something that has a name."""

    key: str
    noun: str
    command: str
    """The command that adds and removes them."""

    def read(
        self, tables: Iterable[FoundTable], read: Callable[[FoundTable], D]
    ) -> tuple[tuple[D, ...], tuple[FileProblem, ...]]:
        """Return what the usable tables define, and the problems of the others. Only the first with a name counts."""
        found: dict[str, D] = {}
        problems: list[FileProblem] = []
        for table in tables:
            if table.key != self.key:
                continue
            try:
                made = read(table)
            except ValueError as error:
                problems.append(table.problem(str(error)))
                continue
            if found.setdefault(made.name, made) is not made:
                message = f"there is another {self.noun} named {made.name!r}; only the first counts"
                problems.append(table.problem(message))
        return tuple(found.values()), tuple(problems)

    def add(
        self,
        path: Path,
        new: Collection[tuple[Mapping[str, object], Mapping[str, str]]],
        keyring: Keyring,
        keep_others: Callable[[], None] = lambda: None,
    ) -> tuple[tuple[str, str], ...]:
        """Add tables to the settings file, and the secrets of each, by their entries, to the keyring. Blocks.

        Tables whose secrets the keyring refuses are left out and returned, by name with the reason; if it refuses all,
        this raises. `keep_others` is called when it is certain that they can be added. Raises `UsageError` for a name
        that exists or a broken file, `CredentialsError` and `StorageError`; nothing is added then.
        """
        refused: dict[str, CredentialsError] = {}

        def change(entries: TableList) -> None:
            for table, _ in new:
                if _place_of(entries, name := str(table["name"])) is not None:
                    hint = f"Remove it first: `desktop-agent {self.command} remove {name}`."
                    raise UsageError(f"There is {_with_article(self.noun)} named {name!r} already.", hint=hint)
            keep_others()
            for table, secrets in new:
                try:
                    keep_all(keyring, secrets)
                except CredentialsError as error:
                    refused[str(table["name"])] = error
                    if len(refused) == len(new):
                        raise
                else:
                    entries.append(table, is_spaced=True)

        self._change_list(path, change)
        return tuple((name, error.title) for name, error in refused.items())

    def remove(self, path: Path, name: str) -> Mapping[str, object]:
        """Remove a table and return it. Blocks. Raises `UsageError`, `StorageError`."""
        removed: list[Mapping[str, object]] = []

        def change(entries: TableList) -> None:
            place = self._required(entries, name)
            removed.append(entries.plain()[place])
            entries.remove(place)

        self._change_list(path, change)
        return removed[0]

    def change(
        self, path: Path, name: str, change: Callable[[Mapping[str, object]], Mapping[str, object | None]]
    ) -> None:
        """Set the values that `change` returns; `None` removes one. Blocks. Raises `UsageError`, `StorageError`."""

        def change_one(entries: TableList) -> None:
            place = self._required(entries, name)
            entries.update(place, change(entries.plain()[place]))

        self._change_list(path, change_one)

    def replace(
        self,
        path: Path,
        new: tuple[Mapping[str, object], Mapping[str, str]],
        keyring: Keyring,
        entries_of: Callable[[object], Collection[str]],
    ) -> None:
        """Replace the table with the same name, and keep its secrets. Blocks. Raises like `add`.

        Secrets that it names without a value stay in the keyring; those that only the old one has are forgotten.
        `entries_of` returns the entries of a table's secrets, or raises `ValueError`.
        """
        table, secrets = new

        def change(before: Mapping[str, object]) -> dict[str, object | None]:
            keep_all(keyring, secrets)
            with suppress(ValueError):  # what was there could not be read
                for entry in set(entries_of(dict(before))).difference(entries_of(table)):
                    keyring.delete(entry)
            return {key: table.get(key) for key in {**before, **table}}

        self.change(path, str(table["name"]), change)

    def _change_list(self, path: Path, change: Callable[[TableList], None]) -> None:
        from desktop_agent.core.settings.settings_file import change_tables  # its parser takes a while to import

        change_tables(path, self.key, lambda tables: change(TableList(tables)))

    def _required(self, entries: TableList, name: str) -> int:
        place = _place_of(entries, name)
        if place is None:
            known = [str(entry.get("name")) for entry in entries.plain()]
            none = f"None is defined: `desktop-agent {self.command} add` defines one."
            hint = f"Available: {', '.join(known)}." if known else none
            raise UsageError(f"There is no {self.noun} named {name!r} in your settings.", hint=hint)
        return place


def _place_of(entries: TableList, name: str) -> int | None:
    return entries.find(lambda entry: entry.get("name") == name)


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


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


def words_in(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return arguments: a list of texts, or one text that is split as a shell does."""
    value = values.get(key, [])
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ValueError(f"{key} must be a list or string")
    return tuple(cast("list[str]", value))


def pairs_in(values: Mapping[str, object], key: str) -> dict[str, str]:
    """Return variables or headers: a table, a list of tables (also with `name` and `value`), or a list of KEY=VALUE."""
    value = values.get(key, {})
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    found: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, str):
            name, sign, text = entry.partition("=")
            if not sign or not name:
                raise ValueError("env entries provided as strings must be KEY=VALUE")
            found[name] = text
        elif isinstance(entry, dict):
            found |= _texts(cast("dict[str, object]", entry))
        else:
            raise ValueError("env must be a table, a list of tables or of KEY=VALUE")
    return found


def _texts(entry: Mapping[str, object]) -> dict[str, str]:
    if set(entry) == {"name", "value"}:  # as lists of tables are often written
        entry = {str(entry["name"]): entry["value"]}
    if wrong := next((key for key, text in entry.items() if not isinstance(text, str)), None):
        raise ValueError(f"the value of {wrong} must be a text")
    return cast("dict[str, str]", dict(entry))


def unusual(values: Struct, usual: Struct) -> dict[str, object]:
    """Return what differs from `usual`, as values of a table."""
    found = {field: value for field, value in asdict(values).items() if value != getattr(usual, field)}
    return {field: list(cast("tuple[object, ...]", v)) if isinstance(v, tuple) else v for field, v in found.items()}


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
