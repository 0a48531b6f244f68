"""The body of a call with pictures: thumbnails with captions. Each thumbnail opens the full picture."""

from functools import partial
from typing import ClassVar

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import BlobRef
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import CardLoader, Content, ToolBody, entry_of, picture_of
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import DrawnButton
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture

MAX_WIDTH = 480
MAX_HEIGHT = 240
_CAPTION = 22
_EMPTY_HEIGHT = 64


class PictureButton(DrawnButton):
    def __init__(self, title: str, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        self._styles = styles
        self._picture: DecodedPicture | None = None
        self._caption = self.tr("Loading…")
        self.room = MAX_WIDTH
        self.setEnabled(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._name()

    def show_loaded(self, loaded: object) -> None:
        """Show a `DecodedPicture`, or why it cannot be shown. Nothing changes before one of these was loaded."""
        if isinstance(loaded, AgentError):
            self._caption = core_words(loaded.title)
        elif isinstance(loaded, DecodedPicture) and loaded.problem:
            self._caption = entry_words.picture_problem(loaded.problem)
        elif isinstance(loaded, DecodedPicture):
            self._picture = loaded
            size = f"{loaded.size.width()} × {loaded.size.height()}"
            self._caption = " · ".join(
                (size, loaded.type_name.removesuffix(" image"), entry_words.byte_count(loaded.size_bytes))
            )
            self.setEnabled(True)
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._name()

    def _name(self) -> None:
        self.setAccessibleName(self.tr("Picture {title}: {caption}").format(title=self._title, caption=self._caption))
        self.updateGeometry()
        self.update()

    def _picture_size(self) -> QSize:
        if self._picture is None:
            return QSize(min(self.room, self._caption_width() + 2 * Space.L), _EMPTY_HEIGHT)
        size = self._picture.size
        most = QSize(min(MAX_WIDTH, self.room), MAX_HEIGHT)
        if size.width() <= most.width() and size.height() <= most.height():
            return size
        return size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))

    def sizeHint(self) -> QSize:
        size = self._picture_size()
        if self._picture is None:
            return size
        return QSize(max(size.width(), min(self._caption_width(), self.room)), size.height() + _CAPTION)

    def _caption_width(self) -> int:
        return round(QFontMetricsF(self._styles.secondary).horizontalAdvance(self._caption)) + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
            size = self._picture_size()
            area = QRectF(0.5, 0.5, size.width() - 1, size.height() - 1)
            path = QPainterPath()
            path.addRoundedRect(area, Radius.CONTROL, Radius.CONTROL)
            painter.fillPath(path, self._styles.colour("sunken"))
            if self._picture is not None:
                painter.setClipPath(path)
                painter.drawImage(QRectF(0, 0, size.width(), size.height()), self._picture.image)
                painter.setClipping(False)
            has_focus = self.hasFocus()
            painter.setPen(QPen(self._styles.colour("accent" if has_focus else "border"), 2 if has_focus else 1))
            painter.drawPath(path)
            painter.setFont(self._styles.secondary)
            painter.setPen(self._styles.colour("muted"))
            if self._picture is None:
                inner = area.adjusted(Space.S, 0, -Space.S, 0)
                painter.drawText(inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._caption)
            else:
                below = QRectF(0, size.height() + Space.XS, self.width(), _CAPTION - Space.XS)
                painter.drawText(below, Qt.AlignmentFlag.AlignVCenter, self._caption)


_MOST = 12
DECODED = QSize(2 * MAX_WIDTH, 2 * MAX_HEIGHT)
"""The size to which small pictures are decoded, large enough for two device pixels per point."""


class PicturesBody(ToolBody):
    ground: ClassVar[str] = "surface"
    is_result: ClassVar[bool] = True

    def __init__(self, card: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(card, loader)
        self._buttons: dict[str, tuple[BlobRef, PictureButton]] = {}
        """By the key under which the row stores the picture."""
        result = entry_of(self.row).result
        for ref in result.images[:_MOST] if result is not None else ():
            button = PictureButton(entry_of(self.row).title, self.styles, card)
            button.hide()
            button.clicked.connect(partial(self.actions.picture_requested.emit, ref, entry_of(self.row)))
            self._buttons[f"picture:{ref.blob}"] = ref, button
        self.widgets = [button for _, button in self._buttons.values()]
        self._show_pictures()
        self.changed.connect(self._show_pictures)

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and bool(entry.result.images)

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        return Content()

    def place_widgets(self, area: QRect) -> int:
        for _, button in self._buttons.values():
            button.room = max(1, area.width())
        return super().place_widgets(area)

    def load(self) -> None:
        for key, (ref, _) in self._buttons.items():
            self.fetch(key, partial(picture_of, ref=ref, most=DECODED))

    def _show_pictures(self) -> None:
        for key, (_, button) in self._buttons.items():
            button.show_loaded(self.row.loaded.get(key))
