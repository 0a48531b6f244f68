"""A new name for a file or folder."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from desktop_agent.ui.files.file_words import displayed
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.dialogs import DIALOG_MARGINS, set_up_dialog
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_WIDTH = 420


class RenameDialog(QDialog):
    """Asks for the path that a file or folder shall have. Show it with `open()`.

    Signals:
        chosen: the old path and the new one, both from the folder on.
    """

    chosen = Signal(object, object)

    def __init__(self, path: str, parent: QWidget, *, is_folder: bool = False) -> None:
        super().__init__(parent)
        set_up_dialog(self, "renameFileDialog", self.tr("Rename {0}").format(displayed(path.rpartition("/")[2])))
        self._path = path
        self._is_folder = is_folder
        self._field = QLineEdit(path)
        self._field.setObjectName("renameFileField")
        self._field.setAccessibleName(self.tr("New name, with its path from the folder on"))
        self._field.textChanged.connect(self._on_changed)
        self._rename = make_button(
            self.tr("Rename"), object_name="renameFileButton", clicked=self._on_rename, variant="primary"
        )
        self._rename.setDefault(True)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        words = self.tr("Your change is on record, and can be undone.")
        if is_folder:
            words = self.tr("All that is in the folder goes with it. Your change is on record, and can be undone.")
        note = make_label(words, role="secondary", wraps=True)
        vbox(
            make_label(self.windowTitle(), role="title", is_plain=True),
            self._field,
            note,
            hbox(STRETCH, cancel, self._rename, spacing=Space.S),
            on=self,
            margins=DIALOG_MARGINS,
            spacing=Space.M,
        )
        self.setMinimumWidth(_WIDTH)
        name_at = (path.rpartition("/")[0] and path.rfind("/") + 1) or 0
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
