"""The list in which the tree, or the matches of the filter, are shown."""

from collections.abc import Callable

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QDrag, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from desktop_agent.ui.theme import Height
from desktop_agent.ui.widgets.rows import set_up_list


class FileRows(QTableView):
    """Rows of one height: scrolling and inserting cost the same however many there are.

    Signals:
        chosen: Enter on the current row.
        opened: the right arrow key.
        closed: the left arrow key.
        copied: the copy shortcut.
        renamed: F2.
        deleted: the delete key.
        typed: text typed while the list has the focus.
    """

    chosen = Signal()
    opened = Signal()
    closed = Signal()
    copied = Signal()
    renamed = Signal()
    deleted = Signal()
    typed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.ring = set_up_list(self)
        self.dragged: Callable[[], QMimeData | None] = lambda: None
        """Gives what is dragged away: the current row."""
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        rows = self.verticalHeader()
        rows.hide()
        rows.setMinimumSectionSize(Height.LIST_ROW)
        rows.setDefaultSectionSize(Height.LIST_ROW)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)

    @property
    def row(self) -> int:
        """The current row, -1 if there is none."""
        return self.currentIndex().row()

    def select_row(self, row: int) -> None:
        """Make a row the current one and bring it into view."""
        self.setCurrentIndex(self.model().index(row, 0))

    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        if (data := self.dragged()) is not None:
            drag = QDrag(self)
            drag.setMimeData(data)
            drag.exec(Qt.DropAction.CopyAction)  # the file itself stays where it is

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if plain:
                self.chosen.emit()
            case Qt.Key.Key_Right if plain:
                self.opened.emit()
            case Qt.Key.Key_Left if plain:
                self.closed.emit()
            case Qt.Key.Key_F2 if plain:
                self.renamed.emit()
            case Qt.Key.Key_Delete if plain:
                self.deleted.emit()
            case _ if event.matches(QKeySequence.StandardKey.Copy):
                self.copied.emit()
            case _ if event.text().isprintable() and event.text().strip() and not _is_command(event):
                self.typed.emit(event.text())
            case _:
                super().keyPressEvent(event)


def _is_command(event: QKeyEvent) -> bool:
    commands = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
    return bool(event.modifiers() & commands)
