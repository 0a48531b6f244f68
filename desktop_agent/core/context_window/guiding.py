"""Guidance kept up: AGENTS.md files read again when a turn begins, and found when the agent comes into a folder."""

import asyncio

from msgspec import Struct, field

from desktop_agent.core.context.guidance import GuidanceProblem, GuidanceReader
from desktop_agent.core.context.history import History
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import GuidanceFile
from desktop_agent.core.transcript import Transcript

_PATH_ARGUMENTS = ("path", "file_path", "target_directory", "cwd", "source_path", "dest_path")
"""What the tools call the file or folder that they are about."""


class Guiding(Struct, kw_only=True, eq=False):
    """Looks where the agent goes, and puts on record which AGENTS.md files hold."""

    reader: GuidanceReader
    history: History
    transcript: Transcript
    log: EventLog
    _reported: set[GuidanceProblem] = field(default_factory=set[GuidanceProblem])

    async def refresh(self, *, is_turn_start: bool) -> None:
        """Record what holds now, if that is not what the journal says. Cheap when the last calls were about no file."""
        touched = self._touched()
        if not touched and not is_turn_start:
            return
        known = [file.path.rpartition("/")[0] for file in self.history.guidance if file.scope == "folder"]
        files, problems = await asyncio.to_thread(self._read, known, touched)
        if set(files) != set(self.history.guidance):
            await self.log.record(ev.GuidanceLoaded(files=files))
        for problem in problems:
            if problem not in self._reported:
                self._reported.add(problem)
                title = f"{problem.path} was not used as it is: {problem.reason}."
                await self.log.record(ev.Notice(level="warning", code="guidance", title=title))

    def _touched(self) -> list[str]:
        """The files and folders that the last message of the model was about."""
        touched: dict[str, None] = {}
        for call in self.history.newest_calls():
            named = (call.arguments.get(name) for name in _PATH_ARGUMENTS)
            touched |= dict.fromkeys(path for path in named if isinstance(path, str))
            if (entry := self.transcript.paged.tool_entry(call.id)) is not None:
                touched |= dict.fromkeys(change.path for change in entry.changes)
        return list(touched)

    def _read(
        self, known: list[str], touched: list[str]
    ) -> tuple[tuple[GuidanceFile, ...], tuple[GuidanceProblem, ...]]:
        return self.reader.read(dict.fromkeys([*known, *self.reader.folders_of(touched)]))
