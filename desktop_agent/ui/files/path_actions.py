"""The user's actions on a listed file or folder, and a file's changes by turn, across renames."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QMimeData, QObject, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QDialog, QMenu, QWidget

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.files.file_rows import FileRows
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import lay_out_dialog, set_up_dialog

_tr = partial(QCoreApplication.translate, "FileTurns")

MOST_LISTED = 20


class FileTurn(NamedTuple):
    turn: int
    call_id: str
    """The first call that changed it in that turn; empty for the user's own change."""
    path: str
    added: int
    removed: int
    is_mine: bool
    is_undone: bool


def turns_of(path: str, records: Iterable[ChangeRecord]) -> list[FileTurn]:
    """Return the turns that changed the file now at `path`, under any of its names, latest first."""
    found: dict[int, FileTurn] = {}
    names = {path}
    for record in reversed(list(records)):
        change = record.change
        if change.path not in names or change.author == "undo":
            continue
        if change.moved_from:
            names.add(change.moved_from)
        later = found.get(record.turn)
        mine, is_undone = change.author == "person", record.is_undone
        found[record.turn] = FileTurn(
            record.turn,
            record.call_id,
            change.moved_to or change.path,
            (change.added or 0) + (later.added if later else 0),
            (change.removed or 0) + (later.removed if later else 0),
            mine and (later is None or later.is_mine),
            is_undone and (later is None or later.is_undone),
        )
    return list(found.values())[:MOST_LISTED]


def turn_words(turn: FileTurn) -> str:
    """Return the turn as a line of text: `Turn 3 · +12 −4 · undone`."""
    before = _tr("Before the first message")
    parts = [_tr("Turn {0}").format(turn.turn) if turn.turn else before]
    if turn.is_mine:
        parts.append(_tr("you"))
    if turn.added or turn.removed:
        parts.append(f"+{turn.added} −{turn.removed}")
    if turn.is_undone:
        parts.append(_tr("undone"))
    return " · ".join(parts)


def new_paths(event: ev.Event, known: Mapping[ChangeId, ChangeRecord]) -> dict[str, str]:
    """Return the new path of each file that `event` renamed or renamed back. `known` holds all changes."""
    match event:
        case ev.ChangesRecorded(changes=changes):
            return {change.path: change.moved_to for change in changes if change.moved_to}
        case ev.ChangesUndone(changes=changes) | ev.ChangesRedone(changes=changes):
            return dict(_moved_back(changes, known))
        case _:
            return {}


def _moved_back(changes: Iterable[FileChange], known: Mapping[ChangeId, ChangeRecord]) -> Iterator[tuple[str, str]]:
    for change in changes:
        for item in change.reverts if change.after is None else ():
            record = known.get(item.change_id)
            if record is not None and record.change.path == change.path:
                path = record.change.moved_to if item.is_redo else record.change.moved_from
                if path:
                    yield change.path, path


class RenameDialog(QDialog):
    chosen = Signal(object, object)  # the old path and the new one, both relative to the workspace

    def __init__(self, path: str, parent: QWidget, *, is_folder: bool = False) -> None:
        super().__init__(parent)
        set_up_dialog(self, "renameFileDialog", self.tr("Rename {0}").format(named(path.rpartition("/")[2])))
        self._path = path
        self._is_folder = is_folder
        self._field = make_line("renameFileField", self.tr("New name, with its path relative to the folder"))
        self._field.setText(path)
        self._field.textChanged.connect(self._on_changed)
        self._rename = make_button(self.tr("Rename"), "renameFileButton", clicked=self._on_rename, variant="primary")
        self._rename.setDefault(True)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        words = self.tr("Your change is on record, and can be undone.")
        if is_folder:
            words = self.tr("Everything in the folder moves with it. Your change is on record, and can be undone.")
        note = make_label(words, role="secondary", wraps=True)
        title = make_label(self.windowTitle(), role="title", is_plain=True)
        lay_out_dialog(self, title, self._field, note, answers=(cancel, self._rename), spacing=Space.M)
        self.setMinimumWidth(420)
        name_at = path.rfind("/") + 1
        name = path[name_at:]
        stem = name if is_folder else name.rpartition(".")[0] or name
        self._field.setSelection(name_at, len(stem))
        self._field.setFocus()
        self._on_changed()

    @property
    def _wanted(self) -> str:
        return self._field.text().strip().removeprefix("./").strip("/")

    def _on_changed(self) -> None:
        parts = self._wanted.split("/")
        is_inside_itself = self._is_folder and self._wanted.startswith(f"{self._path}/")
        is_path = self._wanted not in ("", self._path) and not {"", ".", ".."}.intersection(parts)
        self._rename.setEnabled(is_path and not is_inside_itself)

    def _on_rename(self) -> None:
        self.chosen.emit(self._path, self._wanted)
        self.accept()


