"""A list of words, commands or folders that can be added to and taken from."""

from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFileDialog, QLineEdit, QListWidget, QWidget

from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox, vbox

_SHOWN_ROWS = 5


class TextsControl(QWidget):
    """Shows the entries; adds with Enter or a button, removes with Delete or a button.

    Signals:
        changed: the user wants these entries, a tuple.
    """

    changed = Signal(object)

    def __init__(self, title: str, text: str, *, has_folders: bool) -> None:
        super().__init__()
        self._title = title
        self._list = QListWidget()
        self._list.setAccessibleName(title)
        self._list.setAccessibleDescription(text)
        self._list.setProperty("variant", "boxed")
        self._list.installEventFilter(self)
        self._entry = QLineEdit()
        self._entry.setAccessibleName(self.tr("New entry for {0}").format(title))
        self._entry.setPlaceholderText(self.tr("Add a folder") if has_folders else self.tr("Add an entry"))
        self._add = make_button(self.tr("Add"), clicked=self._on_add)
        self._add.setAccessibleName(self.tr("Add to {0}").format(title))
        self._remove = make_button(self.tr("Remove"), clicked=self._on_remove)
        self._remove.setAccessibleName(self.tr("Remove from {0}").format(title))
        self._choose = make_button(self.tr("Choose…"), clicked=self._on_choose)
        self._choose.setAccessibleName(self.tr("Choose a folder for {0}").format(title))
        entry = hbox((self._entry, 1), self._add, self._choose, self._remove, spacing=Space.S)
        vbox(self._list, entry, on=self, spacing=Space.S)
        self._choose.setVisible(has_folders)
        self.setFocusProxy(self._entry)
        self._entry.returnPressed.connect(self._on_add)
        self._entry.textChanged.connect(self._update)
        self._list.currentRowChanged.connect(self._update)
        self.show_value(())

    @property
    def entries(self) -> tuple[str, ...]:
        """What the list has."""
        return tuple(self._list.item(row).text() for row in range(self._list.count()))

    def show_value(self, value: object) -> None:
        """Show what is in force."""
        entries = [str(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else []
        if self.entries != tuple(entries):
            row = self._list.currentRow()
            self._list.clear()
            self._list.addItems(entries)
            self._list.setCurrentRow(min(row, len(entries) - 1))
        self._update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remove the current entry at Delete."""
        is_delete = isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
        if watched is self._list and event.type() is QEvent.Type.KeyPress and is_delete:
            self._on_remove()
            return True
        return super().eventFilter(watched, event)

    def _on_add(self) -> None:
        self._add_text(self._entry.text())
        self._entry.clear()

    def _add_text(self, text: str) -> None:
        text = text.strip()
        if text and text not in self.entries:
            self._list.addItem(text)
            self._tell()

    def _on_remove(self) -> None:
        if self._list.currentRow() >= 0:
            self._list.takeItem(self._list.currentRow())
            self._tell()

    def _on_choose(self) -> None:
        dialog = QFileDialog(self, self._title)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self._add_text)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _tell(self) -> None:
        self._update()
        self.changed.emit(self.entries)

    def _update(self) -> None:
        self._add.setEnabled(bool(self._entry.text().strip()))
        self._remove.setEnabled(self._list.currentRow() >= 0)
        rows = min(max(self._list.count(), 1), _SHOWN_ROWS)
        self._list.setVisible(self._list.count() > 0)
        self._list.setFixedHeight(rows * Height.LIST_ROW + 2 * Space.XS + 2)
