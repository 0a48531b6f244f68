"""The button that leads back to the end of a conversation."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QPushButton

from desktop_agent.ui.chat.search.finder import Finder
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.theme import Space

_NEAR_END = 4
"""A fraction of the view: an end that is not further away is found without a button, which lies over text."""


class JumpButton(QPushButton):
    """Floats above the lower edge of the view while the end is well away and is not followed.

    Not over what a search has found, which goes everywhere by itself.
    """

    def __init__(self, area: QAbstractScrollArea, layout: RowLayout, finder: Finder) -> None:
        super().__init__(area)
        self._area = area
        self._layout = layout
        self._finder = finder
        self.setText(self.tr("Jump to latest ↓"))
        self.setObjectName("jumpToLatestButton")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()
        self.clicked.connect(layout.scroll_to_bottom)
        layout.laid_out.connect(self._update)
        finder.found.connect(self._update)

    def _update(self) -> None:
        is_needed = self._is_end_away() and not self._layout.reading.is_following and not self._finder.is_searching
        if is_needed:
            area, size = self._area.rect(), self.sizeHint()
            left, top = area.center().x() - size.width() // 2, area.bottom() - size.height() - Space.M
            self.setGeometry(left, top, size.width(), size.height())
            self.raise_()
        self.setVisible(is_needed)

    def _is_end_away(self) -> bool:
        bar = self._area.verticalScrollBar()
        return bar.maximum() - bar.value() > self._area.viewport().height() // _NEAR_END
