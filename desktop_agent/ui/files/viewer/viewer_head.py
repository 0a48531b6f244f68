"""What stands between the tabs and the file: where it is, and what can be done with it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.files.file_words import displayed
from desktop_agent.ui.files.viewer.file_tabs import FileTabs
from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hbox
from desktop_agent.ui.wording.tooltips import plain_tooltip


class ViewerHead(QWidget):
    """Is about the file that `tabs` shows. Call `refresh` when that is another one, or has changed.

    Signals:
        application_requested: open this file (an absolute path) with its application.
    """

    application_requested = Signal(object)

    def __init__(self, tabs: FileTabs, keys: PartKeys, save: Slot) -> None:
        super().__init__(tabs)
        self._keys = keys
        self._tabs = tabs
        self._path = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._path.setObjectName("viewerPath")
        self._path.setProperty("role", "secondary")
        self._save = make_button(
            self.tr("Save"), object_name="viewerSaveButton", clicked=save, variant="primary", is_compact=True
        )
        self._find = self._button(self.tr("Find"), self._on_find)
        self._line = self._button(self.tr("Go to line"), self._on_line)
        outside = self._button(self.tr("Open with its application"), self._on_outside)
        margins = (Space.M, Space.XS, Space.S, Space.XS)
        parts = (self._path, STRETCH, self._save, self._find, self._line, outside)
        hbox(*parts, on=self, margins=margins, spacing=Space.XS)
        keys.bind("find", self._find.click, self)
        keys.bind("go_to_line", self._line.click, self)
        keys.changed.connect(self._show_keys)
        self._show_keys()

    def refresh(self) -> None:
        """Show what is so now."""
        page = self._tabs.current
        self.setVisible(page is not None)
        if page is None:
            return
        self._save.setVisible(page.is_dirty)
        self._path.setText(displayed(page.path))
        self._path.setToolTip(plain_tooltip(str(page.file)))
        self._find.setEnabled(page.text is not None)
        self._line.setEnabled(page.text is not None)

    def _show_keys(self) -> None:
        for button, action in ((self._save, "save"), (self._find, "find"), (self._line, "go_to_line")):
            button.setToolTip(self._keys.shown(action))

    def _button(self, text: str, clicked: Slot) -> QPushButton:
        return make_button(text, clicked=clicked, variant="flat", is_compact=True)

    def _on_find(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_find()

    def _on_line(self) -> None:
        if (page := self._tabs.current) is not None and page.text is not None:
            page.text.open_line()

    def _on_outside(self) -> None:
        if (page := self._tabs.current) is not None:
            self.application_requested.emit(str(page.file))
