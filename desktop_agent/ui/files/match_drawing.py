"""Draws the rows of matches."""

from PySide6.QtCore import QObject, QRectF
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from desktop_agent.ui.files.drawing import FileDelegate
from desktop_agent.ui.files.file_words import displayed
from desktop_agent.ui.files.matches_model import MatchesModel
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.emphasis import draw_emphasised
from desktop_agent.ui.widgets.rows import AnyIndex, FocusRing, draw_ground


class MatchDelegate(FileDelegate):
    """Draws one match: the file's name, its folder after it, and what was typed emphasised in both."""

    def __init__(self, model: MatchesModel, theme: Theme, ring: FocusRing, parent: QObject) -> None:
        super().__init__(theme, ring, parent)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        match = self._model.match_at(index.row())
        mark = self._model.mark_at(index.row())
        painter.save()
        colour = draw_ground(painter, self.theme, option, self.ring)
        rect = QRectF(option.rect).adjusted(Space.S, 0, -Space.S, 0)
        rect = self.draw_mark(painter, rect, mark, is_folder=False)
        shown = displayed(match.text)
        name_at = shown.rfind("/") + 1
        found = [(len(displayed(match.text[:start])), len(displayed(match.text[:end]))) for start, end in match.spans]
        name_spans = [(max(start, name_at) - name_at, end - name_at) for start, end in found if end > name_at]
        folder_spans = [(start, min(end, name_at - 1)) for start, end in found if start < name_at - 1]
        used = draw_emphasised(painter, self.theme, rect, shown[name_at:], name_spans, colour, self.fonts.text)
        rect.setLeft(rect.left() + used + Space.S)
        folder, dropped = _elided_left(shown[: max(name_at - 1, 0)], QFontMetricsF(self.fonts.small), rect.width())
        spans = [(max(start - dropped, 0), end - dropped) for start, end in folder_spans if end > dropped]
        draw_emphasised(painter, self.theme, rect, folder, spans, self.theme.colour("muted"), self.fonts.small)
        painter.restore()


def _elided_left(text: str, metrics: QFontMetricsF, width: float) -> tuple[str, int]:
    """Return the end of `text` that fits, and how many characters its beginning lost (the sign for it included)."""
    if metrics.horizontalAdvance(text) <= width:
        return text, 0
    for start in range(1, len(text)):
        shorter = f"…{text[start:]}"
        if metrics.horizontalAdvance(shorter) <= width:
            return shorter, start - 1
    return "", len(text)
