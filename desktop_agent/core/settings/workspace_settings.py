"""The settings in force in one folder: the user's, tightened by what the project says and the user trusted."""

import asyncio
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_stamp import FileStamp, is_unchanged, stamp_of
from desktop_agent.core.settings import FileProblem, LoadedSettings, Settings
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import FileText, parse_file
from desktop_agent.core.settings.project import (
    PROJECT_FILE,
    PROJECT_FOLDER,
    ProjectProposal,
    proposal_of,
    read_project,
)
from desktop_agent.core.settings.project_trust import Answer, ProjectTrust, Trust


class _Project(Struct, frozen=True):
    """What stands in a project's file, and what the user said to it."""

    file: FileText | None = None
    trust: Trust = field(default_factory=Trust)
    stamps: tuple[FileStamp | None, FileStamp | None] = (None, None)


class WorkspaceSettings:
    """The settings in force in one folder: the user's, tightened by the project's file as far as it is trusted."""

    def __init__(self, live: LiveSettings, root: Path, trust: ProjectTrust) -> None:
        """Touches no disk: before the first `refresh` the user's settings hold."""
        self.live = live
        self.root = root
        """The folder."""
        self._trust = trust
        self._project = _Project()
        self._goes_on = False
        self._combined: tuple[LoadedSettings, _Project, LoadedSettings] | None = None

    @property
    def current(self) -> Settings:
        """The settings in force here."""
        return self.loaded.settings

    @property
    def loaded(self) -> LoadedSettings:
        """The settings in force here, with what is wrong in the files that count and where each value comes from."""
        user_loaded, project = self.live.loaded, self._project
        if self._combined is None or self._combined[0] is not user_loaded or self._combined[1] is not project:
            self._combined = (user_loaded, project, self._combine(user_loaded))
        return self._combined[2]

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run here: what safety depends on cannot be read, and no earlier values can stand in."""
        return (*self.live.faults, *(() if self._goes_on else self._own_faults()))

    def go_on(self) -> None:
        """Put in force what can be read, and defaults for the rest. Only the user decides that."""
        self._goes_on = True
        self.live.go_on()

    @property
    def proposal(self) -> ProjectProposal | None:
        """What the project's file would change, whether it is trusted or not; None when there is no such file."""
        file = self._project.file
        return proposal_of(file, self.live.current) if file is not None else None

    @property
    def answer(self) -> Answer | None:
        """What the user said to the file as it is now; None when they have not been asked."""
        return self._project.trust.answer_to(self._project.file.text) if self._project.file is not None else None

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to decide: a file that says something, and no answer to it."""
        proposal = self.proposal
        return (
            proposal is not None
            and self.answer is None
            and bool(proposal.changes or proposal.problems or proposal.tables)
        )

    async def refresh(self) -> None:
        """Look whether the user's or the project's file changed, and read what did."""
        await self.live.refresh()
        await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read the project's file and the answer about it again, if they changed. Blocks."""
        stamps = (stamp_of(self.root / PROJECT_FOLDER / PROJECT_FILE), stamp_of(self._trust.path_for(self.root)))
        if stamps == (None, None) or all(map(is_unchanged, stamps, self._project.stamps)):
            if stamps == (None, None) and self._project.stamps != stamps:
                self._project = _Project()
            return
        trust = self._trust.read(self.root)
        if trust.is_broken and not self._project.trust.is_broken and self._project.trust.answer is not None:
            trust = self._project.trust  # what was answered holds on
        self._project = _Project(read_project(self.root), trust, stamps)

    def remember(self, answer: Answer, text: str) -> None:
        """Keep what the user said to the file whose content is `text`. Blocks.

        Raises `UsageError` for trust in a file with a mistake that safety depends on, and `StorageError`.
        """
        if answer == "trusted" and (file := self._project.file) is not None:
            found = proposal_of(parse_file(file.path, text), self.live.current)
            if faults := [problem for problem in found.problems if problem.is_fault]:
                raise UsageError(
                    "The project's settings have a mistake, so they cannot be trusted as they are.",
                    hint=f"Mend {file.path} first, or ignore it.",
                    detail="\n".join(map(str, faults)),
                )
        self._trust.remember(self.root, text, answer)
        self.look()

    def _own_faults(self) -> tuple[FileProblem, ...]:
        """What is wrong with what was trusted, or with the record of the answer."""
        file, trust = self._project.file, self._project.trust
        if trust.is_broken and file is not None:
            message = "cannot be read: it says whether the project's settings are trusted; answer anew, or remove it"
            return (FileProblem(self._trust.path_for(self.root), "", message, is_fault=True),)
        if file is None or not trust.text or trust.answer_to(file.text) == "ignored":
            return ()
        proposal = proposal_of(parse_file(file.path, trust.text), self.live.current)
        return tuple(problem for problem in proposal.problems if problem.is_fault)

    def _combine(self, user_loaded: LoadedSettings) -> LoadedSettings:
        """Return the user's settings as the project tightens them.

        A file that changed since it was trusted counts as it was then, until the user has looked at it.
        """
        file, trust = self._project.file, self._project.trust
        if file is None or not trust.text or trust.answer_to(file.text) == "ignored":
            return user_loaded
        proposal = proposal_of(parse_file(file.path, trust.text), user_loaded.settings)
        return LoadedSettings(
            proposal.applied_to(user_loaded.settings),
            (*user_loaded.problems, *(proposal.problems if trust.answer_to(file.text) else ())),
            {**user_loaded.sources, **proposal.sources},
            (*user_loaded.tables, *proposal.tables),
        )
