"""Writing a setting back to its TOML file, with everything else in it as it was: comments, order, unknown keys."""

import codecs
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import cast

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, AoT

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.settings.loading import LARGEST_BYTES, read_plain, with_last_line_ended
from desktop_agent.core.settings.table_file import TableList
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

_Section = AbstractTable | OutOfOrderTableProxy
"""One whose parts stand in several places of the file, others between them, is such a proxy."""


_FIRST_LINES = b"""\
# The settings of Desktop Agent. `desktop-agent config show` lists all there are.
# What is saved here holds at once.
"""


def begin_settings_file(path: Path) -> None:
    """Make the settings file, or begin an empty one. Blocks, but never on a pipe. Raises `StorageError`."""
    try:
        make_private_folder(path.parent)
        if not _content_of(path):
            write_atomically(path, _FIRST_LINES, mode=PRIVATE_FILE)
    except OSError as error:
        hint = "Move away what is there, and try again."
        raise StorageError("The settings file could not be made.", hint=hint, detail=f"{path}: {error}") from error


def save_setting(path: Path, key: str, value: object) -> None:
    """Set the dotted `key` in the file, which is created if need be. Blocks; `value` has been checked before.

    Raises `UsageError` when the file is not valid TOML or the value is no text that a file can hold (then it is left
    alone), and `StorageError` when it cannot be read or written.
    """
    document, mark = _read(path)
    *sections, name = key.split(".")
    table: _Section | TOMLDocument = document
    written = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
    try:
        for section in sections:
            if section not in table:
                table[section] = tomlkit.table()
            table = _inner(table, section, path)
        table[name] = written
    except ValueError as error:  # a section in braces can hold no other
        raise _unsuitable(key, path) from error
    _write(path, document, mark, (key, written))


def remove_setting(path: Path, key: str) -> None:
    """Take the dotted `key` out of the file, if it is there. Blocks. Raises as `save_setting` does."""
    document, mark = _read(path)
    *sections, name = key.split(".")
    table: _Section | TOMLDocument = document
    for section in sections:
        if section not in table:
            return
        table = _inner(table, section, path)
    if name in table:
        del table[name]
        _write(path, document, mark, (key, None))


def change_tables(path: Path, key: str, change: Callable[[TableList], None]) -> None:
    """Let `change` work on the file's list of tables `key`. Blocks. Raises as `save_setting` and `change` do."""
    document, mark = _read(path)
    *sections, name = key.split(".")
    table: _Section | TOMLDocument = document
    for section in sections:
        if section not in table:
            table[section] = tomlkit.table(is_super_table=True)
        table = _inner(table, section, path)
    if name not in table or table[name] == []:
        table[name] = tomlkit.aot()
    tables = table[name]
    if not isinstance(tables, AoT):
        title = f"{key} is not written as [[{key}]] in the settings file."
        raise UsageError(title, hint=f"Mend {path} first.")
    change(TableList(tables))
    expected = tables.unwrap()
    if not tables:
        del table[name]
    _write(path, document, mark, (key, expected))


def _read(path: Path) -> tuple[TOMLDocument, bytes]:
    try:
        # As bytes: whatever ends the lines must end them afterwards.
        content = with_last_line_ended(_content_of(path))
        mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        return tomlkit.parse(content.removeprefix(mark).decode()), mark
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError("The settings file cannot be read.", detail=f"{path}: {error}") from error
    except TOMLKitError as error:
        raise UsageError(
            "The settings file is not valid TOML, so nothing was saved.", hint=f"Mend {path} first.", detail=str(error)
        ) from error


def _content_of(path: Path) -> bytes:
    try:
        return read_plain(path, LARGEST_BYTES)
    except FileNotFoundError:
        return b""


def _inner(table: _Section | TOMLDocument, section: str, path: Path) -> _Section:
    inner = table[section]
    if not isinstance(inner, AbstractTable | OutOfOrderTableProxy):
        raise UsageError(f"{section} is not a section in the settings file.", hint=f"Mend {path} first.")
    return inner


def _write(path: Path, document: TOMLDocument, mark: bytes, changed: tuple[str, object]) -> None:
    """Write the file, once its text was read back and has at the key of `changed` what it should; None for nothing."""
    key, value = changed
    try:
        content = tomlkit.dumps(document).encode()
        if (_value_in(content, key) or None) != (value or None):
            raise _unsuitable(key, path)
        make_private_folder(path.parent)
        mode = None if path.exists() else PRIVATE_FILE
        write_atomically(path, mark + content, mode=mode)
    except OSError as error:
        raise StorageError("The settings could not be saved.", detail=f"{path}: {error}") from error
    except UnicodeEncodeError as error:
        wrong = repr(error.object[error.start : error.end])
        raise UsageError(f"The settings file is UTF-8, which has nothing for {wrong}, so nothing was saved.") from error


def _value_in(content: bytes, key: str) -> object:
    """Return what a reader of the file would find at the dotted key; None for nothing, or where it is no TOML."""
    try:
        found: object = tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError:
        return None
    for name in key.split("."):
        found = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
    return found


def _unsuitable(key: str, path: Path) -> UsageError:
    title = f"{key} cannot be changed in the settings file as it is written there, so nothing was saved."
    return UsageError(title, hint=f"Write each section of {path} once, in lines below its [name], and try again.")
