"""Questions asked before an action on a session. They never block."""

from collections.abc import Sequence

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.translation.core_words import plural

_MAX_TITLE = 80


class DeleteQuestion(QMessageBox):
    confirmed = Signal()

    def __init__(self, sessions: Sequence[SessionSummary], size_bytes: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("deleteSessionDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Delete session") if len(sessions) == 1 else self.tr("Delete sessions"))
        self.setTextFormat(Qt.TextFormat.PlainText)
        titles = [_short(session.title or self.tr("New session")) for session in sessions]
        size = QLocale().formattedDataSize(size_bytes)
        if len(sessions) == 1:
            self.setText(self.tr("Delete “{0}”?").format(titles[0]))
            lost = self.tr("The conversation ({0}) and the undo history of its changes are deleted permanently.")
            stays = self.tr("The files in {0} stay as they are.").format(named(sessions[0].workspace))
        else:
            self.setText(plural("DeleteQuestion", len(sessions), "Delete %n session?", "Delete %n sessions?"))
            lost = self.tr("The conversations ({0}) and the undo history of their changes are deleted permanently.")
            stays = self.tr("The files in their folders stay as they are.")
            self.setDetailedText("\n".join(titles))
        self.setInformativeText(f"{lost.format(size)}\n\n{stays}")
        self._delete = self.addButton(self.tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        self._delete.setObjectName("deleteSessionButton")
        cancel = self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)
        self.buttonClicked.connect(self._on_clicked)

    def _on_clicked(self, button: QAbstractButton) -> None:
        if button is self._delete:
            self.confirmed.emit()


class ImportedAlreadyQuestion(QMessageBox):
    opening = Signal()
    importing = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("importedAlreadyDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Import a conversation"))
        self.setText(self.tr("This conversation was imported already."))
        self.setInformativeText(self.tr("Importing it again makes a second session; the first one stays."))
        self._open = self.addButton(self.tr("Open it"), QMessageBox.ButtonRole.AcceptRole)
        self._again = self.addButton(self.tr("Import again"), QMessageBox.ButtonRole.ActionRole)
        self.setEscapeButton(self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole))
        self.setDefaultButton(self._open)
        self.buttonClicked.connect(self._on_clicked)

    def _on_clicked(self, button: QAbstractButton) -> None:
        if button is self._open:
            self.opening.emit()
        elif button is self._again:
            self.importing.emit()


def _short(title: str) -> str:
    shown = named(title)
    return shown if len(shown) <= _MAX_TITLE else f"{shown[: _MAX_TITLE - 1]}…"
