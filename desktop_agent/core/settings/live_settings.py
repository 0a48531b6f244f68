"""The settings in force now. Code reads them here when it acts, so a change takes effect from the next step."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.settings.loading import FileProblem, LoadedSettings, SettingSource, load_settings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import absolute, replaced, require_setting, value_of, with_setting
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of

Stop = Callable[[], None]


class SettingChange(Struct, frozen=True):
    key: str
    before: object
    after: object
    was_set: bool
    is_set: bool
    overridden_by: SettingSource | None = None


class LiveSettings:
    """The user's settings. Safe to read from any thread; listeners are called on the thread that made the change."""

    def __init__(
        self, settings: Settings | None = None, *, path: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        """Does not access the disk. Without `path`, changes to `settings` are not saved."""
        self.path = path
        self._environ = environ or {}
        self._loaded = LoadedSettings(settings or Settings(), ())
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stamp: FileStamp | None = None
        self._is_missed = False
        self._has_held = path is None
        """Whether settings without a fault were in force, or the user went on. Then a broken file changes nothing."""

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str]) -> "LiveSettings":
        """Return the usable settings of this file. Blocks; never raises."""
        live = cls(path=path, environ=environ)
        live._read()
        return live

    @property
    def current(self) -> Settings:
        return self._loaded.settings

    @property
    def loaded(self) -> LoadedSettings:
        return self._loaded

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        return self._loaded.problems

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run: safety settings cannot be read, and there are no earlier values to use instead."""
        return () if self._has_held else self._loaded.faults

    def go_on(self) -> None:
        """Use the readable settings, and defaults for the rest. Only the user may decide that."""
        self._has_held = True
        self._tell()

    def subscribe(self, listener: Callable[[], None]) -> Stop:
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    async def change(self, key: str, value: object) -> SettingChange:
        """Validate `value`, write it to the file, keeping comments, and put it in force from the next step on.

        `None` removes an optional setting from the file. Raises `UsageError` for a wrong value or a broken file, and
        `StorageError` when the file cannot be written. In both cases nothing has changed.
        """
        self._check(key, value)
        change = await asyncio.to_thread(self._write, key, value)
        self._tell()
        return change

    async def reset(self, key: str) -> SettingChange:
        return await self.change(key, _DEFAULT)

    def change_now(self, key: str, value: object) -> SettingChange:
        """Like `change`, for callers without an event loop. Blocks."""
        self._check(key, value)
        change = self._write(key, value)
        self._tell()
        return change

    def reset_now(self, key: str) -> SettingChange:
        """Like `reset`, for callers without an event loop. Blocks."""
        return self.change_now(key, _DEFAULT)

    def _check(self, key: str, value: object) -> None:
        setting = require_setting(key)
        if value is _DEFAULT:
            return
        with_setting(self.current, key, value)
        try:
            absolute(setting, setting.checked(value), self.path.parent if self.path else Path())
        except ValueError as error:
            raise UsageError(f"{key} cannot be {value!r}: {error}.", hint=f"Allowed is {setting.allowed}.") from error

    def _write(self, key: str, value: object) -> SettingChange:
        # Imported here: the window reads settings before it is painted, and writes them later.
        from desktop_agent.core.settings.settings_file import remove_setting, save_setting

        setting = require_setting(key)
        wanted = setting.default if value is _DEFAULT else setting.checked(value)
        is_set = value is not _DEFAULT and wanted is not None
        with self._lock:
            before, source = value_of(self.current, key), self._loaded.sources.get(key)
            was_set = source is not None and source.kind == "file"
            if self.path is None:
                self._loaded = LoadedSettings(replaced(self.current, key, wanted), (), tables=self._loaded.tables)
            else:
                if is_set:
                    save_setting(self.path, key, wanted)
                else:
                    remove_setting(self.path, key)
                self._read()
            source = self._loaded.sources.get(key)
            return SettingChange(
                key,
                before,
                value_of(self.current, key),
                was_set=was_set,
                is_set=is_set,
                overridden_by=source if source is not None and source.kind == "environment" else None,
            )

    async def refresh(self) -> None:
        """Read the file again if it changed. Mistakes are in `problems`, and no safety setting becomes looser."""
        if self.path is not None and await asyncio.to_thread(self._read_if_changed):
            self._tell()

    def _read_if_changed(self) -> bool:
        assert self.path is not None
        with self._lock:
            stamp = stamp_of(self.path)
            if is_unchanged(stamp, self._stamp):
                self._is_missed = False
                return False
            if (stamp is None or stamp.size == 0) and not self._is_missed:
                # An editor may be saving right now: what was blocked must not be allowed for that moment.
                self._is_missed = True
                return False
            before = self._loaded
            self._read()
            return self._loaded != before

    def _read(self) -> None:
        assert self.path is not None
        self._stamp = stamp_of(self.path)
        self._is_missed = False
        loaded = load_settings(self.path, self._environ, before=self.current if self._has_held else None)
        if any(problem.is_about_the_file for problem in loaded.problems):
            loaded = LoadedSettings(loaded.settings, loaded.problems, self._loaded.sources, self._loaded.tables)
        self._loaded = loaded
        self._has_held = self._has_held or not loaded.faults

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()


_DEFAULT = object()
