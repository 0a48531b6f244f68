"""What the user decides in the review, where it takes more than one op. Holds nothing that the session should know."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome, Reverted, ReviewState
from desktop_agent.core.protocol.ops import MarkReviewed, Op, UndoChanges, WriteFile
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.net_counts import NetCounts
from desktop_agent.ui.review.conflict.resolution import Purpose, Resolution
from desktop_agent.ui.review.source import GitSource, Spawn, Submit
from desktop_agent.ui.translation.core_words import core_words


class ReviewOutlets(NamedTuple):
    """What the parts of the review call, so that none of them has to forward for another."""

    open_file: Callable[[str], object]
    """Opens the file of this path."""
    show_call: Callable[[str], object]
    """Shows the call of this id in the conversation."""
    choose_mode: Callable[[str], object]
    """Shows diffs from now on `side_by_side` or `unified`."""


class ReviewDecisions(QObject):
    """Turns decisions about files into ops, after comparing, asking git or asking the user where that is needed.

    Signals:
        problem: something could not be prepared; says what and why. Empty when something new is tried.
    """

    problem = Signal(str)

    def __init__(self, counts: NetCounts, git: GitSource | None, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.submit: Submit = _drop
        self._counts = counts
        self._git = git
        self._spawn = spawn
        self._put_back: list[tuple[WriteFile, ...]] = []
        """What would bring back what was undone against git, the newest last. The ledger knows no selection for it."""

    def set_session(self, submit: Submit) -> None:
        """Ask another session from now on: what was undone in the one before cannot be redone from here."""
        self.submit = submit
        self._put_back.clear()

    def mark_files(self, files: Sequence[ChangedFile], state: ReviewState) -> None:
        """Keep what is not undone of these files, or make it undecided again. Compares those that were not yet."""
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

    def undo_with_care(self, transcript: Transcript, selection: ChangeSelection, reason: str, parent: QWidget) -> None:
        """Take the selected changes back; if the user keeps some of them, ask first."""
        from desktop_agent.ui.review.panel.kept_question import undo_with_care

        def undo(chosen: ChangeSelection) -> None:
            self.submit(UndoChanges(selection=chosen, reason=reason))

        undo_with_care(transcript, selection, undo, parent)

    def settle(self, transcript: Transcript, resolution: Resolution) -> None:
        """Write what the user made of a clash. With that the undo or redo it comes from is done."""
        self.submit(
            WriteFile(
                path=resolution.path,
                expected=resolution.expected,
                content=resolution.content,
                like=resolution.like,
                purpose=resolution.purpose,
                reverts=_settled(transcript, resolution.outcome, resolution.purpose),
            )
        )

    # -- against git --

    def undo_git(self, folder: str, files: Sequence[ChangedFile], keys: Sequence[HunkKey] = ()) -> None:
        """Make these files as git has them, or only these hunks of one."""
        if self._git is not None:
            self._spawn(self._undo_git(self.submit, self._git, folder, tuple(files), tuple(keys)))

    def redo_git(self) -> None:
        """Bring back what `undo_git` took last."""
        for write in self._put_back.pop() if self._put_back else ():
            self.submit(write)

    @property
    def git_redo_count(self) -> int:
        """How many files `redo_git` would write."""
        return len({write.path for write in self._put_back[-1]}) if self._put_back else 0

    async def _undo_git(
        self, submit: Submit, git: GitSource, folder: str, files: Sequence[ChangedFile], keys: Sequence[HunkKey]
    ) -> None:
        back: list[WriteFile] = []
        for file in files:
            try:
                revert = await git.revert(folder, file.standing[-1].change, keys)
            except AgentError as error:
                if isValid(self):
                    self.problem.emit(f"{file.path}: {core_words(error.title)}")
                continue
            if not isValid(self):
                return
            for write in revert.undo:
                submit(write)
            back += revert.redo
        if back and submit == self.submit:  # else another session is reviewed by now
            self._put_back.append(tuple(back))


def _settled(transcript: Transcript, outcome: FileOutcome, purpose: Purpose) -> tuple[Reverted, ...]:
    """Return what is undone of the changes that `outcome` is about, once it has come about after all."""
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
    """No session is reviewed yet."""