class PathActions(QObject):
    """The actions on the current row. Paths are Python objects, because Qt strings lose parts that are not UTF-8."""

    file_activated = Signal(object)  # an absolute path
    application_requested = Signal(object)  # an absolute path, to be opened with its application
    show_changes_requested = Signal(object)
    mention_requested = Signal(object)  # the path of a folder ends in `/`
    turn_requested = Signal(object)  # a `FileTurn`
    rename_requested = Signal(object, object)  # the path, and the new one
    delete_requested = Signal(object)

    def __init__(self, rows: FileRows, parent: QWidget, workspace: Callable[[], Path | None]) -> None:
        super().__init__(parent)
        self._rows = rows
        self._widget = parent
        self._workspace = workspace
        self.history: Callable[[str], Sequence[FileTurn]] = lambda _path: ()
        rows.dragged = self._dragged
        rows.doubleClicked.connect(self._on_double_clicked)
        rows.chosen.connect(self.choose)
        rows.renamed.connect(self._rename)
        rows.deleted.connect(self._delete)
        rows.copied.connect(self._copy_relative)
        rows.customContextMenuRequested.connect(self._show_menu)

    def choose(self) -> None:
        if (row := self._rows.current) is not None:
            if row.is_dir:
                self._rows.toggle()
            elif (path := self._absolute()) is not None:
                self.file_activated.emit(str(path))

    def _on_double_clicked(self) -> None:
        if (row := self._rows.current) is not None and not row.is_dir:
            self.choose()

    def _show_menu(self, at: QPoint) -> None:
        index = self._rows.indexAt(at)
        if not index.isValid():
            return
        self._rows.setCurrentIndex(index)
        row = self._rows.current
        assert row is not None
        menu = QMenu(self._widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Close") if row.is_open else self.tr("Open"), self.choose)
        if not row.is_dir:
            menu.addAction(self.tr("Open with its application"), self._open_outside)
            if row.mark.is_touched:  # the review shows no other files
                menu.addAction(self.tr("Show changes"), partial(self.show_changes_requested.emit, row.path))
        mentioned = f"{row.path}/" if row.is_dir else row.path
        menu.addAction(self.tr("Mention in the message"), partial(self.mention_requested.emit, mentioned))
        if not row.is_dir and (turns := self.history(row.path)):
            listed = menu.addMenu(self.tr("History in this conversation"))
            for turn in turns:
                listed.addAction(turn_words(turn), partial(self.turn_requested.emit, turn))
        menu.addSeparator()
        menu.addAction(self.tr("Copy path"), self._copy_absolute)
        menu.addAction(self.tr("Copy relative path"), self._copy_relative)
        menu.addSeparator()
        menu.addAction(self.tr("Rename…"), self._rename).setShortcut(QKeySequence("F2"))
        if not row.is_dir:
            menu.addAction(self.tr("Delete"), self._delete).setShortcut(QKeySequence("Del"))
        menu.popup(self._rows.viewport().mapToGlobal(at))

    def _rename(self) -> None:
        if (row := self._rows.current) is not None:
            dialog = RenameDialog(row.path, self._widget.window(), is_folder=row.is_dir)
            dialog.chosen.connect(self.rename_requested)
            dialog.open()

    def _delete(self) -> None:
        if (row := self._rows.current) is not None and not row.is_dir:
            self.delete_requested.emit(row.path)

    def _absolute(self) -> Path | None:
        workspace, row = self._workspace(), self._rows.current
        return workspace / row.path if workspace is not None and row is not None else None

    def _open_outside(self) -> None:
        if (path := self._absolute()) is not None:
            self.application_requested.emit(str(path))

    def _dragged(self) -> QMimeData | None:
        if (path := self._absolute()) is None:
            return None
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        return data

    def _copy_absolute(self) -> None:
        if (path := self._absolute()) is not None:
            QGuiApplication.clipboard().setText(str(path))

    def _copy_relative(self) -> None:
        if (row := self._rows.current) is not None:
            QGuiApplication.clipboard().setText(row.path)
