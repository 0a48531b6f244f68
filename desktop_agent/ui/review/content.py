"""What the review panel holds once something changed: the files, the diff of one of them, and the way back."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from desktop_agent.ui.hairline import hairline
from desktop_agent.ui.review.baseline_picker import BaselinePicker
from desktop_agent.ui.review.change_list import ChangeList
from desktop_agent.ui.review.changed_files import Baseline, ChangedFile, group_by_file, turn_of, turns_with_changes
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.header import header_row
from desktop_agent.ui.review.net_counts import NetCounts
from desktop_agent.ui.review.undo_bar import UndoBar
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize

if TYPE_CHECKING:
    from desktop_agent.core.changes.rows import RowMode
    from desktop_agent.core.model import ChangeSelection, Uncaptured
    from desktop_agent.core.transcript import ChangeRecord, Transcript, UndoEntry
    from desktop_agent.ui.review.source import DiffSource, Spawn

_MIN_LIST_ROWS = 3
_LIST_SHARE = 0.35


class ReviewContent(QWidget):
    """Draws the changes of a transcript, and asks for undo and redo by signals. It changes nothing itself.

    Signals:
        undo_requested, redo_requested: the person wants these changes back, or again; carries a `ChangeSelection`.
        file_open_requested: the person wants to open the file of this path.
        call_requested: the person wants to see the call of this id in the conversation.
        diff_mode_changed: the person chose how diffs are shown, `side_by_side` or `unified`.
    """

    undo_requested = Signal(object)
    redo_requested = Signal(object)
    file_open_requested = Signal(str)
    call_requested = Signal(str)
    diff_mode_changed = Signal(str)

    def __init__(self, theme: Theme, diff_source: "DiffSource", spawn: "Spawn", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._transcript: Transcript | None = None
        self._baseline: Baseline = "last_turn"
        self._turn: int | None = None
        self._last_undo: UndoEntry | None = None
        self._shown_state: object = None
        self._picker = BaselinePicker()
        self._added, self._removed = QLabel(), QLabel()
        self._list = ChangeList(theme)
        self._pane = DiffPane(theme, diff_source, spawn)
        self._undo_bar = UndoBar()
        self._counts = NetCounts(diff_source, spawn, self)
        self._lay_out()
        self._connect()
        self._on_theme_changed()

    # -- what it shows --

    def set_transcript(self, transcript: "Transcript") -> None:
        """Show the changes of this transcript. What was undone in it before is no news."""
        self._transcript = transcript
        self._baseline = "last_turn"
        self._shown_state = None
        self._pane.forget()
        self._counts.forget()
        self._last_undo = self._newest_undos()[-1] if self._newest_undos() else None
        self.refresh()

    def refresh(self) -> None:
        """Look at the transcript again. Costs next to nothing when nothing that is shown has changed."""
        self._tell_of_conflicts()
        transcript = self._transcript
        turns = turns_with_changes(transcript) if transcript else []
        if isinstance(self._baseline, int) and self._baseline not in turns:
            self._baseline = "last_turn"
        self._turn = turn_of(self._baseline, turns)
        state = self._state(turns)
        if state == self._shown_state:
            return
        self._shown_state = state
        self._picker.set_turns(turns, self._prompts(), self._baseline)
        self._show_files()

    def show_call(self, call_id: str) -> bool:
        """Show what this call changed; whether it changed anything."""
        records = self._transcript.changes.values() if self._transcript else ()
        record = next((record for record in records if record.call_id == call_id), None)
        if record is None:
            return False
        if self._turn is not None and self._turn != record.turn:
            self._choose(record.turn)
        return self._list.select(record.change.path)

    def set_diff_mode(self, mode: "RowMode") -> None:
        """Show diffs in this mode from now on, where there is room."""
        self._pane.set_mode(mode)

    def _show_files(self) -> None:
        files = group_by_file(self._records())
        files = [file._replace(net_counts=net) if (net := self._counts.known(file)) else file for file in files]
        self._list.set_files(files)
        self._show_totals(files)
        self._show_current()
        is_running = bool(self._transcript and self._transcript.is_running)
        self._list.set_can_revert(not is_running)
        self._undo_bar.set_counts(
            standing=sum(file.state != "undone" for file in files),
            undone=sum(file.state == "undone" for file in files),
            scope="session" if self._turn is None else "turn",
            is_running=is_running,
        )
        self._show_uncaptured()
        self._counts.request(files)

    def _show_totals(self, files: list[ChangedFile]) -> None:
        counts = [file.counts for file in files if file.state != "undone"]
        added, removed = sum(added for added, _ in counts), sum(removed for _, removed in counts)
        self._added.setText(f"+{added}" if added else "")
        self._added.setAccessibleName(self.tr("{0} lines added").format(added))
        self._removed.setText(f"−{removed}" if removed else "")
        self._removed.setAccessibleName(self.tr("{0} lines removed").format(removed))

    def _show_current(self) -> None:
        file = self._list.current_file
        if file is not None:
            self._pane.show_file(file, self._call_words(file))

    def _show_uncaptured(self) -> None:
        found = self._uncaptured()
        details = "\n".join(f"{uncaptured.path}: {uncaptured.reason}" for uncaptured in found)
        self._undo_bar.set_uncaptured([uncaptured.path for uncaptured in found], details)

    # -- what it knows of the transcript --

    def _records(self) -> "list[ChangeRecord]":
        records = self._transcript.changes.values() if self._transcript else ()
        return [record for record in records if self._turn in (None, record.turn)]

    def _uncaptured(self) -> "list[Uncaptured]":
        entries = self._transcript.entries if self._transcript else ()
        tools = (entry for entry in entries if entry.kind == "tool" and self._turn in (None, entry.turn))
        return [uncaptured for entry in tools for uncaptured in entry.uncaptured]

    def _state(self, turns: list[int]) -> object:
        """Everything that what is shown depends on."""
        is_running = bool(self._transcript and self._transcript.is_running)
        changes = [(record.change.id, record.is_undone) for record in self._records()]
        return self._baseline, turns, is_running, changes, self._uncaptured()

    def _prompts(self) -> dict[int, str]:
        entries = self._transcript.entries if self._transcript else ()
        return {entry.turn: entry.text for entry in entries if entry.kind == "prompt"}

    def _call_words(self, file: ChangedFile) -> str:
        """Which turn and tool changed the file last, within the baseline."""
        record = file.standing[-1]
        entry = self._transcript.tool_entry(record.call_id) if self._transcript else None
        if entry is None:
            return ""
        return self.tr("turn {0} · {1}").format(record.turn, entry.call.name)

    def _newest_undos(self) -> "list[UndoEntry]":
        """The undos and redos since the last one that is known, oldest first."""
        found: list[UndoEntry] = []
        for entry in reversed(self._transcript.entries if self._transcript else ()):
            if entry is self._last_undo:
                break
            if entry.kind == "undo":
                found.append(entry)
        return found[::-1]

    def _tell_of_conflicts(self) -> None:
        for entry in self._newest_undos():
            self._last_undo = entry
            if not all(outcome.is_done for outcome in entry.outcomes):
                from desktop_agent.ui.review.conflicts import UndoConflictDialog

                UndoConflictDialog(entry.purpose, entry.outcomes, self).open()

    # -- what the person does --

    def _choose(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self.refresh()

    def _undo(self) -> None:
        self.undo_requested.emit(self._selection())

    def _redo(self) -> None:
        self.redo_requested.emit(self._selection())

    def _undo_file(self) -> None:
        if file := self._list.current_file:
            self.undo_requested.emit(self._selection(file.path))

    def _redo_file(self) -> None:
        if file := self._list.current_file:
            self.redo_requested.emit(self._selection(file.path))

    def _selection(self, path: str | None = None) -> "ChangeSelection":
        from desktop_agent.core.model import ChangeSelection

        return ChangeSelection(turn=self._turn, path=path)

    def _open_file(self) -> None:
        if file := self._list.current_file:
            self.file_open_requested.emit(file.path)

    def _show_the_call(self) -> None:
        if file := self._list.current_file:
            self.call_requested.emit(file.standing[-1].call_id)

    def _next_change(self) -> None:
        self._pane.view.next_change()

    def _previous_change(self) -> None:
        self._pane.view.previous_change()

    def _on_mode_chosen(self) -> None:
        self.diff_mode_changed.emit(self._pane.wanted_mode)

    # -- how it is built --

    def _lay_out(self) -> None:
        totals = QHBoxLayout()
        totals.setSpacing(Space.S)
        totals.addWidget(self._added)
        totals.addWidget(self._removed)
        header = header_row()
        header.insertWidget(1, self._picker)
        header.addLayout(totals)
        list_margins = QHBoxLayout()
        list_margins.setContentsMargins(Space.S - 1, 0, Space.S - 1, Space.XS)
        list_margins.addWidget(self._list)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(header)
        column.addLayout(list_margins)
        column.addWidget(hairline())
        column.addWidget(self._pane, 1)
        column.addWidget(hairline())
        column.addWidget(self._undo_bar)

    def _connect(self) -> None:
        self._picker.chosen.connect(self._choose)
        self._list.current_changed.connect(self._show_current)
        self._list.clicked.connect(self._pane.try_again)
        self._list.open_requested.connect(self._open_file)
        self._list.call_requested.connect(self._show_the_call)
        self._list.undo_requested.connect(self._undo_file)
        self._list.redo_requested.connect(self._redo_file)
        self._pane.call_clicked.connect(self._show_the_call)
        self._pane.mode_chosen.connect(self._on_mode_chosen)
        self._undo_bar.undo_clicked.connect(self._undo)
        self._undo_bar.redo_clicked.connect(self._redo)
        self._counts.changed.connect(self._show_files)
        self._theme.changed.connect(self._on_theme_changed)
        for key, slot in ((Qt.Key.Key_F7, self._next_change), ("Shift+F7", self._previous_change)):
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def _on_theme_changed(self) -> None:
        for label, role in ((self._added, "added_text"), (self._removed, "removed_text")):
            label.setFont(self._theme.code_font(TypeSize.HEAD))
            label.setStyleSheet(f"color: {getattr(self._theme.colours, role)};")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rows = int(self.height() * _LIST_SHARE) // Height.LIST_ROW
        self._list.set_max_rows(max(_MIN_LIST_ROWS, rows))
