"""How a changed file looks in the list: state, path, author, counts."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.review.changed_files import ChangedFile, Mark
from desktop_agent.ui.review.changes.change_model import ChangeModel
from desktop_agent.ui.theme import Height, Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.rows import AnyIndex, draw_area

_MARK_RADIUS = 3.5
_MARK_CENTRE = 12
_PATH_LEFT = 24
_MIN_PATH_WIDTH = 90
_TAG_PADDING = 6


class ChangeDelegate(QStyledItemDelegate):
    """Paints a `ChangedFile`: full when it is kept, half when in part, a ring while undecided, struck when undone.

    Amber with a bar is for a file whose undo clashed: it waits for the user.

    Without enough room the folder gives way first, then the tag.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(_PATH_LEFT + _MIN_PATH_WIDTH, Height.LIST_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        model = index.model()
        assert isinstance(model, ChangeModel)
        file = model.files[index.row()]
        rect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter, rect, option.state)
        self._paint_mark(painter, QPointF(rect.left() + _MARK_CENTRE, rect.center().y() + 0.5), file.mark)
        right = self._paint_counts(painter, file, model.aside_words(file), rect.adjusted(0, 0, -Space.S, 0))
        self._tag_and_path(painter, file, model.tag_words(file), rect.adjusted(_PATH_LEFT, 0, 0, 0), right)
        painter.restore()

    def _paint_ground(self, painter: QPainter, rect: QRect, state: QStyle.StateFlag) -> None:
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            draw_area(painter, self._theme, QRectF(rect), is_selected=is_selected)
        if is_selected and state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(self._theme.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            inner = QRectF(rect).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(inner, Radius.CONTROL, Radius.CONTROL)

    def _paint_mark(self, painter: QPainter, centre: QPointF, mark: Mark) -> None:
        role = {"partly": "accent", "kept": "accent", "conflict": "warning_text"}.get(mark, "faint")
        colour = self._theme.colour(role)
        ring = QRectF(centre.x() - _MARK_RADIUS, centre.y() - _MARK_RADIUS, 2 * _MARK_RADIUS, 2 * _MARK_RADIUS)
        painter.setPen(QPen(colour, 1.3))
        painter.setBrush(colour if mark == "kept" else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(ring)
        match mark:
            case "partly":
                painter.setBrush(colour)
                painter.drawPie(ring, 90 * 16, 180 * 16)
            case "undone":
                painter.drawLine(ring.bottomLeft(), ring.topRight())
            case "conflict":
                painter.drawLine(QPointF(centre.x(), ring.top() + 2), QPointF(centre.x(), ring.bottom() - 2))
            case _:
                pass

    def _paint_counts(self, painter: QPainter, file: ChangedFile, aside: str, rect: QRect) -> int:
        """Paint from the right edge; return where there is room again."""
        code, plain = self._theme.code_font(TypeSize.HEAD), self._theme.text_font(TypeSize.HEAD)
        added, removed = file.counts
        pieces = [(f"−{removed}", "removed_text", code)] if removed else []
        pieces += [(f"+{added}", "added_text", code)] if added else []
        pieces += [(aside, "muted", plain)] if aside else []
        right = rect.right()
        for text, role, font in pieces:
            painter.setFont(font)
            width = QFontMetrics(font).horizontalAdvance(text)
            painter.setPen(self._theme.colour("faint" if file.mark == "undone" else role))
            place = QRect(right - width, rect.top(), width, rect.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
            right -= width + Space.XS + 2
        return right - Space.XS

    def _tag_and_path(self, painter: QPainter, file: ChangedFile, tag: str, rect: QRect, right: int) -> None:
        tag_font = self._theme.text_font(TypeSize.HEAD)
        tag_width = QFontMetrics(tag_font).horizontalAdvance(tag) + 2 * _TAG_PADDING
        room = right - rect.left()
        has_tag = bool(tag) and room - tag_width - Space.S >= _MIN_PATH_WIDTH
        path_width = self._paint_path(painter, file, rect, room - (tag_width + Space.S if has_tag else 0))
        if not has_tag:
            return
        painter.setFont(tag_font)
        painter.setPen(self._theme.colour("border"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        height = QFontMetrics(tag_font).height() + 3
        left = rect.left() + path_width + Space.S
        frame = QRectF(left + 0.5, rect.center().y() - height / 2 + 0.5, tag_width, height)
        painter.drawRoundedRect(frame, 4, 4)
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, tag)

    def _paint_path(self, painter: QPainter, file: ChangedFile, rect: QRect, room: int) -> int:
        """Paint the folder muted and the name plain; return how wide they are."""
        folder, name = _parts(file)
        is_faded = file.mark == "undone"
        font = QFont(self._theme.text_font(TypeSize.BODY))
        font.setStrikeOut(is_faded)
        metrics = QFontMetrics(font)
        name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        name_width = metrics.horizontalAdvance(name)
        folder = metrics.elidedText(folder, Qt.TextElideMode.ElideMiddle, room - name_width)
        folder_width = metrics.horizontalAdvance(folder)
        painter.setFont(font)
        for text, left, width, role in ((folder, 0, folder_width, "muted"), (name, folder_width, name_width, "text")):
            painter.setPen(self._theme.colour("muted" if is_faded else role))
            place = QRect(rect.left() + left, rect.top(), width + 1, rect.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
        return folder_width + name_width


def _parts(file: ChangedFile) -> tuple[str, str]:
    """Return what is said muted and what is said plain: the folder and the name, and where it was before."""
    folder, slash, name = named(file.path).rpartition("/")
    if not file.moved_from:
        return folder + slash, name
    old_folder, _, old_name = file.moved_from.rpartition("/")
    if old_folder == folder:
        return folder + slash, f"{old_name} → {name}"
    return f"{file.moved_from} → {folder}{slash}", name
