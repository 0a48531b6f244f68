"""Decisions in the review that take more than one op. It holds no state that the session should know."""

from collections.abc import Collection, Sequence
from copy import copy

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import (
    Author,
    ChangeSelection,
    CommittedFile,
    FileOutcome,
    Reverted,
    ReviewState,
    Share,
)
from desktop_agent.core.protocol.ops import MarkReviewed, Op, UndoChanges, UndoDifferences, WriteFile
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.conflict.clash_words import Purpose, Resolution
from desktop_agent.ui.review.diff_source import DiffSource, GitSource, Spawn, Submit
from desktop_agent.ui.review.reviewed_changes import NetCounts, Reviewed
from desktop_agent.ui.review.undo_question import Owned, UndoWithCare, ask_about_others, owned_by_records
from desktop_agent.ui.translation.core_words import core_words


class ReviewDecisions(QObject):
    """Turns decisions about files into ops, after a comparison, a request to git or a question to the user
    if needed.
    """

    problem = Signal(str)  # what could not be prepared and why; empty when something new is tried

    def __init__(
        self,
        reviewed: Reviewed,
        counts: NetCounts,
        source: DiffSource,
        git: GitSource | None,
        spawn: Spawn,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.submit: Submit = _drop
        self._reviewed = reviewed
        self._counts = counts
        self._source = source
        self._git = git
        self._spawn = spawn
        self._parent = parent

    def mark_files(self, files: Sequence[ChangedFile], state: ReviewState) -> None:
        """Set whether the hunks of these files that are in force are kept or undecided. Compares the files first if
        needed.
        """
        self._spawn(self._mark_files(self.submit, tuple(files), state))

    async def _mark_files(self, submit: Submit, files: Sequence[ChangedFile], state: ReviewState) -> None:
        for file in files:
            try:
                compared = await self._counts.compared(file)
            except AgentError as error:
                if isValid(self):
                    self.problem.emit(f"{file.path}: {core_words(error.title)}")
                continue
            if not isValid(self):
                return
            if keys := tuple(key for key in compared.keys if key not in compared.undone):
                submit(MarkReviewed(path=file.path, hunks=keys, state=state))

    def undo(self, selection: ChangeSelection, reason: str = "") -> None:
        """Undo the selected changes; if the user decided to keep some of them, ask first."""
        transcript = self._reviewed.transcript
        UndoWithCare(transcript, self._source, self._spawn, self.submit, self._parent).undo(selection, reason)

    def undo_file(
        self,
        file: ChangedFile,
        *,
        keys: Sequence[HunkKey] = (),
        authors: Collection[Author] = (),
        reason: str = "",
    ) -> None:
        """Undo the session's changes in a file, or these hunks; ask first if some may not be the agent's.

        `authors` are the authors of the hunks if several changed the file.
        """
        selection = self._reviewed.selection_of_file(file, keys)
        standing = [record for record in file.standing if not record.is_undone]
        if keys and authors and "unknown" not in authors:
            standing = [record for record in standing if record.change.owner != "unknown"]
        if all(record.change.owner == "agent" for record in standing):
            if keys:
                self.submit(UndoChanges(selection=selection, reason=reason))
            else:
                self.undo(selection, reason)
            return

        def undo(includes_others: bool) -> None:
            meant = [record.change for record in standing if includes_others or record.change.owner == "agent"]
            chosen = replace(selection, change_ids=tuple(change.id for change in meant))
            if not keys:
                chosen = ChangeSelection(change_ids=chosen.change_ids)
            self.submit(UndoChanges(selection=chosen, reason=reason, includes_others=includes_others))

        ask_about_others([owned_by_records(file.path, standing)], self._parent, undo, can_part=not keys)

    def settle(self, resolution: Resolution) -> None:
        """Write the user's resolution of a conflict. That completes the undo or redo it came from."""
        self.submit(
            WriteFile(
                path=resolution.path,
                expected=resolution.expected,
                content=resolution.content,
                like=resolution.like,
                purpose=resolution.purpose,
                reverts=_settled(self._reviewed.transcript, resolution.outcome, resolution.purpose),
            )
        )

    # -- against git --

    def undo_git(self, files: Sequence[ChangedFile], *, keys: Sequence[HunkKey] = (), reason: str = "") -> None:
        """Restore git's version of these files, or of these hunks of one; ask first if some changes are not the
        agent's.
        """
        if self._git is not None:
            self._spawn(self._undo_git(self._git, tuple(files), tuple(keys), reason))

    async def _undo_git(
        self, git: GitSource, files: Sequence[ChangedFile], keys: Sequence[HunkKey], reason: str
    ) -> None:
        submit, transcript = self.submit, self._reviewed.transcript
        folder = transcript.session.workspace
        others = await self._source.left_by_others(folder, transcript.session.session_id)
        found: list[tuple[CommittedFile, Owned]] = []
        by_path: dict[str, list[ChangeRecord]] = {}
        for record in transcript.changes.values():
            by_path.setdefault(record.change.path, []).append(record)
        for file in files:
            change = file.standing[-1].change
            moved = by_path.get(change.moved_from, ()) if change.moved_from else ()
            records = [copy(record) for record in (*moved, *by_path.get(file.path, ()))]
            try:
                committed = await git.committed(folder, change)
                theirs = others.get(file.path, ())
                is_others = change.after is not None and change.after.digest in theirs
                shares = (Share("other_session" if is_others else "person", change.added, change.removed),)
                if records or keys:
                    shares = await self._source.shares(folder, committed, records, keys, by_others=theirs)
            except AgentError as error:
                if isValid(self):
                    self.problem.emit(f"{file.path}: {core_words(error.title)}")
                continue
            found.append((committed, Owned(file.path, shares)))
        if not found or not isValid(self._parent):
            return

        def undo(includes_others: bool) -> None:
            chosen = tuple(file for file, owned in found if includes_others or owned.has_agents)
            submit(UndoDifferences(files=chosen, hunks=tuple(keys), includes_others=includes_others, reason=reason))

        ask_about_others([owned for _, owned in found], self._parent, undo, can_part=not keys)


def _settled(transcript: Transcript, outcome: FileOutcome, purpose: Purpose) -> tuple[Reverted, ...]:
    if outcome.reverts:
        return outcome.reverts
    hunks = frozenset(outcome.hunks)
    reverts: list[Reverted] = []
    for change_id in outcome.change_ids:
        record = transcript.changes.get(change_id)
        before = record.undone_hunks if record is not None else frozenset[str]()
        undone = before | hunks if purpose == "undo" else before - hunks
        reverts.append(Reverted(change_id=change_id, hunks=tuple(sorted(undone)) if hunks else ()))
    return tuple(reverts)


def _drop(_op: Op) -> None:
    """Ignore the op: no session is under review yet."""
