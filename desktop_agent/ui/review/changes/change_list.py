"""The list of changed files in the review, with what can be done to one of them."""

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu

from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.file_list import FileList
from desktop_agent.ui.theme import Theme


class ChangedFileList(FileList):
    """Lists the changed files; the current one is what the panel shows.

    Signals:
        open_requested, call_requested, keep_requested, reopen_requested, undo_requested, undo_with_word_requested,
            redo_requested: the user wants this for the current file.
    """

    open_requested = Signal()
    call_requested = Signal()
    keep_requested = Signal()
    reopen_requested = Signal()
    undo_requested = Signal()
    undo_with_word_requested = Signal()
    redo_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setObjectName("changeList")
        self.setAccessibleName(self.tr("Changed files"))
        self._can_revert = True
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        self.activated.connect(self._on_activated)

    def set_can_revert(self, can_revert: bool) -> None:
        """Whether undo and redo can be asked for now."""
        self._can_revert = can_revert

    def _on_activated(self, _index: QModelIndex) -> None:
        self.open_requested.emit()

    def _open_menu(self, at: QPoint) -> None:
        file = self.current_file
        if file is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        open_file = menu.addAction(self.tr("Open file"))
        open_file.setEnabled(file.kind != "deleted")
        open_file.triggered.connect(self.open_requested)
        call = menu.addAction(self.tr("Show the call"))
        call.setEnabled(any(record.call_id for record in file.standing))
        call.triggered.connect(self.call_requested)
        menu.addSeparator()
        self._add_decisions(menu, file)
        menu.popup(self.viewport().mapToGlobal(at))

    def _add_decisions(self, menu: QMenu, file: ChangedFile) -> None:
        is_open = file.mark != "undone" and not file.is_by_user
        for text, signal, is_offered in (
            (self.tr("Keep this file"), self.keep_requested, is_open and file.mark != "kept"),
            (self.tr("Decide again"), self.reopen_requested, is_open and file.mark in ("kept", "partly")),
            (self.tr("Undo this file"), self.undo_requested, is_open and self._can_revert),
            (
                self.tr("Undo this file with a message to the agent…"),
                self.undo_with_word_requested,
                is_open and self._can_revert and not file.is_git,
            ),
            (
                self.tr("Redo this file"),
                self.redo_requested,
                self._can_revert and file.state != "stands" and not file.is_git,
            ),
        ):
            action = menu.addAction(text)
            action.setEnabled(is_offered)
            action.triggered.connect(signal)
