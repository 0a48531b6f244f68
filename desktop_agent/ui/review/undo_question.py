"""Questions before an undo: about hunks that the user decided to keep, and about changes that are not the agent's.

Both are judged by hunk. Each question is answered with one of its buttons; closing it undoes nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import all_keys, edits_by_key
from desktop_agent.core.protocol.model import ChangeSelection, FileDiff, Owner, Share
from desktop_agent.core.protocol.ops import UndoChanges
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo.path_tracking import recorded_of
from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn, Submit
from desktop_agent.ui.translation.core_words import plural
from desktop_agent.ui.widgets.labels import restyle
from desktop_agent.ui.wording.visible_text import visible

_tr = partial(QCoreApplication.translate, "UndoQuestion")

_NAMED_FILES = 3
_OWNERS: tuple[Owner, ...] = ("agent", "person", "unknown", "other_session")


class _Question(QMessageBox):
    def __init__(self, parent: QWidget, text: str, more: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(_tr("Undo"))
        self.setTextFormat(Qt.TextFormat.PlainText)  # names may look like markup
        self.setText(text)
        self.setInformativeText(more)
        self._answers: list[tuple[QPushButton, Callable[[], object]]] = []
        self.finished.connect(self._on_finished)

    def offer(self, words: str, name: str, then: Callable[[], object], *, takes_most: bool = False) -> QPushButton:
        """Add an answer; `takes_most` marks it as the destructive one."""
        role = QMessageBox.ButtonRole.DestructiveRole if takes_most else QMessageBox.ButtonRole.AcceptRole
        button = self.addButton(words, role)
        button.setObjectName(name)
        if takes_most:
            restyle(button, "variant", "destructive")  # the box has already styled it
        self._answers.append((button, then))
        return button

    def ask(self, default: QPushButton | None) -> None:
        """Open the question with this default answer; None makes Cancel the default."""
        cancel = self.addButton(_tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(default or cancel)
        self.setEscapeButton(cancel)
        self.open()

    def _on_finished(self) -> None:
        pressed = self.clickedButton()
        self.deleteLater()
        for button, then in self._answers:
            if button is pressed:
                then()


# -- what is not the agent's --


class Owned(NamedTuple):
    path: str
    shares: tuple[Share, ...]

    @property
    def is_agents(self) -> bool:
        return all(share.owner == "agent" for share in self.shares)

    @property
    def has_agents(self) -> bool:
        return any(share.owner == "agent" for share in self.shares)


def ask_about_others(
    files: Sequence[Owned], parent: QWidget, undo: Callable[[bool], object], *, can_part: bool = True
) -> None:
    """Ask whether to also undo changes that are not the agent's, naming their authors; then call `undo`.

    Its argument says whether those changes are undone, too. If everything is the agent's, `undo` is called without a
    question. `can_part` is false if one cannot be undone without the other.
    """
    if all(file.is_agents for file in files):
        undo(False)
        return
    can_part = can_part and any(file.has_agents for file in files)
    text = _tr("Not all of this is the agent's.") if can_part else _tr("This is not the agent's alone.")
    if not any(file.has_agents for file in files):
        text = _tr("None of this is the agent's.")
    box = _Question(parent, text, "\n".join([*_owner_lines(files), "", _tr("Redo brings back what is undone.")]))
    box.setObjectName("undoOthersDialog")
    box.offer(_tr("Undo all of it"), "undoEverybodysButton", lambda: undo(True), takes_most=True)
    agents = box.offer(_tr("Undo only the agent's"), "undoAgentsButton", lambda: undo(False)) if can_part else None
    box.ask(agents)


def owned_by_records(path: str, records: Iterable[ChangeRecord]) -> Owned:
    found: dict[Owner, tuple[int, int]] = {}
    for record in records:
        added, removed = found.get(record.change.owner, (0, 0))
        found[record.change.owner] = added + record.change.added, removed + record.change.removed
    return Owned(path, tuple(Share(owner, *lines) for owner, lines in found.items()))


def _owner_lines(files: Sequence[Owned]) -> list[str]:
    names = {
        "agent": _tr("The agent's: {0}"),
        "person": _tr("Yours: {0}"),
        "unknown": _tr("A running server's, or yours: {0}"),
        "other_session": _tr("Perhaps another session's: {0}"),
    }
    lines: list[str] = []
    for owner in _OWNERS:
        theirs = {file.path: share for file in files for share in file.shares if share.owner == owner}
        if theirs:
            lines.append(names[owner].format(_how_much(theirs)))
    return lines


def _how_much(theirs: Mapping[str, Share]) -> str:
    added, removed = (
        sum(counts) for counts in zip(*((one.added, one.removed) for one in theirs.values()), strict=True)
    )
    counted = [f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)
    count = plural("UndoQuestion", len(theirs), "%n file", "%n files")
    return ", ".join(filter(None, (count, " ".join(counted)))) + f" ({_named(list(theirs))})"


# -- what the user keeps --


class Kept(NamedTuple):
    """A file with hunks that the user decided to keep and that an undo would take back."""

    file: ChangedFile
    hunk_count: int
    undecided: tuple[HunkKey, ...]


class UndoWithCare(NamedTuple):
    """Undoes the agent's changes, but asks first about hunks that the user decided to keep."""

    transcript: Transcript
    diffs: FileDiffs
    spawn: Spawn
    submit: Submit
    parent: QWidget

    def undo(self, selection: ChangeSelection, reason: str = "") -> None:
        if not self._files(selection) or self.transcript.turns.is_running:
            self.submit(UndoChanges(selection=selection, reason=reason))
        else:
            self.spawn(self._undo(selection, reason))

    async def _undo(self, selection: ChangeSelection, reason: str) -> None:
        found = [await self._judged(file, selection) for file in self._files(selection)]
        kept = [one for one in found if one.hunk_count]
        if not isValid(self.parent):
            return
        if not kept:
            self.submit(UndoChanges(selection=selection, reason=reason))
            return
        everything = UndoChanges(selection=selection, reason=reason)
        undecided = self._undecided(selection, kept, reason)
        text = plural(
            "UndoQuestion",
            sum(one.hunk_count for one in kept),
            "You decided to keep %n change in {0}.",
            "You decided to keep %n changes in {0}.",
        )
        files = _named([one.file.path for one in kept])
        box = _Question(self.parent, text.format(files), _tr("Undo what you keep as well?"))
        box.setObjectName("undoKeptDialog")
        box.offer(_tr("Undo them, too"), "undoKeptButton", lambda: self.submit(everything), takes_most=True)
        rest = None
        if undecided:
            only, name = _tr("Undo only what is undecided"), "undoUndecidedButton"
            rest = box.offer(only, name, lambda: self.submit(undecided))
        box.ask(rest)

    def _files(self, selection: ChangeSelection) -> list[ChangedFile]:
        """Return the files that the undo would change and that have a kept hunk."""
        transcript = self.transcript
        meant = [r for r in transcript.changes.values() if selection.includes(r.change, turn=r.turn, call_id=r.call_id)]
        files = group_by_file(meant) if any(transcript.changed.kept.values()) else []
        return [file for file in files if file.state != "undone" and transcript.changed.kept.get(file.path)]

    async def _judged(self, file: ChangedFile, selection: ChangeSelection) -> Kept:
        """Compare the file and find its kept hunks. If it cannot be read, it counts as kept."""
        kept = self.transcript.changed.kept[file.path]
        try:
            diff = await self._diff(file.standing)
            keys = set(all_keys(diff))
            meant = keys & set(selection.hunks) if selection.hunks else keys
            theirs = kept & keys
            if unknown := kept - keys:
                theirs |= await self._kept_elsewhere(file, diff, unknown)
        except AgentError:
            return Kept(file, 1, ())
        theirs = (theirs & meant) - diff.undone
        undecided = tuple(key for key in all_keys(diff) if key in meant and key not in theirs | diff.undone)
        return Kept(file, len(theirs), undecided)

    async def _kept_elsewhere(self, file: ChangedFile, diff: FileDiff, kept: set[HunkKey]) -> set[HunkKey]:
        """Return the hunks that share lines with what is kept in another comparison of the file.

        A hunk that was kept in the review of a turn can be part of a hunk in the review of the session, and vice versa.
        """
        found: set[HunkKey] = set()
        for records in self._other_views(file):
            other = await self._diff(records)
            if theirs := kept & set(all_keys(other)):
                lines = _lines(other, theirs)
                found |= {key for key in all_keys(diff) if _lines(diff, {key}) & lines}
                kept = kept - theirs
        return found

    def _other_views(self, file: ChangedFile) -> list[list[ChangeRecord]]:
        known = self.transcript.changes.values()
        paths = {record.change.path for record in file.standing}
        every = [record for record in known if record.change.path in paths and record.change.is_by_agent]
        turns = sorted({record.turn for record in every})
        by_turn = [[record for record in every if record.turn == turn] for turn in turns]
        since = [[record for record in every if record.turn >= turn] for turn in turns]
        return [records for records in (*since, *by_turn, *([record] for record in every)) if records]

    async def _diff(self, records: Sequence[ChangeRecord]) -> FileDiff:
        there = recorded_of(records[-1].change, self.transcript.changes.values())
        return await self.diffs.diff(records, tuple(there))

    def _undecided(self, selection: ChangeSelection, kept: Sequence[Kept], reason: str) -> UndoChanges | None:
        paths = {path for one in kept for path in (one.file.path, one.file.moved_from) if path}
        rest = tuple(
            record.change.id
            for record in self.transcript.changed.active()
            if selection.includes(record.change, turn=record.turn, call_id=record.call_id)
            and paths.isdisjoint((record.change.path, record.change.moved_to))
            and record.change.owner == "agent"
        )
        parts = [ChangeSelection(change_ids=rest)] * bool(rest)
        for one in kept:
            if one.undecided:
                ids = tuple(record.change.id for record in one.file.standing)
                parts.append(ChangeSelection(path=one.file.path, change_ids=ids, hunks=one.undecided))
        return UndoChanges(selection=parts[0], further=tuple(parts[1:]), reason=reason) if parts else None


def _lines(diff: FileDiff, keys: set[HunkKey]) -> set[str]:
    """Return the lines that these hunks add and remove, each with its sign, without blank lines."""
    found: set[str] = set()
    for key, edits in edits_by_key(diff).items():
        for edit in edits if key in keys else ():
            found |= {f"+{line}" for line in diff.new_lines[edit.new_start : edit.new_end] if line.strip()}
            found |= {f"-{line}" for line in diff.old_lines[edit.old_start : edit.old_end] if line.strip()}
    return found


def _named(paths: Sequence[str]) -> str:
    names = [visible(path) for path in paths[:_NAMED_FILES]]
    if more := len(paths) - len(names):
        names.append(_tr("{0} more").format(more))
    return ", ".join(names)
