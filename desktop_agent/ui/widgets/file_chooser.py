"""Asks for files or a folder with the desktop's own dialog if it has a portal, else with Qt's."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSize, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QFileDialog, QHeaderView, QToolButton, QTreeView, QWidget
from shiboken6 import isValid

from desktop_agent.core.system.session_bus import ChosenFiles, FileQuestion, ask_portal
from desktop_agent.ui.widgets.layouts import resize_within_screen

Chosen = Callable[[ChosenFiles], object]
"""Called with what the user chose, unless they cancelled."""

_PATIENCE_S: Final = 2.0
"""How long the portal may take to say that it asks, before Qt's dialog asks."""

_SIZE, _LEAST_SIZE = QSize(760, 480), QSize(480, 320)
_SIGNS: Final = {"backButton": "←", "forwardButton": "→", "toParentButton": "↑", "newFolderButton": "+"}
"""The texts of buttons whose icons, drawn by Qt, cannot be seen in a dark theme."""

_log = logging.getLogger(__name__)


def choose_files(
    parent: QWidget, question: FileQuestion, chosen: Chosen, *, object_name: str = "", recent: Sequence[str] = ()
) -> None:
    """Ask the user. Qt's dialog lists the `recent` folders first; a portal's dialog has a list of its own."""
    chooser = _FileChooser(parent, question, chosen, recent)
    try:
        loop = asyncio.get_running_loop() if sys.platform == "linux" and _has_bus() else None
    except RuntimeError:
        loop = None
    if loop is None:
        chooser.open_qt_dialog(object_name)
    else:
        chooser.destroyed.connect(loop.create_task(chooser.ask_desktop(object_name), name="file chooser").cancel)


def _has_bus() -> bool:
    address = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    path = address.removeprefix("unix:path=").partition(",")[0]
    return bool(address) and (path == address or os.path.exists(path))  # noqa: PTH110 - Path's raises


class _FileChooser(QObject):
    """One question. Another one with the same parent takes it back: a desktop's dialog is not modal everywhere."""

    def __init__(self, parent: QWidget, question: FileQuestion, chosen: Chosen, recent: Sequence[str]) -> None:
        for before in parent.findChildren(_FileChooser, options=Qt.FindChildOption.FindDirectChildrenOnly):
            before.deleteLater()
        super().__init__(parent)
        self._over = parent
        self._question = question
        self._chosen = chosen
        self._recent = recent

    async def ask_desktop(self, object_name: str) -> None:
        is_x11 = QGuiApplication.platformName() == "xcb"
        window = f"x11:{int(self._over.window().winId()):x}" if is_x11 else ""
        try:
            answer = await ask_portal(self._question, window, patience_s=_PATIENCE_S)
        except Exception as error:  # noqa: BLE001 - another program on the bus may answer anything
            _log.info("The desktop asks for no files: %s", type(error).__name__)
            if isValid(self):
                self.open_qt_dialog(object_name)
            return
        if isValid(self):
            self.deleteLater()
            if answer.paths:
                self._chosen(answer)

    def open_qt_dialog(self, object_name: str) -> None:
        question = self._question
        dialog = QFileDialog(self._over, question.title, question.folder)
        dialog.setObjectName(object_name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.destroyed.connect(self.deleteLater)
        modes = {"file": QFileDialog.FileMode.ExistingFile, "files": QFileDialog.FileMode.ExistingFiles}
        modes |= {"folder": QFileDialog.FileMode.Directory, "save": QFileDialog.FileMode.AnyFile}
        dialog.setFileMode(modes[question.kind])
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, question.kind == "folder")
        if question.kind == "save":
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        if question.filters:
            dialog.setNameFilters(question.filters)
        if self._recent:
            recent = [QUrl.fromLocalFile(folder) for folder in self._recent]
            dialog.setSidebarUrls([*recent, *(url for url in dialog.sidebarUrls() if url not in recent)])
        if question.name:
            self._follow_filter(dialog)
            dialog.selectFile(question.name)
            dialog.filterSelected.connect(self._on_filter)
        _fit(dialog, is_for_folders=question.kind == "folder")
        if question.kind == "files":
            dialog.filesSelected.connect(self._on_selected)
        else:
            dialog.fileSelected.connect(self._on_selected)
        dialog.open()

    def _on_selected(self, selected: str | list[str]) -> None:
        dialog = self.sender()
        assert isinstance(dialog, QFileDialog)
        paths = (selected,) if isinstance(selected, str) else tuple(selected)
        self._chosen(ChosenFiles(paths, dialog.selectedNameFilter()))

    def _on_filter(self) -> None:
        dialog = self.sender()
        assert isinstance(dialog, QFileDialog)
        self._follow_filter(dialog)
        if selected := dialog.selectedFiles():
            dialog.selectFile(Path(selected[0]).with_suffix(f".{dialog.defaultSuffix()}").name)

    def _follow_filter(self, dialog: QFileDialog) -> None:
        """Give a name without a suffix that of the chosen filter, whose words end in `(*.suffix)`."""
        dialog.setDefaultSuffix(dialog.selectedNameFilter().rpartition("*.")[2].rstrip(")"))


def _fit(dialog: QFileDialog, *, is_for_folders: bool) -> None:
    """Fit Qt's dialog to the theme, and its columns to its width. The system's dialog has no such parts."""
    rows = dialog.findChild(QTreeView, "treeView")
    if rows is None:
        return
    dialog.setViewMode(QFileDialog.ViewMode.Detail)
    for button in dialog.findChildren(QToolButton):
        sign = _SIGNS.get(button.objectName(), "")
        button.setIcon(QIcon())
        button.setText(sign)
        button.setVisible(bool(sign))  # not the two that choose the view
    dialog.setSizeGripEnabled(False)
    for column in range(rows.model().columnCount()):
        mode = QHeaderView.ResizeMode.ResizeToContents if column else QHeaderView.ResizeMode.Stretch
        rows.header().setSectionResizeMode(column, mode)
        rows.setColumnHidden(column, is_for_folders and column in (1, 2))  # size and type, the same for all folders
    resize_within_screen(dialog, _SIZE, _LEAST_SIZE)
