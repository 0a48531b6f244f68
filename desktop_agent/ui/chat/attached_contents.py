"""Chips for a message's pictures and pasted contents, which its text only names."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QTextCursor,
)
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.composer.field_offers import MentionedContent, contents_in
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.entry_words import byte_count, picture_problem
from desktop_agent.ui.theme import Height, Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import DrawnButton, compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import discard, flow
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording import plain_tooltip, utf16_length

THUMBNAIL = QSize(256, 256)
"""The size to which thumbnails are decoded, large enough for two device pixels per point."""

_SIDE = 40
_HEIGHT = _SIDE + 2 * Space.XS
_WIDTH = 224
_BARE = 96


class ContentChip(DrawnButton):
    def __init__(
        self, name: str, detail: str, colour: Callable[[str], QColor], parent: QWidget, *, is_picture: bool
    ) -> None:
        """`detail` is shown below the name. `colour` resolves a theme role. `is_picture` selects a placeholder."""
        super().__init__(parent)
        self.name = name
        self.detail = detail
        self._colour = colour
        self.thumbnail = QImage()
        self._is_picture = is_picture
        self.is_bare = False
        self.reserved = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_content(self, size_bytes: int, picture: DecodedPicture | None) -> str:
        """Return why the picture cannot be shown; empty if it can."""
        details, problem = [byte_count(size_bytes)], ""
        if picture is not None and picture.problem:
            details.insert(0, self.tr("Cannot be shown"))
            problem = picture_problem(picture.problem)
        elif picture is not None:
            details.insert(0, f"{picture.size.width():,} × {picture.size.height():,}")
            self.thumbnail = picture.image
        self.detail = " · ".join(details)
        self.update()
        return problem

    def sizeHint(self) -> QSize:
        return QSize(_BARE, _BARE) if self.is_bare else QSize(_WIDTH, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
            if self.is_bare:
                self._paint_square(painter, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
                self.draw_ring(painter, self._colour("accent"))
                return
            edge = self._colour("control_border" if self.underMouse() else "border")
            draw_box(painter, QRectF(self.rect()), edge, self._colour("surface"), Radius.CONTROL)
            self._paint_square(painter, QRectF(Space.XS, Space.XS, _SIDE, _SIDE))
            left = _SIDE + Space.XS + Space.S
            room = self.width() - left - Space.S - self.reserved
            half = self.height() / 2
            above, below = Qt.AlignmentFlag.AlignBottom, Qt.AlignmentFlag.AlignTop
            self._paint_line(painter, self.name, QRectF(left, 0, room, half - 1), above, "text", TypeSize.SECONDARY)
            self._paint_line(painter, self.detail, QRectF(left, half + 1, room, half), below, "muted", TypeSize.HEAD)
            self.draw_ring(painter, self._colour("accent"))

    def _paint_line(
        self, painter: QPainter, text: str, area: QRectF, edge: Qt.AlignmentFlag, role: str, size: float
    ) -> None:
        font = QFont(self.font())
        font.setPixelSize(round(size))
        painter.setFont(font)
        painter.setPen(self._colour(role))
        mode = Qt.TextElideMode.ElideMiddle if edge == Qt.AlignmentFlag.AlignBottom else Qt.TextElideMode.ElideRight
        shown = QFontMetricsF(font).elidedText(text, mode, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | edge | Qt.TextFlag.TextSingleLine, shown)

    def _paint_square(self, painter: QPainter, area: QRectF) -> None:
        path = QPainterPath()
        path.addRoundedRect(area, Radius.CONTROL - 1, Radius.CONTROL - 1)
        painter.fillPath(path, self._colour("sunken"))
        if self.thumbnail.isNull():
            painter.setPen(QPen(self._colour("muted"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            (_paint_picture_sign if self._is_picture else _paint_text_sign)(painter, area.center())
            return
        size = self.thumbnail.size()
        side = min(size.width(), size.height())
        middle = QRectF((size.width() - side) / 2, (size.height() - side) / 2, side, side)
        painter.save()
        painter.setClipPath(path)
        painter.drawImage(area, self.thumbnail, middle)
        painter.restore()
        painter.setPen(QPen(self._colour("border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)


def _paint_text_sign(painter: QPainter, at: QPointF) -> None:
    painter.drawRoundedRect(QRectF(at.x() - 8, at.y() - 10, 16, 20), 2, 2)
    for y, width in ((-4.5, 8), (0, 8), (4.5, 5)):
        painter.drawLine(QPointF(at.x() - 4, at.y() + y), QPointF(at.x() - 4 + width, at.y() + y))


def _paint_picture_sign(painter: QPainter, at: QPointF) -> None:
    painter.drawRoundedRect(QRectF(at.x() - 10, at.y() - 8, 20, 16), 2, 2)
    painter.drawEllipse(QPointF(at.x() + 4, at.y() - 3), 1.5, 1.5)
    places = ((-10, 5), (-4, -2), (1, 3), (4, 1), (10, 6))
    painter.drawPolyline([QPointF(at.x() + x, at.y() + y) for x, y in places])


_MOST_SHOWN = 6


class ContentPreview(NamedTuple):
    size_bytes: int
    picture: DecodedPicture | None = None
    """For a picture: a small version, or the reason why it cannot be shown."""
    is_too_large: bool = False


class AttachedContents(QObject):
    wanted = Signal(object)  # a `MentionedContent`; the owner passes its data to `show`
    opened = Signal(object)  # a `MentionedContent`, to be shown in a window
    changed = Signal()  # the chips changed and must be placed again

    def __init__(self, edit: MessageEdit, theme: Theme, composer: QWidget) -> None:
        super().__init__(composer)
        self._edit = edit
        self._theme = theme
        self._composer = composer
        self._mentioned: tuple[MentionedContent, ...] = ()
        self._chips: dict[MentionedContent, _RemovableChip] = {}
        """The chips in the order of the text. A content gets one once it is known to exist."""
        self._more = make_label(role="secondary", parent=composer)
        self._more.hide()
        edit.textChanged.connect(self._on_text_changed)

    def show(self, content: MentionedContent, preview: ContentPreview | None) -> None:
        if content not in self._mentioned:
            return
        if preview is None:
            self._drop([content])
            return
        chip = self._chips.get(content) or self._make_chip(content)
        chip.show_preview(preview)
        self._arrange()

    def look_again(self) -> None:
        self._drop(list(self._chips))
        self._mentioned = ()
        self._on_text_changed()

    def place(self, area: QRect) -> int:
        shown = [chip for chip in (*self._chips.values(), self._more) if not chip.isHidden()]
        height = flow(shown, area) + Space.S if shown else 0
        for chip in self._chips.values():
            chip.place_button()
        return height

    def _on_text_changed(self) -> None:
        before, self._mentioned = self._mentioned, tuple(contents_in(self._edit.toPlainText()))
        if self._mentioned == before:
            return
        self._drop([content for content in self._chips if content not in self._mentioned])
        for content in self._mentioned:
            if content not in before:
                self.wanted.emit(content)

    def _drop(self, contents: Sequence[MentionedContent]) -> None:
        gone = [self._chips.pop(content) for content in contents if content in self._chips]
        for chip in gone:
            if chip.hasFocus() or chip.remove.hasFocus():
                self._edit.setFocus(Qt.FocusReason.OtherFocusReason)
            discard(chip)
        if gone:
            self._arrange()

    def _make_chip(self, content: MentionedContent) -> "_RemovableChip":
        chip = _RemovableChip(content, self._theme, self._composer)
        self._theme.changed.connect(chip.update)
        chip.clicked.connect(partial(self.opened.emit, content))
        chip.removed.connect(partial(self._remove, content))
        self._chips[content] = chip
        return chip

    def _arrange(self) -> None:
        self._chips = {content: self._chips[content] for content in self._mentioned if content in self._chips}
        chips = list(self._chips.values())
        for at, chip in enumerate(chips):
            chip.setVisible(at < _MOST_SHOWN)
        stops: list[QWidget] = [stop for chip in chips[:_MOST_SHOWN] for stop in (chip, chip.remove)]
        for before, stop in pairwise((self._edit, *stops, self._edit) if stops else ()):
            QWidget.setTabOrder(before, stop)
        more = len(chips) - _MOST_SHOWN
        self._more.setText(self.tr("and {count} more").format(count=more))
        self._more.setVisible(more > 0)
        self.changed.emit()

    def _remove(self, content: MentionedContent) -> None:
        text = self._edit.toPlainText()
        cursor = QTextCursor(self._edit.document())
        cursor.beginEditBlock()
        for start, end in reversed(contents_in(text).get(content, [])):
            is_apart = text[end : end + 1] == " " and (start == 0 or text[start - 1].isspace())
            cursor.setPosition(utf16_length(text[:start]))
            cursor.setPosition(utf16_length(text[: end + is_apart]), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
        cursor.endEditBlock()
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)


class _RemovableChip(ContentChip):
    removed = Signal()

    def __init__(self, content: MentionedContent, theme: Theme, parent: QWidget) -> None:
        name = content.name.rpartition("/")[2]
        super().__init__(name, "", theme.colour, parent, is_picture=content.is_picture)
        self.setObjectName("contentChip")
        self.setToolTip(plain_tooltip(content.name))
        self._content = content
        self.remove = compact_button("×", "removeContentButton", clicked=self.removed, variant="flat", parent=self)
        self.remove.setAccessibleName(self.tr("Remove {name} from the message").format(name=name))
        self.remove.setToolTip(self.tr("Remove it from the message"))
        self.remove.setFixedWidth(Height.BUTTON)
        self.reserved = Height.BUTTON

    def show_preview(self, preview: ContentPreview) -> None:
        problem = self.show_content(preview.size_bytes, preview.picture)
        if preview.is_too_large:
            known = byte_count(preview.size_bytes) if problem else self.detail
            self.detail = " · ".join((self.tr("Too large for a model"), known))
        self.setToolTip(plain_tooltip("\n".join(filter(None, (self._content.name, problem, self.detail)))))
        self.setAccessibleName(self.tr("Attached: {name}, {detail}").format(name=self.name, detail=self.detail))
        self.setAccessibleDescription(self.tr("Enter shows it, Delete removes it from the message."))

    def place_button(self) -> None:
        width, height = Height.BUTTON, self.remove.sizeHint().height()
        self.remove.setGeometry(self.width() - width - Space.XS, (self.height() - height) // 2, width, height)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.update()
        return super().event(event)
