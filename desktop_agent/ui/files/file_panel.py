"""The panel with the workspace's files: the filter, the tree, and the last action on a file."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.core.base.matching import Matches
from desktop_agent.core.system.git.repository import NoStatus, RepoStatus
from desktop_agent.ui.files.file_rows import FileRows
from desktop_agent.ui.files.file_tree_model import FileTreeModel, why_no_marks
from desktop_agent.ui.files.path_actions import PathActions
from desktop_agent.ui.files.tree_reader import FolderWatch, Spawn, TreeReader
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import compact_button, make_line
from desktop_agent.ui.widgets.labels import make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, stack, vbox


class DoneBar(QFrame):
    undo_requested = Signal(object)  # the ids of the changes

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("filesDoneBar")
        self._changes: tuple[str, ...] = ()
        self._words = make_label(role="secondary", object_name="filesDone", wraps=True, is_plain=True)
        self._undo = compact_button(self.tr("Undo"), "filesUndoButton", clicked=self._on_undo)
        close = compact_button("✕", accessible_name=self.tr("Close"), clicked=self.hide, variant="flat")
        margins = (Space.S, Space.XS, 0, Space.XS)
        hbox((self._words, 1), self._undo, close, on=self, margins=margins, spacing=Space.XS)
        self.hide()

    def say(self, words: str, changes: tuple[str, ...] = ()) -> None:
        self._changes = changes
        self._words.setText(words)
        self.setAccessibleName(words)
        self._undo.setVisible(bool(changes))
        self.show()

    def _on_undo(self) -> None:
        self.hide()
        self.undo_requested.emit(self._changes)


class FileTree(QWidget):
    """Reads, watches and marks files while visible. `file_actions` emits the user's requests."""

    repository_changed = Signal(object)  # a `RepoStatus`, or a `NoStatus` with the reason

    def __init__(self, theme: Theme, spawn: Spawn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_outdated = False
        self.done = DoneBar()
        self._model = FileTreeModel(self)
        self._reader = TreeReader(self._model, spawn, self)
        self._watch = FolderWatch(self)
        self._build(theme)
        self._filter.textChanged.connect(self._on_filter_changed)
        self.file_actions = PathActions(self._rows, self, lambda: self._reader.workspace)
        self._filter.returnPressed.connect(self.file_actions.choose)
        self._rows.typed.connect(self._on_typed)
        self._model.folders_changed.connect(self._watch_folders)
        self._model.was_read.connect(self._update_message)
        self._reader.repository_read.connect(self._on_repository_read)
        self._reader.repository_moved.connect(self._watch.poll_often)
        self._reader.matches_found.connect(self._on_matches_found)
        self._watch.folder_changed.connect(self._on_folder_changed)
        self._watch.repository_changed.connect(self._reader.read_repository)
        self._watch.due.connect(self._reader.poll_repository)
        self._update_message()

    def set_workspace(self, path: Path | None) -> None:
        self._filter.clear()
        self._note.hide()
        self.done.hide()
        self._reader.start(path)
        self._filter.setEnabled(path is not None)
        self._watch.watch_repository(None)
        self._update_message()

    def set_touched(self, paths: Iterable[str]) -> None:
        self._reader.set_touched(paths)
        self._watch.nudge()

    def refresh(self) -> None:
        for folder in self._model.folders():
            self._reader.read_folder(folder.path)
        self._reader.read_repository()

    def focus_filter(self) -> None:
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.selectAll()

    def set_filter_shortcut(self, text: str) -> None:
        self._shortcut.setText(text)

    def _build(self, theme: Theme) -> None:
        self.setObjectName("filesPanel")
        self._shortcut = make_label(role="hint")
        self._shortcut.setFont(theme.code_font(TypeSize.HEAD))
        heading = make_label(self.tr("Files"), role="heading")
        top = hbox(heading, STRETCH, self._shortcut, margins=(Space.S, 0, Space.S, 0), spacing=Space.S)

        self._filter = make_line("fileFilter", self.tr("Filter files"), self.tr("Filter files"), is_clearable=True)
        self._filter.setEnabled(False)

        self._rows = FileRows(self._model, theme)
        set_names(self._rows, "fileTree", self.tr("Files"))
        theme.changed.connect(self._rows.viewport().update)

        # the text contains output of git and file names
        self._message = make_label(role="secondary", wraps=True, is_plain=True)
        self._message.setContentsMargins(Space.S, Space.S, Space.S, Space.S)
        self._message.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._pages = stack(self._rows, self._message, on=self)

        self._note = make_label(role="secondary", wraps=True, is_plain=True)
        self._note.setContentsMargins(Space.S, Space.XS, Space.S, Space.XS)
        self._note.hide()

        margins = (Space.S, Space.M, Space.S, Space.S)
        vbox(top, self._filter, (self._pages, 1), self._note, self.done, on=self, margins=margins, spacing=Space.S)

    def _on_typed(self, text: str) -> None:
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.setText(text)

    def _on_filter_changed(self, text: str) -> None:
        if not text.strip():
            if self._rows.is_filtering:
                self._rows.show_tree()
                self._note.hide()
            self._update_message()
            return
        if not self._rows.is_filtering:
            self._reader.forget_files()
        self._reader.find(text)

    def _on_matches_found(self, matches: Matches) -> None:
        if not self._filter.text().strip():
            return
        self._rows.show_matches(matches)
        self._update_message()
        if matches.best:
            self._rows.select_row(0)
        shown = len(matches.best)
        show_text(self._note, self.tr("{0} of {1} files").format(shown, matches.total) if matches.total > shown else "")

    def _watch_folders(self) -> None:
        if self._reader.workspace is not None:
            self._watch.watch_folders(self._reader.workspace / folder.path for folder in self._model.folders())

    def _on_folder_changed(self, folder: str) -> None:
        if self._reader.workspace is not None:
            relative = Path(folder).relative_to(self._reader.workspace).as_posix()
            self._reader.read_folder("" if relative == "." else relative)

    def _on_repository_read(self, answer: RepoStatus | NoStatus) -> None:
        repository = self._reader.repository
        self._watch.watch_repository(None if repository is None else repository.git_dir)
        if not self._rows.is_filtering:
            show_text(self._note, why_no_marks(answer) if isinstance(answer, NoStatus) else "")
        self.repository_changed.emit(answer)

    def _update_message(self) -> None:
        workspace = self._model.root
        if self._rows.is_filtering:
            text = "" if self._rows.model().rowCount() else self.tr("No file matches.")
        elif self._reader.workspace is None:
            text = self.tr("Choose a folder to see its files.")
        elif workspace.problem:
            text = self.tr("This folder cannot be read: {0}").format(workspace.problem)
        elif workspace.is_loaded and not self._model.rowCount():
            text = self.tr("This folder is empty.")
        else:
            text = ""
        self._message.setText(text)
        self._pages.setCurrentWidget(self._message if text else self._rows)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch.resume()
        if self._is_outdated:
            self._is_outdated = False
            self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch.pause()
        self._is_outdated = True

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self._watch.is_active:
            self._watch.poll_often()
            self.refresh()  # the user comes back from an editor or a terminal

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._filter.text():
            self._filter.clear()
            self._rows.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif event.key() == Qt.Key.Key_Down and self._filter.hasFocus():
            self._rows.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            super().keyPressEvent(event)
