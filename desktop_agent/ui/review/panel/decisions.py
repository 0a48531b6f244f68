"""What the user decides in the review, made into ops for the session. Holds nothing that the session should know."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome, LineComment, Reverted, ReviewState
from desktop_agent.core.protocol.ops import Op, WriteFile
from desktop_agent.core.transcript import Transcript, UndoStep
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.net_counts import NetCounts
from desktop_agent.ui.review.conflict.resolution import Purpose, Resolution
from desktop_agent.ui.review.source import GitSource, Spawn


class ReviewOutlets(NamedTuple):
    """What the parts of the review call, so that none of them has to forward for another."""

    submit: Callable[[Op], object]
    """Has the session carry this out."""
    open_file: Callable[[str], object]
    """Opens the file of this path."""
    show_call: Callable[[str], object]
    """Shows the call of this id in the conversation."""
    choose_mode: Callable[[str], object]
    """Shows diffs from now on `side_by_side` or `unified`."""


class ReviewDecisions(QObject):
    """Turns decisions about files and hunks into ops, which `submit` has the session carry out.

    Signals:
        failed: something could not be prepared; says what and why.
    """

    failed = Signal(str)

    def __init__(
        self,
        submit: Callable[[Op], object],
        counts: NetCounts,
        git: GitSource | None,
        spawn: Spawn,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._submit = submit
        self._counts = counts
        self._git = git
        self._spawn = spawn
        self._put_back: list[tuple[WriteFile, ...]] = []
        """What would bring back what was undone against git, the newest last. The ledger knows no selection for it."""

    def forget(self) -> None:
        """Another session is shown: what was undone in the one before cannot be redone from here."""
        self._put_back.clear()

    # -- keep --

    def mark(self, file: ChangedFile, keys: Sequence[HunkKey], state: ReviewState) -> None:
        """Keep these hunks of the file, or make them undecided again."""
        from desktop_agent.core.protocol.ops import MarkReviewed

        if keys:
            self._submit(MarkReviewed(path=file.path, hunks=tuple(keys), state=state))

    def mark_files(self, files: Sequence[ChangedFile], state: ReviewState) -> None:
        """Keep what is not undone of these files, or make it undecided again. Compares those that were not yet."""
        self._spawn(self._mark_files(tuple(files), state))

    async def _mark_files(self, files: Sequence[ChangedFile], state: ReviewState) -> None:
        for file in files:
            try:
                compared = await self._counts.compared(file)
            except AgentError as error:
                if isValid(self):
                    self.failed.emit(f"{file.path}: {error.title}")
                continue
            if not isValid(self):
                return
            self.mark(file, [key for key in compared.keys if key not in compared.undone], state)

    # -- undo and redo, in the ledger --

    def undo(self, selection: ChangeSelection, reason: str = "") -> None:
        """Take the selected changes back."""
        from desktop_agent.core.protocol.ops import UndoChanges

        self._submit(UndoChanges(selection=selection, reason=reason))

    def undo_with_care(
        self, transcript: Transcript | None, selection: ChangeSelection, reason: str, parent: QWidget
    ) -> None:
        """Take the selected changes back; if the user keeps some of them, ask first."""
        if transcript is None:
            return
        from desktop_agent.ui.review.panel.kept_question import undo_with_care

        undo_with_care(transcript, selection, lambda chosen: self.undo(chosen, reason), parent)

    def redo(self, selection: ChangeSelection) -> None:
        """Apply the selected undone changes again."""
        from desktop_agent.core.protocol.ops import RedoChanges

        self._submit(RedoChanges(selection=selection))

    def redo_step(self, step: UndoStep) -> None:
        """Take this undo back."""
        from desktop_agent.core.protocol.ops import RedoSteps

        self._submit(RedoSteps(steps=(step.seq,)))

    # -- undo and redo, against git --

    def undo_git(self, folder: str, files: Sequence[ChangedFile], keys: Sequence[HunkKey] = ()) -> None:
        """Make these files as git has them, or only these hunks of one."""
        if self._git is not None:
            self._spawn(self._undo_git(self._git, folder, tuple(files), tuple(keys)))

    def redo_git(self) -> None:
        """Bring back what `undo_git` took last."""
        if self._put_back:
            self._write(self._put_back.pop())

    @property
    def git_redo_count(self) -> int:
        """How many files `redo_git` would write."""
        return len({write.path for write in self._put_back[-1]}) if self._put_back else 0

    async def _undo_git(
        self, git: GitSource, folder: str, files: Sequence[ChangedFile], keys: Sequence[HunkKey]
    ) -> None:
        back: list[WriteFile] = []
        for file in files:
            try:
                revert = await git.revert(folder, file.standing[-1].change, keys)
            except AgentError as error:
                if isValid(self):
                    self.failed.emit(f"{file.path}: {error.title}")
                continue
            if not isValid(self):
                return
            self._write(revert.undo)
            back += revert.redo
        if back:
            self._put_back.append(tuple(back))

    def _write(self, writes: Sequence[WriteFile]) -> None:
        for write in writes:
            self._submit(write)

    # -- clashes, edits and comments --

    def settle(self, transcript: Transcript, resolution: Resolution) -> None:
        """Write what the user made of a clash. With that the undo or redo it comes from is done."""
        self._submit(
            WriteFile(
                path=resolution.path,
                expected=resolution.expected,
                content=resolution.content,
                like=resolution.like,
                purpose=resolution.purpose,
                reverts=_settled(transcript, resolution.outcome, resolution.purpose),
            )
        )

    def save_edit(self, transcript: Transcript, file: ChangedFile, content: bytes) -> None:
        """Write the file as the user edited it in the diff, if it was not changed since."""
        self._submit(WriteFile(path=file.path, expected=newest_digest(transcript, file), content=content))

    def add_comment(self, comment: LineComment) -> None:
        """Collect a remark."""
        from desktop_agent.core.protocol.ops import AddComment

        self._submit(AddComment(comment=comment))

    def remove_comment(self, comment_id: str) -> None:
        """Take a remark back."""
        from desktop_agent.core.protocol.ops import RemoveComment

        self._submit(RemoveComment(comment_id=comment_id))

    def send_comments(self, text: str) -> None:
        """Send all remarks to the agent."""
        from desktop_agent.core.protocol.ops import SendComments

        self._submit(SendComments(text=text))


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


def newest_digest(transcript: Transcript, file: ChangedFile) -> str | None:
    """Return the digest that the file on disk has unless it was changed without a record."""
    if file.is_git:
        after = file.standing[-1].change.after
    else:
        records = [record for record in transcript.changes.values() if record.change.path == file.path]
        after = records[-1].change.after if records else None
        if records and records[-1].is_undone:
            after = records[-1].change.before
    return after.digest if after is not None else None


def last_step(transcript: Transcript | None) -> UndoStep | None:
    """Return the undo that a redo takes back: the last one of which anything still is undone."""
    return transcript.changed.steps[-1] if transcript is not None and transcript.changed.steps else None
