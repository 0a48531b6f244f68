"""The rows of the session list on the screen: what keys and clicks on them mean."""

from PySide6.QtCore import QEvent, QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QListView, QWidget

from desktop_agent.ui.widgets.rows import AnyIndex, set_up_list

_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


class SessionRows(QListView):
    """The list itself. Arrow keys only move the current row; what is highlighted is the session that is shown.

    Signals:
        chosen: a click or Enter on the current row.
        toggled: the current row is to be selected, or not any more (Ctrl and a click or Space).
        extended: all rows from the last selected one to the current one are to be selected (Shift).
        all_selected: select every row (Ctrl+A).
        cleared: Escape: select none.
        deleting: Delete.
        let_go: the pointer left, or a title was typed.
    """

    chosen = Signal()
    toggled = Signal()
    extended = Signal()
    all_selected = Signal()
    cleared = Signal()
    deleting = Signal()
    let_go = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.ring = set_up_list(self)
        self.is_pointed = False
        """Whether the pointer is over the rows."""
        self._is_selecting = False
        """Whether the button that is pressed selects, so that to let go of it chooses nothing."""
        self.setObjectName("sessionList")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setLayoutMode(QListView.LayoutMode.Batched)  # thousands of rows are not laid out at once
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.clicked.connect(self._on_clicked)

    @property
    def is_editing(self) -> bool:
        """Whether a title is being typed."""
        return self.state() == QAbstractItemView.State.EditingState

    def rename(self) -> None:
        """Let the user type another title in the current row."""
        self.edit(self.currentIndex())

    def _on_clicked(self) -> None:
        self.chosen.emit()

    # --- Qt -------------------------------------------------------------------------------------------------------

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.is_pointed = event.type() == QEvent.Type.Enter
            if not self.is_pointed:
                self.let_go.emit()
        return super().viewportEvent(event)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.let_go.emit()

    def selectionCommand(self, index: AnyIndex, event: QEvent | None = None) -> QItemSelectionModel.SelectionFlag:
        return QItemSelectionModel.SelectionFlag.NoUpdate

    def mousePressEvent(self, event: QMouseEvent) -> None:
        keys = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        index = self.indexAt(event.position().toPoint())
        self._is_selecting = bool(keys) and event.button() == Qt.MouseButton.LeftButton and index.isValid()
        if not self._is_selecting:
            super().mousePressEvent(event)
            return
        self.setCurrentIndex(index)
        (self.extended if keys & Qt.KeyboardModifier.ShiftModifier else self.toggled).emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._is_selecting:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.is_editing or not self._takes(event):
            super().keyPressEvent(event)

    def _takes(self, event: QKeyEvent) -> bool:
        """Do what a key means here; False when it means what it does in every list."""
        key, keys = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        match key, keys:
            case (Qt.Key.Key_Return | Qt.Key.Key_Enter, _):
                self.chosen.emit()
            case (Qt.Key.Key_Delete, _):
                self.deleting.emit()
            case (Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier):
                self.toggled.emit()
            case (Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier):
                self.all_selected.emit()
            case (Qt.Key.Key_Escape, _):
                self.cleared.emit()
            case (Qt.Key.Key_Up | Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier):
                self.extended.emit()  # the row where it begins
                below = self.model().index(self.currentIndex().row() + _STEPS[key], 0)
                if below.isValid():
                    self.setCurrentIndex(below)
                    self.extended.emit()
            case _:
                return False
        return True
