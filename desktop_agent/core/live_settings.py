"""The settings in force right now. Everything that acts asks here when it acts, so a change holds from the next step.

`LiveSettings` follows the person's file and changes it; `WorkspaceSettings` adds what a trusted project tightens.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from desktop_agent.core.errors import UsageError
from desktop_agent.core.project_trust import Answer, ProjectTrust, Trust
from desktop_agent.core.settings.loading import (
    FileText,
    LoadedSettings,
    SettingsProblem,
    Source,
    load_settings,
    parse_file,
)
from desktop_agent.core.settings.project import (
    PROJECT_FILE,
    PROJECT_FOLDER,
    ProjectProposal,
    proposal_of,
    read_project,
)
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import absolute, replaced, require_setting, value_of, with_setting
from desktop_agent.core.settings_file import remove_setting, save_setting

Stop = Callable[[], None]
"""Ends a subscription."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """What became of a wish to change one setting."""

    key: str
    before: object
    after: object
    """What holds now: not what was wished for where something goes before the file."""
    is_set: bool
    """Whether the file has it now; otherwise the default holds."""
    overridden_by: Source | None = None
    """The environment variable that goes before the file."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What tells one state of a file from another."""

    modified_ns: int
    size: int
    inode: int


class LiveSettings:
    """The person's settings. Safe to read from any thread; listeners are told on the thread that made the change."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        path: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Touches no disk. Without `path` the settings are `settings`, and changes of them are kept nowhere."""
        self.path = path
        self._environ = environ or {}
        self._loaded = LoadedSettings(settings or Settings(), ())
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stamp: _Stamp | None = None
        self._is_missed = False

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str]) -> "LiveSettings":
        """Return the settings of this file as far as it can be used. Blocks; never raises."""
        live = cls(path=path, environ=environ)
        live._read()
        return live

    @property
    def current(self) -> Settings:
        """The settings in force."""
        return self._loaded.settings

    @property
    def loaded(self) -> LoadedSettings:
        """The settings in force, with what is wrong with the file and where each value comes from."""
        return self._loaded

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """What of the file cannot be used."""
        return self._loaded.problems

    def subscribe(self, listener: Callable[[], None]) -> Stop:
        """Call `listener` after every change of values or problems. Returns what ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    # --- changing ---------------------------------------------------------------------------------------------------

    async def change(self, key: str, value: object) -> SettingChange:
        """Check `value`, write it to the file, comments kept, and let it hold from the next step on.

        None, where a setting may be unset, takes it out of the file. Raises `UsageError` naming the allowed values, or
        when the file is broken, and `StorageError` when it cannot be written: then nothing has changed.
        """
        self._check(key, value)
        return await self._carry_out(key, value)

    async def reset(self, key: str) -> SettingChange:
        """Take a setting out of the file, so that its default holds. Raises as `change` does."""
        require_setting(key)
        return await self._carry_out(key, _DEFAULT)

    def change_now(self, key: str, value: object) -> SettingChange:
        """`change`, for who has no loop. Blocks."""
        self._check(key, value)
        change = self._write(key, value)
        self._tell()
        return change

    def reset_now(self, key: str) -> SettingChange:
        """`reset`, for who has no loop. Blocks."""
        require_setting(key)
        change = self._write(key, _DEFAULT)
        self._tell()
        return change

    def _check(self, key: str, value: object) -> None:
        with_setting(self.current, key, value)
        setting = require_setting(key)
        try:
            absolute(setting, setting.checked(value), self.path.parent if self.path else Path())
        except ValueError as error:
            raise UsageError(f"{key} cannot be {value!r}: {error}.", hint=f"Allowed is {setting.allowed}.") from error

    async def _carry_out(self, key: str, value: object) -> SettingChange:
        change = await asyncio.to_thread(self._write, key, value)
        self._tell()
        return change

    def _write(self, key: str, value: object) -> SettingChange:
        setting = require_setting(key)
        wanted = setting.default if value is _DEFAULT else setting.checked(value)
        is_set = value is not _DEFAULT and wanted is not None
        with self._lock:
            before = value_of(self.current, key)
            if self.path is None:
                self._loaded = LoadedSettings(replaced(self.current, key, wanted), ())
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
                is_set=is_set,
                overridden_by=source if source is not None and source.kind == "environment" else None,
            )

    # --- following the file -----------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read the file again if it changed. A broken one is named in `problems`, and the last good values hold."""
        if self.path is not None and await asyncio.to_thread(self._read_if_changed):
            self._tell()

    def _read_if_changed(self) -> bool:
        assert self.path is not None
        with self._lock:
            stamp = _stamp_of(self.path)
            if stamp == self._stamp:
                self._is_missed = False
                return False
            if (stamp is None or stamp.size == 0) and not self._is_missed:
                # An editor that is just saving: what was blocked must not be free for that moment.
                self._is_missed = True
                return False
            before = self._loaded
            self._read()
            return self._loaded != before

    def _read(self) -> None:
        assert self.path is not None
        self._stamp = _stamp_of(self.path)
        self._is_missed = False
        loaded = load_settings(self.path, self._environ, before=self.current)
        if any(problem.is_about_the_file for problem in loaded.problems):
            loaded = LoadedSettings(loaded.settings, loaded.problems, self._loaded.sources)
        self._loaded = loaded

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()


