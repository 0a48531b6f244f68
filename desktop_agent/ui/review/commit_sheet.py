"""The sheet that commits changes with git: which lines, with what message, and what git and its hooks say."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QDialog,
    QPlainTextEdit,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey, SessionId
from desktop_agent.core.diff.hunks import (
    ENDINGS,
    MODE,
    WHOLE_FILE,
    all_keys,
    edits_by_key,
    hunk_names,
    marked,
    review_hunks,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, Edit, FileDiff, LeftOut
from desktop_agent.core.protocol.ops import CommitChanges, DraftCommit, Interrupt, PrepareCommit
from desktop_agent.ui.review.changed_files import ChangedFile, group_by_file
from desktop_agent.ui.review.diff.diff_words import hunk_label
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn, Submit
from desktop_agent.ui.review.reviewed_changes import Reviewed
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words, grouped, plural
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, restyle
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    answer_with_ctrl_enter,
    hbox,
    lay_out_dialog,
    resize_within_screen,
    set_names,
    set_up_dialog,
)
from desktop_agent.ui.widgets.rows import set_up_list
from desktop_agent.ui.wording import one_line, plain_tooltip, visible

_SIZE: Final = QSize(680, 600)
_LEAST_SIZE: Final = QSize(420, 420)
_LIST_HEIGHT: Final = 90
_MESSAGE_HEIGHT: Final = 84
_OUTPUT_HEIGHT: Final = 110
_LONGEST_OUTPUT: Final = 5_000
_LONGEST_SUBJECT: Final = 72
_LONGEST_LABEL: Final = 80
_PAUSE_MS: Final = 150
_KEY, _FILE, _LABEL = (Qt.ItemDataRole.UserRole + number for number in range(3))
_CHECKED, _UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked

Preset = Literal["kept", "all", "file"]


class CommitFile(NamedTuple):
    """A file with its hunks that are neither undone nor committed by this session."""

    file: ChangedFile
    diff: FileDiff
    keys: tuple[HunkKey, ...]
    kept: frozenset[HunkKey]


class CommitSheet(QDialog):
    written = Signal(str)  # the message, whenever it changes

    def __init__(
        self, theme: Theme, reviewed: Reviewed, submit: Submit, current: str, trailer: str, parent: QWidget
    ) -> None:
        """`current` is the path of the file that the review shows."""
        super().__init__(parent)
        set_up_dialog(self, "commitSheet", self.tr("Commit"))
        self._reviewed = reviewed
        self._submit = submit
        self._current = current
        self._trailer = trailer
        self._doing: Literal["comparing", "nothing", "drafting", "committing"] = "comparing"
        self._files: list[CommitFile] = []
        self._prepared: ev.CommitPrepared | None = None
        self._title = make_label(self.tr("Commit"), role="title", is_plain=True)
        self._how = ElidedLabel(role="secondary", object_name="commitAuthor")
        self._count = make_label(role="secondary", object_name="commitCount")
        self._kept, self._all, self._this = (
            compact_button(words, name, variant="flat", tooltip=tip)
            for words, name, tip in (
                (self.tr("Kept"), "commitKeptButton", self.tr("Tick what you decided to keep")),
                (self.tr("All"), "commitAllButton", self.tr("Tick everything that the review lists")),
                (self.tr("This file"), "commitFileButton", self.tr("Tick only {0}").format(visible(current))),
            )
        )
        self._kept.clicked.connect(partial(self._choose, "kept"))
        self._all.clicked.connect(partial(self._choose, "all"))
        self._this.clicked.connect(partial(self._choose, "file"))
        self._list = HunkChoice(theme, "commitList", self.tr("What is committed"))
        self._list.itemChanged.connect(self._on_chosen)
        self._counter = make_label(role="secondary", object_name="commitCounter")
        self._draft = compact_button(object_name="draftCommitButton", clicked=self._on_draft)
        self._draft.setToolTip(self.tr("The model of this conversation writes the message, in the repository's style"))
        hint = self.tr("Subject, then an empty line, and the reason if it is not obvious")
        self._edit = QPlainTextEdit(placeholderText=hint, tabChangesFocus=True)
        set_names(self._edit, "commitMessageEdit", self.tr("Message of the commit"))
        self._edit.setFont(theme.code_font(TypeSize.CODE))
        self._edit.setMinimumHeight(_MESSAGE_HEIGHT)
        self._edit.textChanged.connect(self._on_written)
        self._adds_trailer = QCheckBox(self.tr("Add “{0}”").format(visible(trailer)).replace("&", "&&"))
        self._adds_trailer.setObjectName("commitTrailerTick")
        self._adds_trailer.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._note = Note(object_name="commitNote")
        self._output = QPlainTextEdit(readOnly=True, maximumBlockCount=_LONGEST_OUTPUT, tabChangesFocus=True)
        set_names(self._output, "commitOutput", self.tr("What git and its hooks say"))
        self._output.setFont(theme.code_font(TypeSize.CODE))
        self._output.setFixedHeight(_OUTPUT_HEIGHT)
        self._output.hide()
        self._cancel = make_button(object_name="cancelCommitButton", clicked=self.reject)
        self._commit = make_button(self.tr("Commit"), "commitChangesButton", clicked=self._on_commit, variant="primary")
        answer_with_ctrl_enter(self, self._commit)
        chosen = hbox(self._count, STRETCH, self._kept, self._all, self._this, spacing=Space.S)
        written = hbox(make_label(self.tr("Message")), STRETCH, self._counter, self._draft, spacing=Space.S)
        parts = (self._title, self._how, chosen, (self._list, 2), written, (self._edit, 1), self._adds_trailer)
        lay_out_dialog(self, *parts, self._note, self._output, answers=(self._cancel, self._commit))
        resize_within_screen(self, _SIZE, _LEAST_SIZE)
        self._asking = one_shot(self, _PAUSE_MS, self._ask)
        self._edit.setFocus()
        self._set_doing("comparing")
        self._say(self.tr("Looking…"))

    def set_text(self, text: str, *, adds_trailer: bool) -> None:
        """Show a message. If it ends with the trailer, that is ticked instead."""
        body = text.rstrip()
        has_trailer = body.endswith(f"\n{self._trailer}")
        self._edit.setPlainText(body.removesuffix(self._trailer).rstrip() if has_trailer else body)
        self._edit.moveCursor(QTextCursor.MoveOperation.End)
        self._adds_trailer.setChecked(adds_trailer or has_trailer)

    # -- which lines --

    async def fill(self, files: Sequence[ChangedFile], diffs: FileDiffs) -> None:
        problems: list[str] = []
        for file in files:
            try:
                diff = await diffs.diff(file.standing)
            except AgentError as error:
                problems.append(f"{visible(file.path)}: {core_words(error.title)}\n")
                continue
            if not isValid(self):
                return
            gone = file.undone_hunks(diff) | self._reviewed.committed(file)
            keys = tuple(key for key in all_keys(diff) if key not in gone and WHOLE_FILE not in gone)
            if keys:
                kept = marked(hunk_names(diff, keys), self._reviewed.marks(file))
                self._files.append(CommitFile(file, diff, keys, kept))
                with QSignalBlocker(self._list):
                    self._list.add_file(file.path, diff, keys, file.counts)
        if isValid(self):
            self._set_doing("nothing")
            self._print("".join(problems))
            is_kept = any(file.kept for file in self._files)
            self._kept.setEnabled(is_kept)
            self._this.setEnabled(any(file.file.path == self._current for file in self._files))
            self._choose("kept" if is_kept else "all")
            if not self._files:
                self._say(self.tr("There is nothing to commit: what the review lists is committed or undone already."))

    def _choose(self, preset: Preset) -> None:
        def is_wanted(number: int, key: HunkKey) -> bool:
            file = self._files[number]
            return key in file.kept if preset == "kept" else preset == "all" or file.file.path == self._current

        self._list.tick(is_wanted)
        self._on_chosen()

    def _on_chosen(self) -> None:
        chosen, count = self._list.chosen, len(self._list.parts)
        files = plural("CommitSheet", len(chosen), "%n file", "%n files")
        words = plural("CommitSheet", count, "{0} of %n change, in {1}", "{0} of %n changes, in {1}")
        self._count.setText(words.format(grouped(sum(map(len, chosen.values()))), files) if count else "")
        self._prepared = None
        self._say("" if chosen or not count else self.tr("Tick what you want to commit."))
        self._enable()
        self._asking.start()

    @property
    def _selections(self) -> tuple[ChangeSelection, ...]:
        found: list[ChangeSelection] = []
        for number, keys in self._list.chosen.items():
            file, diff, _, _ = self._files[number]
            # A file that was created, renamed or removed is committed as such, unless only some of its hunks are.
            is_whole = keys == list(all_keys(diff)) and (file.kind != "modified" or keys == [WHOLE_FILE])
            found.append(self._reviewed.selection_of_file(file, () if is_whole else keys))
        return tuple(found)

    def _ask(self) -> None:
        if self._doing != "committing" and self._list.chosen:
            self._submit(PrepareCommit(selections=self._selections))

    # -- what the session answers --

    def follow(self, event: ev.Event) -> None:
        match event:
            case ev.CommitPrepared(selections=selections) if selections == self._selections:
                self._show_prepared(event)
            case ev.CommitDrafted(text=text) if self._doing == "drafting":
                self._set_doing("nothing")
                self._say(_joined(event.obstacle, event.hint), "warning")
                if text:
                    self._put_in(text)
            case ev.GitOutputDelta(text=text) if self._doing == "committing":
                self._print(text)
            case ev.Notice(code="not_committed") if self._doing == "committing":
                self._set_doing("nothing")
                if event.detail.strip() not in self._output.toPlainText():
                    self._print(f"{event.detail.strip()}\n")
                self._say(_joined(event.title, event.hint), "error")
            case ev.ChangesCommitted() if self._doing == "committing":
                self._edit.clear()
                self.accept()
            case _:
                pass

    def _show_prepared(self, event: ev.CommitPrepared) -> None:
        self._prepared = event
        hooks = self.tr("runs {0}").format(", ".join(map(visible, event.hooks))) if event.hooks else ""
        signed = self.tr("signed") if event.is_signed else ""
        self._how.setText(" · ".join(filter(None, (event.author, signed, hooks))))
        self._how.setToolTip(plain_tooltip(self._how.text()))
        self._list.show_left_out(event.left_out, self._files)
        words = ""
        if event.left_out:
            words = plural("CommitSheet", len(event.left_out), "%n change is left out.", "%n changes are left out.")
        if event.obstacle:
            words = _joined(event.obstacle, event.hint)
        elif not event.paths:
            words = f"{self.tr('There is nothing to commit: git has these lines, or they are left out.')} {words}"
        elif not event.author:
            words = self.tr("git does not know who you are. Run `git config --global user.name` and `user.email`.")
        if not event.obstacle:
            branch = visible(event.branch.removeprefix("refs/heads/"))
            title = self.tr("Commit to {0}").format(branch) if branch else self.tr("Commit, on no branch")
            self._title.setText(title)
        self._say(words, "warning" if words else "secondary")
        self._enable()

    # -- the message --

    def _put_in(self, text: str) -> None:
        """Replace the message in one step, which the field's undo takes back."""
        cursor = self._edit.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self._edit.setFocus()

    def _on_written(self) -> None:
        text = self._edit.toPlainText()
        self.written.emit(text)
        length = len(text.partition("\n")[0])
        self._counter.setText(f"{length}/{_LONGEST_SUBJECT}" if length else "")
        long = self.tr("The subject is long: {0} of {1} characters").format(length, _LONGEST_SUBJECT)
        plain = self.tr("The subject has {0} of {1} characters").format(length, _LONGEST_SUBJECT)
        self._counter.setAccessibleName(long if length > _LONGEST_SUBJECT else plain)
        self._counter.setToolTip(self._counter.accessibleName())
        restyle(self._counter, "role", "warning" if length > _LONGEST_SUBJECT else "secondary")
        self._enable()

    def _on_draft(self) -> None:
        if self._doing == "drafting":
            self._submit(Interrupt(spares_turn=True))
        else:
            self._set_doing("drafting")
            self._say(self.tr("The model writes the message…"))
            self._submit(DraftCommit(selections=self._selections))

    @property
    def _message(self) -> str:
        text = self._edit.toPlainText().rstrip()
        if not self._adds_trailer.isChecked() or self._trailer in text.split("\n"):
            return text
        last = text.rpartition("\n\n")[2].split("\n") if "\n\n" in text else [""]
        names = [name for name, colon, _ in (line.partition(": ") for line in last) if colon]
        ends_with_trailers = len(names) == len(last) and all(name.replace("-", "").isalpha() for name in names)
        return "\n".join([text, *[""] * (not ends_with_trailers), self._trailer])

    # -- the commit --

    def _on_commit(self) -> None:
        self._output.clear()
        self._set_doing("committing")
        self._say(self.tr("Committing…"))
        self._submit(CommitChanges(selections=self._selections, message=self._message))

    def reject(self) -> None:
        """Close the sheet. A running commit is stopped first, and the sheet shows how that ended."""
        if self._doing in ("drafting", "committing"):
            self._submit(Interrupt(spares_turn=True))
        if self._doing != "committing":
            super().reject()

    def _set_doing(self, doing: Literal["comparing", "nothing", "drafting", "committing"]) -> None:
        self._doing = doing
        self._draft.setText(self.tr("Stop") if doing == "drafting" else self.tr("Draft"))
        self._cancel.setText(self.tr("Stop") if doing == "committing" else self.tr("Cancel"))
        for part in (self._list, self._adds_trailer, self._kept, self._all, self._this):
            part.setEnabled(doing != "committing")
        self._edit.setReadOnly(doing == "committing")
        self._enable()

    def _enable(self) -> None:
        known = self._prepared
        is_possible = self._doing == "nothing" and bool(self._list.chosen) and (known is None or bool(known.paths))
        self._draft.setEnabled(is_possible or self._doing == "drafting")
        can_commit = is_possible and (known is None or bool(known.author))
        self._commit.setEnabled(can_commit and bool(self._edit.toPlainText().strip()))

    def _say(self, words: str, role: str = "secondary") -> None:
        self._note.say(words, role)
        self._note.setVisible(bool(words))

    def _print(self, text: str) -> None:
        if text.strip():
            self._output.show()
            self._output.moveCursor(QTextCursor.MoveOperation.End)
            self._output.insertPlainText(text)


