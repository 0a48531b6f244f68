"""Keeps the files of instructions in one session up to date: those in force are in the journal."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec import Struct, field

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import named, number_of
from desktop_agent.core.context.history import History
from desktop_agent.core.extensions.instructions import (
    GuidanceProblem,
    InstructionReader,
    OffList,
    is_of_others,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import GuidanceFile
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.transcript import Transcript

_PATH_ARGUMENTS = ("path", "file_path", "target_directory", "cwd", "source_path", "dest_path")
_MOST_NAMED = 4
OFF_KEY = "context.instructions_off"


class Guiding(Struct, kw_only=True, eq=False):
    reader: InstructionReader
    history: History
    transcript: Transcript
    log: EventLog
    settings: Callable[[], Settings]
    change_setting: Callable[[str, object], Awaitable[object]]
    skills: Callable[[int], GuidanceFile | None]
    _unsent: tuple[GuidanceFile, ...] = ()
    """The files that would be in force, had they not been switched off when they were read."""
    _order: tuple[str, ...] = ()
    _is_switched: bool = False
    _reported: set[GuidanceProblem] = field(default_factory=set[GuidanceProblem])

    async def refresh(self, *, is_turn_start: bool, window: int) -> None:
        """Record the files and the list of skills now in force, if the journal has others.

        Cheap when the last calls were about no file. `window` is the model's, in tokens.
        """
        touched = self._touched()
        if not (touched or is_turn_start or self._is_switched):
            return
        self._is_switched = False
        before, off = self.history.fold.guidance, self.settings().context.instructions_off
        known = [file for file in before if file.scope == "folder"]
        found = await asyncio.to_thread(self.reader.read, known, touched, off)
        if new := self.reader.new_entries:
            self.reader.new_entries = {}
            kept = (entry for entry in off if new.keys().isdisjoint(OffList([entry]).paths))
            with suppress(AgentError):  # it is found again until the settings can be written
                await self.change_setting(OFF_KEY, (*kept, *new.values()))
        self._unsent, self._order, files = found.off, found.order, found.files
        if (skills := await asyncio.to_thread(self.skills, window)) is not None:
            if self.reader.off_list(off).has(self.reader.path_of(skills.path)):
                self._unsent = (*self._unsent, skills)
            else:
                files = (*files, skills)
        if set(files) != set(before):
            await self.log.record(ev.GuidanceLoaded(files=files))
            if not any(map(is_of_others, before)):
                await self._tell_of_others([file for file in files if is_of_others(file)])
        for problem in found.problems:
            if problem not in self._reported:
                self._reported.add(problem)
                title = f"{problem.path} was not used, or not in full: {problem.reason}."
                await self.log.record(ev.Notice(level="warning", code="guidance", title=title))

    async def switch(self, op: ops.SwitchGuidance) -> None:
        """Put a file on the list of those that are not sent, or take it off. Raises `AgentError`."""
        path = self.reader.path_of(op.path)
        entries = self.settings().context.instructions_off
        others = tuple(entry for entry in entries if path not in self.reader.off_list([entry]).paths)
        if op.is_on and self.reader.off_list(others).has(path):
            title = f"{named(op.path)} is still not sent, because a glob in {OFF_KEY} covers it."
            await self.log.record(
                ev.Notice(level="warning", code="guidance", title=title, hint="Change the list in the settings.")
            )
        off = () if op.is_on else (await asyncio.to_thread(self.reader.off_entry, path),)
        await self.change_setting(OFF_KEY, (*others, *off))
        self._is_switched = True

    def listed(self) -> list[tuple[GuidanceFile, bool]]:
        """Return what is sent and what would be, in order, and whether each is switched off from now on."""
        off = self.reader.off_list(self.settings().context.instructions_off)
        files = {file.path: file for file in (*self._unsent, *self.history.fold.guidance)}
        places = {path: place for place, path in enumerate(self._order)}
        ordered = sorted(files.values(), key=lambda file: places.get(file.path, len(places)))
        return [(file, off.has(self.reader.path_of(file.path))) for file in ordered]

    async def _tell_of_others(self, files: list[GuidanceFile]) -> None:
        if not files:
            return
        names = [named(file.path) for file in files[:_MOST_NAMED]]
        more = len(files) - len(names)
        listed = ", ".join(names) + (f" and {number_of(more, 'more file')}" if more else "")
        title = f"Instructions written for other agents are used, too: {listed}."
        await self.log.record(
            ev.Notice(level="info", code="guidance", title=title, hint="“What the model sees” has a switch for each.")
        )

    def _touched(self) -> list[str]:
        touched: dict[str, None] = {}
        for call in self.history.newest_calls():
            paths = (call.arguments.get(name) for name in _PATH_ARGUMENTS)
            touched |= dict.fromkeys(path for path in paths if isinstance(path, str))
            if (entry := self.transcript.paged.tool_entry(call.id)) is not None:
                touched |= dict.fromkeys(change.path for change in entry.changes)
        return list(touched)