@dataclass(frozen=True, slots=True)
class _Project:
    """What stands in a project's file, and what the person said to it."""

    file: FileText | None = None
    trust: Trust = field(default_factory=Trust)
    stamps: tuple[_Stamp | None, _Stamp | None] = (None, None)


class WorkspaceSettings:
    """The settings in force in one folder: the person's, tightened by the project's file as far as it is trusted."""

    def __init__(self, live: LiveSettings, root: Path, trust: ProjectTrust) -> None:
        """Touches no disk: before the first `refresh` the person's settings hold."""
        self.live = live
        self._root = root
        self._trust = trust
        self._project = _Project()
        self._combined: tuple[LoadedSettings, _Project, LoadedSettings] | None = None

    @property
    def current(self) -> Settings:
        """The settings in force here."""
        return self.loaded.settings

    @property
    def loaded(self) -> LoadedSettings:
        """The settings in force here, with what is wrong in the files that count and where each value comes from."""
        person, project = self.live.loaded, self._project
        if self._combined is None or self._combined[0] is not person or self._combined[1] is not project:
            self._combined = (person, project, self._combine(person))
        return self._combined[2]

    @property
    def proposal(self) -> ProjectProposal | None:
        """What the project's file would change, whether it is trusted or not; None when there is no such file."""
        file = self._project.file
        return proposal_of(file, self.live.current) if file is not None else None

    @property
    def answer(self) -> Answer | None:
        """What the person said to the file as it is now; None when they have not been asked."""
        return self._project.trust.answer_to(self._project.file.text) if self._project.file is not None else None

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to decide: a file that says something, and no answer to it."""
        proposal = self.proposal
        return proposal is not None and self.answer is None and bool(proposal.changes or proposal.problems)

    async def refresh(self) -> None:
        """Look whether the person's or the project's file changed, and read what did."""
        await self.live.refresh()
        await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read the project's file and the answer about it again, if they changed. Blocks."""
        stamps = (_stamp_of(self._root / PROJECT_FOLDER / PROJECT_FILE), _stamp_of(self._trust.path_for(self._root)))
        if stamps == (None, None) or stamps == self._project.stamps:
            if stamps == (None, None) and self._project.stamps != stamps:
                self._project = _Project()
            return
        self._project = _Project(read_project(self._root), self._trust.read(self._root), stamps)

    def remember(self, answer: Answer, text: str) -> None:
        """Keep what the person said to the file whose content is `text`. Blocks. Raises `StorageError`."""
        self._trust.remember(self._root, text, answer)
        self.look()

    def _combine(self, person: LoadedSettings) -> LoadedSettings:
        """Return the person's settings as the project tightens them.

        A file that changed since it was trusted counts as it was then, until somebody has looked at it.
        """
        file, trust = self._project.file, self._project.trust
        if file is None or not trust.text or trust.answer_to(file.text) == "ignored":
            return person
        proposal = proposal_of(parse_file(file.path, trust.text), person.settings)
        return LoadedSettings(
            proposal.applied_to(person.settings),
            (*person.problems, *(proposal.problems if trust.answer_to(file.text) else ())),
            {**person.sources, **proposal.sources},
        )


_DEFAULT = object()
"""Stands for no value of its own."""


def _stamp_of(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
