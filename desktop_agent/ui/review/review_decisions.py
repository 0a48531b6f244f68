"""Decisions in the review that take more than one op, the questions before an undo, and the dialogs with a message.

The questions are about kept hunks, and about changes by authors other than the agent. Closing a question undoes
nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import Digest, HunkKey
from desktop_agent.core.diff.hunks import all_keys, edits_by_key, hunk_names, marked
from desktop_agent.core.protocol.model import (
    Author,
    ChangeSelection,
    CommittedFile,
    FileDiff,
    FileImage,
    FileOutcome,
    LineComment,
    Owner,
    Reverted,
    ReviewState,
    Share,
)
from desktop_agent.core.protocol.ops import MarkReviewed, Op, UndoChanges, UndoDifferences, WriteFile
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo.path_tracking import recorded_of
from desktop_agent.core.undo.refusals import Direction
from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file
from desktop_agent.ui.review.diff_source import DiffSource, FileDiffs, GitSource, Spawn, Submit
from desktop_agent.ui.review.reviewed_changes import NetCounts, Reviewed
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    answer_with_ctrl_enter,
    hbox,
    lay_out_dialog,
    scroll_down,
    set_names,
    set_up_dialog,
    vbox,
)
from desktop_agent.ui.widgets.question import Question
from desktop_agent.ui.wording import visible

_WIDTH = 520
_COMMENTS_HEIGHT = 320
_MAX_QUOTED_LINES = 3


class CommentsDialog(QDialog):
    removed = Signal(str)  # the id of a comment
    sent = Signal(str)  # the text before the comments

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        set_up_dialog(self, "commentsDialog", self.tr("Send comments"))
        self.setMinimumWidth(_WIDTH)
        self._heading = make_label(role="title")
        what = self.tr("The agent gets them as one message, with the lines they are about.")
        hint = make_label(what, role="secondary", wraps=True)
        self._area = QScrollArea()
        set_names(self._area, "commentList", self.tr("Comments"))
        scroll_down(self._area, QWidget())
        self._field = QPlainTextEdit(placeholderText=self.tr("Introduction (optional)"), tabChangesFocus=True)
        set_names(self._field, "commentsIntroEdit", self.tr("Introduction to the comments"))
        self._field.setFixedHeight(64)
        cancel = make_button(self.tr("Not now"), clicked=self.reject)
        self._send = make_button(object_name="sendAllCommentsButton", clicked=self._on_send, variant="primary")
        answer_with_ctrl_enter(self, self._send)
        parts = (self._heading, hint, self._area, self._field, Space.XS)
        lay_out_dialog(self, *parts, answers=(cancel, self._send))
        self._field.setFocus()

    def set_comments(self, comments: Sequence[LineComment]) -> None:
        if not comments:
            self.reject()
            return
        count = len(comments)
        self._heading.setText(plural("CommentsDialog", count, "%n comment", "%n comments"))
        self._send.setText(plural("CommentsDialog", count, "Send comment", "Send %n comments"))
        content = QWidget()
        rows = map(self._row, comments)
        vbox(*rows, STRETCH, on=content, margins=(0, Space.S, Space.S, Space.S), spacing=Space.M)
        self._area.setWidget(content)
        content.setAutoFillBackground(False)  # Qt turns it on for what it scrolls
        self._area.setFixedHeight(min(_COMMENTS_HEIGHT, content.sizeHint().height() + Space.S))

    def _row(self, comment: LineComment) -> QHBoxLayout:
        place = make_label(self._place_words(comment), role="secondary", wraps=True, is_plain=True)
        quote = make_label(_shortened(comment.quote), role="secondary", is_plain=True)
        quote.setFont(self._theme.code_font())
        quote.setMinimumWidth(1)  # long lines are cut and do not widen the window
        quote.setVisible(bool(quote.text()))
        text = make_label(comment.text, wraps=True, is_plain=True)
        remove = compact_button(self.tr("Remove"), clicked=self._on_remove, variant="flat")
        remove.setAccessibleName(self.tr("Remove the comment on {0}").format(place.text()))
        remove.setProperty("comment", comment.id)
        words = vbox(place, quote, text, spacing=2)
        return hbox((words, 1), (remove, Qt.AlignmentFlag.AlignTop), spacing=Space.S)

    def _place_words(self, comment: LineComment) -> str:
        first, last = comment.start + 1, max(comment.end, comment.start + 1)
        lines = self.tr("line {0}").format(first) if first == last else self.tr("lines {0}–{1}").format(first, last)
        side = self.tr(", before") if comment.side == "old" else ""
        return f"{comment.path or self.tr('Plan')} · {lines}{side}"

    def _on_remove(self) -> None:
        sender = self.sender()
        if isinstance(sender, QPushButton):
            self.removed.emit(str(sender.property("comment")))

    def _on_send(self) -> None:
        self.sent.emit(self._field.toPlainText().strip())
        self.accept()


def _shortened(quote: str) -> str:
    lines = quote.rstrip("\n").split("\n")
    return "\n".join(lines[:_MAX_QUOTED_LINES]) + ("\n…" if len(lines) > _MAX_QUOTED_LINES else "")


class WordDialog(QDialog):
    given = Signal(str)

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """`what` names what is undone, such as `Undo turn` or a path."""
        super().__init__(parent)
        set_up_dialog(self, "undoWordDialog", what)
        self.setMinimumWidth(440)
        heading = make_label(what, role="title", wraps=True, is_plain=True)
        why = self.tr("The agent reads this with your next message, so that it does not try the same again.")
        hint = make_label(why, role="secondary", wraps=True)
        self._field = QPlainTextEdit(placeholderText=self.tr("Why are you undoing this?"), tabChangesFocus=True)
        set_names(self._field, "undoWordEdit", self.tr("Message to the agent"))
        self._field.setFixedHeight(84)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        undo = make_button(self.tr("Undo"), "undoWithWordButton", clicked=self._give, variant="primary")
        answer_with_ctrl_enter(self, undo)
        lay_out_dialog(self, heading, hint, self._field, Space.XS, answers=(cancel, undo))
        self._field.setFocus()

    def _give(self) -> None:
        self.given.emit(self._field.toPlainText().strip())
        self.accept()


_tr = partial(QCoreApplication.translate, "UndoQuestion")

_NAMED_FILES = 3
_OWNERS: tuple[Owner, ...] = ("agent", "person", "unknown", "other_session")


class Resolution(NamedTuple):
    """The user's decision: write `content` (`None`: delete the file), if the file's digest is still `expected`."""

    path: str
    content: bytes | None
    expected: Digest | None
    """The digest of the version that the user saw; `None` if there was no file."""
    purpose: Direction
    outcome: FileOutcome
    like: FileImage | None = None
    """The chosen version, if a whole version was chosen: its kind of file is written. None keeps the kind."""


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
    """Pass to `undo` whether to undo other authors' changes, too. Ask first, unless all changes are the agent's.

    `can_part` is false if the agent's changes cannot be undone separately.
    """
    if all(file.is_agents for file in files):
        undo(False)
        return
    can_part = can_part and any(file.has_agents for file in files)
    text = (
        _tr("Not all of these changes are the agent's.") if can_part else _tr("These changes are not only the agent's.")
    )
    if not any(file.has_agents for file in files):
        text = _tr("The agent made none of these changes.")
    more = "\n".join([*_owner_lines(files), "", _tr("Redo brings back what is undone.")])
    box = Question(parent, "undoOthersDialog", _tr("Undo"), text, more)
    box.add_answer(_tr("Undo all of it"), "undoEverybodysButton", lambda: undo(True), takes_most=True)
    agents = box.add_answer(_tr("Undo only the agent's"), "undoAgentsButton", lambda: undo(False)) if can_part else None
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
    added, removed = sum(one.added for one in theirs.values()), sum(one.removed for one in theirs.values())
    counted = [f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)
    count = plural("UndoQuestion", len(theirs), "%n file", "%n files")
    return ", ".join(filter(None, (count, " ".join(counted)))) + f" ({_named(list(theirs))})"


# -- what the user keeps --


class Kept(NamedTuple):
    file: ChangedFile
    hunk_count: int
    undecided: tuple[HunkKey, ...]


class UndoWithCare(NamedTuple):
    transcript: Transcript
    diffs: FileDiffs
    spawn: Spawn
    submit: Submit
    parent: QWidget

    def undo(self, selection: ChangeSelection, reason: str = "") -> None:
        if not self._files(selection) or self.transcript.turns.is_working:
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
        text, more = text.format(_named([one.file.path for one in kept])), _tr("Undo these kept changes, too?")
        box = Question(self.parent, "undoKeptDialog", _tr("Undo"), text, more)
        box.add_answer(_tr("Undo them, too"), "undoKeptButton", lambda: self.submit(everything), takes_most=True)
        rest = None
        if undecided:
            only, name = _tr("Undo only what is undecided"), "undoUndecidedButton"
            rest = box.add_answer(only, name, lambda: self.submit(undecided))
        box.ask(rest)

    def _files(self, selection: ChangeSelection) -> list[ChangedFile]:
        transcript = self.transcript
        meant = [r for r in transcript.changes.values() if selection.includes(r.change, turn=r.turn, call_id=r.call_id)]
        files = group_by_file(meant) if any(transcript.changed.kept.values()) else []
        return [file for file in files if file.state != "undone" and transcript.changed.kept.get(file.path)]

    async def _judged(self, file: ChangedFile, selection: ChangeSelection) -> Kept:
        """Compare the file and find its kept hunks. If the file cannot be read, all of it counts as kept."""
        kept = self.transcript.changed.kept[file.path]
        try:
            diff = await self._diff(file.standing)
            keys = set(all_keys(diff))
            meant = keys & set(selection.hunks) if selection.hunks else keys
            names = hunk_names(diff)
            theirs = marked(names, kept)
            if unknown := kept.difference(*names.values()):
                theirs |= await self._kept_elsewhere(file, diff, unknown)
        except AgentError:
            return Kept(file, 1, ())
        theirs = (theirs & meant) - diff.undone
        undecided = tuple(key for key in all_keys(diff) if key in meant and key not in theirs | diff.undone)
        return Kept(file, len(theirs), undecided)

    async def _kept_elsewhere(self, file: ChangedFile, diff: FileDiff, kept: set[HunkKey]) -> set[HunkKey]:
        """Return the hunks of `diff` that share lines with hunks in `kept` from comparisons with other baselines."""
        found: set[HunkKey] = set()
        for records in self._other_views(file):
            other = await self._diff(records)
            names = hunk_names(other)
            if theirs := marked(names, kept):
                lines = _lines(other, theirs)
                found |= {key for key in all_keys(diff) if _lines(diff, {key}) & lines}
                kept = kept.difference(*names.values())
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


def _lines(diff: FileDiff, keys: Set[HunkKey]) -> set[str]:
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


class ReviewDecisions(QObject):
    problem = Signal(str)  # what failed and why; empty when the user tries something else

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
        self._wanted: tuple[object, set[str], str] | None = None

    def mark_files(self, files: Sequence[ChangedFile], state: ReviewState) -> None:
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
            names = {key: compared.names[key] for key in compared.keys if key not in compared.undone}
            if hunks := _as_marked(names, self._reviewed.marks(file), state):
                submit(MarkReviewed(path=file.path, hunks=hunks, state=state))

    def mark_hunks(self, file: ChangedFile, keys: Sequence[HunkKey], diff: FileDiff | None) -> None:
        """Keep these hunks of `diff`; if all are kept already, take that back."""
        names = hunk_names(diff, keys) if diff is not None else {key: (key,) for key in keys}
        marks = self._reviewed.marks(file)
        state: ReviewState = "pending" if marked(names, marks) >= set(keys) else "kept"
        self.submit(MarkReviewed(path=file.path, hunks=_as_marked(names, marks, state), state=state))

    def undo(self, selection: ChangeSelection, reason: str = "") -> None:
        transcript = self._reviewed.transcript
        UndoWithCare(transcript, self._source, self._spawn, self.submit, self._parent).undo(selection, reason)

    def undo_file(
        self, file: ChangedFile, *, keys: Sequence[HunkKey] = (), authors: Collection[Author] = (), reason: str = ""
    ) -> None:
        """Undo a file's changes, or its hunks `keys`. Ask first if some changes may not be the agent's.

        `authors` are those of the hunks, if several authors changed the file.
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
        """Write the user's resolution of a conflict, which completes the undo or redo."""
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
        """Undo git's differences in files, or the hunks `keys` of one. Ask first if some are not the agent's."""
        reviewed = self._reviewed
        if self._git is not None and not reviewed.is_git_outdated:
            self._spawn(self._undo_git(self._git, tuple(files), tuple(keys), reason))
        elif reviewed.has_undo_ended and not keys:  # the hunks of the new list may have other keys
            self._wanted = (reviewed.transcript, reviewed.baseline), {file.path for file in files}, reason

    def take_up_undo(self) -> None:
        """Carry out the undo that was wanted while git was being listed again, if it is listed now."""
        reviewed = self._reviewed
        if self._wanted is None or reviewed.is_git_outdated:
            return
        (shown, paths, reason), self._wanted = self._wanted, None
        if shown == (reviewed.transcript, reviewed.baseline):
            self.undo_git([file for file in reviewed.files if file.path in paths], reason=reason)

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
            if self._reviewed.is_git_outdated:  # asked for twice before the first was looked into
                return
            self._reviewed.note_undo_against_git()
            chosen = tuple(file for file, owned in found if includes_others or owned.has_agents)
            submit(UndoDifferences(files=chosen, hunks=tuple(keys), includes_others=includes_others, reason=reason))

        ask_about_others([owned for _, owned in found], self._parent, undo, can_part=not keys)


def _as_marked(
    names: Mapping[HunkKey, Sequence[HunkKey]], marks: Set[HunkKey], state: ReviewState
) -> tuple[HunkKey, ...]:
    if state == "kept":
        return tuple(known[0] for known in names.values())
    return tuple(name for known in names.values() for name in known if name in marks)


def _settled(transcript: Transcript, outcome: FileOutcome, purpose: Direction) -> tuple[Reverted, ...]:
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
    """Ignore the op, because no session is under review yet."""