def _joined(*parts: str) -> str:
    return " ".join(map(core_words, filter(None, parts)))


class HunkChoice(QTreeWidget):
    """Files with a tick, and below each its hunks if there are several."""

    def __init__(self, theme: Theme, object_name: str, accessible_name: str) -> None:
        super().__init__()
        set_names(self, object_name, accessible_name)
        self._theme = theme
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setUniformRowHeights(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMinimumHeight(_LIST_HEIGHT)
        set_up_list(self)
        self.parts: list[QTreeWidgetItem] = []
        """The items that stand for one hunk, or for a whole file."""

    @property
    def row_count(self) -> int:
        return self.topLevelItemCount() + sum(item.parent() is not None for item in self.parts)

    @property
    def row_height(self) -> int:
        return self.sizeHintForRow(0) if self.parts else _LIST_HEIGHT // 3

    @property
    def chosen(self) -> dict[int, list[HunkKey]]:
        """The ticked hunks of each file, by the file's number."""
        found: dict[int, list[HunkKey]] = {}
        for item in self.parts:
            if item.checkState(0) == _CHECKED:
                found.setdefault(item.data(0, _FILE), []).append(item.data(0, _KEY))
        return found

    def add_file(self, path: str, diff: FileDiff, keys: Sequence[HunkKey], lines: tuple[int, int]) -> None:
        """Add a file with these hunks, not ticked. `lines`: how many it adds and removes, if no lines are compared."""
        number = self.topLevelItemCount()
        edits = edits_by_key(diff)
        counts = {key: _counts(edits.get(key, ())) for key in keys}
        of_file = _counts([edit for key in keys for edit in edits.get(key, ())]) if edits else lines
        top = QTreeWidgetItem([_worded(visible(path), *of_file)])
        top.setFlags(top.flags() | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsAutoTristate)
        top.setData(0, _FILE, number)
        hunks = {named.key: named.hunk for named in review_hunks(diff)}
        names = {ENDINGS: self.tr("Line endings"), MODE: self.tr("Permissions")}
        for key in keys:
            item = top
            if len(keys) > 1:
                label = hunk_label(hunks[key]) if key in hunks else names.get(key, key)
                first = _first_line(diff, edits[key]) if key in hunks else ""
                item = QTreeWidgetItem(top, [_worded(label, *counts[key], first)])
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(0, _UNCHECKED)
            item.setData(0, _KEY, key)
            item.setData(0, _FILE, number)
            item.setData(0, _LABEL, item.text(0))
            self.parts.append(item)
        self.addTopLevelItem(top)
        self.expandItem(top)
        if number == 0:
            self.setCurrentItem(self.parts[0])

    def empty(self) -> None:
        self.clear()
        self.parts.clear()

    def tick(self, is_wanted: Callable[[int, HunkKey], bool]) -> None:
        """Tick the hunks that are wanted, given the number of their file, and no others. Emits no signal."""
        with QSignalBlocker(self):
            for item in self.parts:
                wanted = is_wanted(int(item.data(0, _FILE)), item.data(0, _KEY))
                item.setCheckState(0, _CHECKED if wanted else _UNCHECKED)
        self.viewport().update()

    def shown_place(self) -> tuple[int, HunkKey | None] | None:
        """Return the number of the file that the marked row belongs to, and its hunk if it stands for one."""
        item = self.currentItem()
        return (int(item.data(0, _FILE)), item.data(0, _KEY)) if item is not None else None

    def show_left_out(self, left_out: Sequence[LeftOut], files: Sequence[CommitFile]) -> None:
        with QSignalBlocker(self):
            for item in self.parts:
                file, key = files[int(item.data(0, _FILE))], item.data(0, _KEY)
                paths = (file.file.path, file.file.moved_from)
                reasons = [one.reason for one in left_out if one.path in paths and one.hunk in (None, key)]
                reasons = reasons if item.checkState(0) == _CHECKED else []
                left = self.tr("left out: {0}").format(core_words(reasons[0])) if reasons else ""
                label = item.data(0, _LABEL)
                item.setText(0, f"{label.partition(' · ')[0]} · {left}" if left else label)
                item.setToolTip(0, plain_tooltip(left))
                colour = self._theme.colour("warning_text") if left else None
                item.setData(0, Qt.ItemDataRole.ForegroundRole, colour)


def _worded(label: str, added: int, removed: int, first: str = "") -> str:
    counts = " ".join([f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed))
    return " · ".join(filter(None, (label, counts, first)))


def _counts(edits: Sequence[Edit]) -> tuple[int, int]:
    """Return how many lines are added and removed."""
    added, removed = (
        (edit.new_end - edit.new_start for edit in edits),
        (edit.old_end - edit.old_start for edit in edits),
    )
    return sum(added), sum(removed)


def _first_line(diff: FileDiff, edits: Sequence[Edit]) -> str:
    lines = [line for edit in edits for line in diff.new_lines[edit.new_start : edit.new_end]]
    lines += [line for edit in edits for line in diff.old_lines[edit.old_start : edit.old_end]]
    return one_line(next((line.strip() for line in lines if line.strip()), "")[:_LONGEST_LABEL])


class Committing(QObject):
    """Opens the sheet for what the review lists, with the message that was begun earlier."""

    message_changed = Signal(str, str)  # the session's id, and the message that is not committed yet

    def __init__(self, theme: Theme, reviewed: Reviewed, diffs: FileDiffs, spawn: Spawn, parent: QWidget) -> None:
        super().__init__(parent)
        self.kept_message: Callable[[SessionId], str] = lambda _: ""
        """Returns the message that was begun in a session and not committed."""
        self.adds_trailer: Callable[[], bool] = bool
        """Whether the user wants the trailer unless the sheet says otherwise."""
        self._theme = theme
        self._reviewed = reviewed
        self._diffs = diffs
        self._spawn = spawn
        self._parent = parent
        self._sheet: CommitSheet | None = None

    def open(self, listed: Sequence[ChangedFile], current: str, submit: Submit) -> None:
        if self._sheet is not None:
            return
        transcript, paths = self._reviewed.transcript, {file.path for file in listed}
        session = transcript.session
        model = session.model.name if session.model is not None else ""
        trailer = f"Assisted-by: desktop-agent:{model} (session {session.session_id})"
        sheet = self._sheet = CommitSheet(self._theme, self._reviewed, submit, current, trailer, self._parent)
        text = self.kept_message(session.session_id) or transcript.changed.message_back
        sheet.set_text(text, adds_trailer=self.adds_trailer())
        sheet.written.connect(partial(self.message_changed.emit, session.session_id))
        sheet.finished.connect(self._on_finished)
        sheet.open()
        # Against git, the review lists everybody's differences: of their files, the agent's changes are committed.
        of_session = (file for file in group_by_file(transcript.changes.values()) if file.path in paths)
        files = of_session if self._reviewed.baseline.is_git else listed
        wanted = [file for file in files if file.state != "undone" and not file.is_by_user]
        self._spawn(sheet.fill(wanted, self._diffs))

    def follow(self, event: ev.Event) -> None:
        if self._sheet is not None:
            self._sheet.follow(event)

    def close(self) -> None:
        if self._sheet is not None:
            self._sheet.done(0)

    def _on_finished(self) -> None:
        self._sheet = None
