"""Writes a setting to its TOML file and keeps everything else: comments, order, unknown keys."""

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

from desktop_agent.core.base.errors import StorageError, UsageError, storage_error
from desktop_agent.core.settings.loading import LARGEST_BYTES, read_plain, with_last_line_ended
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

_Section = AbstractTable | OutOfOrderTableProxy

_FIRST_LINES = b"""\
# The settings of Desktop Agent. `desktop-agent config show` lists all there are.
# What is saved here holds at once.
"""


def begin_settings_file(path: Path) -> None:
    """Create the settings file, or begin an empty one. Blocks, but never on a pipe. Raises `StorageError`."""
    hint = "Move away what is there, and try again."
    with storage_error("The settings file could not be made.", hint=hint, path=path):
        make_private_folder(path.parent)
        if not _content_of(path):
            write_atomically(path, _FIRST_LINES, mode=PRIVATE_FILE)


def save_setting(path: Path, key: str, value: object) -> None:
    """Set the dotted `key` in the file, which is created if needed. Blocks; `value` must have been validated.

    Raises `UsageError` when the file is not valid TOML or cannot hold the value, which leaves the file unchanged, and
    `StorageError` when it cannot be read or written.
    """
    file = _Edited(path)
    written = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
    try:
        section, name = file.place_of(key)
        section[name] = written
    except ValueError as error:  # a section in braces can hold no other
        raise file.unsuitable(key) from error
    file.write(key, written)


def remove_setting(path: Path, key: str) -> None:
    """Remove the dotted `key` from the file, if it is there. Blocks. Raises like `save_setting`."""
    file = _Edited(path)
    try:
        section, name = file.place_of(key)
    except ValueError:  # there can be no such section, so there is nothing to remove
        return
    if name in section:
        del section[name]
        file.write(key, None)


def change_tables(
    path: Path, key: str, change: Callable[[AoT], None], *, called: str = "settings file", mode: int | None = None
) -> None:
    """Let `change` edit the list of tables `key` in the file. Blocks. Raises like `save_setting` and `change`."""
    file = _Edited(path, called, mode)
    section, name = file.place_of(key)
    if name not in section or section[name] == []:  # an empty list is a plain value, to which no table can be added
        section[name] = tomlkit.aot()
    tables = section[name]
    if not isinstance(tables, AoT):
        raise UsageError(f"{key} is not written as [[{key}]] in the {called}.", hint=f"Fix {path} first.")
    change(tables)
    expected = tables.unwrap()
    if not tables:
        del section[name]
    file.write(key, expected)


class _Edited:
    def __init__(self, path: Path, called: str = "settings file", mode: int | None = None) -> None:
        """A new file gets the permissions `mode`, an existing one keeps its own. Raises like `save_setting`."""
        self._path, self._called, self._mode = path, called, mode
        try:
            # As bytes: whatever ends the lines must end them afterwards.
            content = with_last_line_ended(_content_of(path))
            self._mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
            self._document = tomlkit.parse(content.removeprefix(self._mark).decode())
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"The {called} cannot be read.", detail=f"{path}: {error}") from error
        except TOMLKitError as error:
            title = f"The {called} is not valid TOML, so nothing was saved."
            raise UsageError(title, hint=f"Fix {path} first.", detail=str(error)) from error

    def place_of(self, key: str) -> tuple[_Section | TOMLDocument, str]:
        *sections, name = key.split(".")
        table: _Section | TOMLDocument = self._document
        for section in sections:
            if section not in table:
                table[section] = tomlkit.table()
            inner = table[section]
            if not isinstance(inner, AbstractTable | OutOfOrderTableProxy):
                raise UsageError(f"{section} is not a section in the {self._called}.", hint=f"Fix {self._path} first.")
            table = inner
        return table, name

    def write(self, key: str, value: object) -> None:
        """Write the file, but only if its new text has `value` at `key` when parsed again. `None` means no value."""
        try:
            content = tomlkit.dumps(self._document).encode()
            if (_value_in(content, key) or None) != (value or None):
                raise self.unsuitable(key)
            make_private_folder(self._path.parent)
            mode = self._mode if self._path.exists() else PRIVATE_FILE
            write_atomically(self._path, self._mark + content, mode=mode)
        except OSError as error:
            raise StorageError(f"The {self._called} could not be saved.", detail=f"{self._path}: {error}") from error
        except UnicodeEncodeError as error:
            wrong = repr(error.object[error.start : error.end])
            title = f"The {self._called} is UTF-8, which cannot hold {wrong}, so nothing was saved."
            raise UsageError(title) from error

    def unsuitable(self, key: str) -> UsageError:
        title = f"{key} cannot be changed in the {self._called} as it is written there, so nothing was saved."
        hint = f"Write each section of {self._path} once, in lines below its [name], and try again."
        return UsageError(title, hint=hint)


def _content_of(path: Path) -> bytes:
    try:
        return read_plain(path, LARGEST_BYTES)
    except FileNotFoundError:
        return b""


def _value_in(content: bytes, key: str) -> object:
    try:
        found: object = tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError:
        return None
    for name in key.split("."):
        found = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
    return found
