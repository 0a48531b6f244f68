"""What the user asked: a bubble on the right, its text as it was written, what came with it, and a way to edit it."""

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.events import PromptSubmitted, Steered
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.entries.prompts.attachments import PromptAttachments
from desktop_agent.ui.chat.entries.prompts.prompt_editor import PromptEditor
from desktop_agent.ui.chat.entries.quiet_button import QuietButton
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.theme import Space

PADDING_X = 14
PADDING_Y = 9
_SHARE = 0.8
"""How much of the width a bubble takes at most."""
_RADIUS = 10
_CORNER = 2
_MEASURED_CHARS = 400

EDIT = "edit"
"""Names what the user makes of the prompt among a row's drafts."""


class PromptWidget(EntryWidget):
    """A prompt of the user, or a message that reached the agent in the middle of a turn: that is not edited."""

    def __init__(self, place: EntryPlace, loader: CardLoader | None) -> None:
        """`loader` gets the pictures that came with it."""
        super().__init__(place, Column(place.styles, ground="sunken"))
        self._width = 0
        self._editor: PromptEditor | None = None
        self._attachments = PromptAttachments(self._prompt.attachments, place, loader, self)
        self._attachments_height = 0
        self._text_area_width = 0
        self._button = QuietButton(self.tr("Edit"), self)
        self._button.setObjectName("editPromptButton")
        self._button.setAccessibleName(self.tr("Edit this message and send it again"))
        self._button.clicked.connect(self.begin_edit)
        self._button.setVisible(self._is_editable)
        self.refresh()

    @property
    def _prompt(self) -> PromptSubmitted | Steered:
        entry = self.row.entry
        return entry if isinstance(entry, Steered) else self.row.entry_as(PromptSubmitted)

    @property
    def _is_editable(self) -> bool:
        return isinstance(self.row.entry, PromptSubmitted)

    def refresh(self) -> None:
        text = self._prompt.text
        self.column.set_blocks(plain_blocks(text), {}, 0)
        name = self.tr("You: {text}") if self._is_editable else self.tr("You, while the agent worked: {text}")
        self.setAccessibleName(name.format(text=text[:_MEASURED_CHARS]))
        if self._editor is None and EDIT in self.row.drafts:
            self._open_editor(self.row.drafts[EDIT])
            if self._width:
                self.set_width(self._width)

    def set_width(self, width: int) -> None:
        self._width = width
        if self._editor is not None:
            self._editor.set_width(int(width * _SHARE))
            self._editor.setGeometry(width - self._editor_width, 0, self._editor_width, self._editor.wanted_height())
        limit = int(width * _SHARE) - 2 * PADDING_X
        text_width = max(self._text_width(limit), min(self._attachments.natural_width, limit))
        self.column.set_width(text_width)
        self.column_origin = QPoint(width - text_width - PADDING_X, PADDING_Y)
        self._text_area_width = text_width
        self.arrange()
        size = self._button.sizeHint()
        left = self.column_origin.x() - PADDING_X - size.width() - Space.XS
        self._button.setGeometry(left, PADDING_Y - Space.XS, size.width(), size.height())

    def arrange(self) -> None:
        below = PADDING_Y + self.column.height
        self._attachments_height = self._attachments.place(self.column_origin.x(), below, self._text_area_width)

    @property
    def _editor_width(self) -> int:
        return int(self._width * _SHARE)

    def _text_width(self, limit: int) -> int:
        """Return how wide the bubble's text is: short prompts have short bubbles."""
        text = self._prompt.text
        if len(text) > _MEASURED_CHARS:
            return limit
        metrics = QFontMetricsF(self.styles.body)
        widest = max(metrics.horizontalAdvance(line) for line in text.split("\n"))
        return max(min(limit, int(widest) + 2), Space.XL)

    def entry_height(self) -> int:
        if self._editor is not None:
            return self._editor.wanted_height()
        return self.column.height + self._attachments_height + 2 * PADDING_Y

    def tab_stops(self) -> list[QWidget]:
        if self._editor is not None:
            return [self, *self._editor.tab_stops()]
        edit = [self._button] if self._is_editable else []
        return [self, *edit, *self._attachments.buttons]

    def source(self) -> str:
        return self._prompt.text

    @property
    def is_column_shown(self) -> bool:
        return self._editor is None

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        is_edited = self._editor is not None
        x = self.width() - self._editor_width if is_edited else self.column_origin.x() - PADDING_X
        bubble = QRectF(x, 0, self.width() - x, self.height()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.styles.colour("accent" if is_edited else "border"), 1))
        painter.setBrush(self.styles.colour("surface" if is_edited else "sunken"))
        painter.drawPath(_speech_bubble(bubble))
        painter.setBrush(Qt.BrushStyle.NoBrush)

    # -- editing --

    def begin_edit(self) -> None:
        """Turn into a field with the prompt's text; it is sent again only when the user says so."""
        if self._editor is None and self._is_editable:
            self.row.drafts[EDIT] = self._prompt.text
            self._open_editor(self._prompt.text)
            self._resize()
        if self._editor is not None:
            self._editor.put_cursor_at_end()

    def _open_editor(self, text: str) -> None:
        self._button.hide()
        self._attachments.show(is_shown=False)
        self._editor = editor = PromptEditor(text, self)
        editor.changed.connect(self._on_changed)
        editor.cancel.clicked.connect(self._close_editor)
        editor.sent.connect(self._on_sent)
        editor.resized.connect(self._resize)
        editor.show()

    def _close_editor(self) -> None:
        if self._editor is None:
            return
        editor, self._editor = self._editor, None
        self.row.drafts.pop(EDIT, None)
        self._button.show()
        self._attachments.show(is_shown=True)
        if editor.isAncestorOf(editor.focusWidget() or self):
            self._button.setFocus(Qt.FocusReason.OtherFocusReason)
        editor.hide()
        editor.deleteLater()
        self.entry_actions.edit_closed.emit(self._prompt.turn)
        self._resize()

    def _on_changed(self, text: str) -> None:
        self.row.drafts[EDIT] = text
        self.entry_actions.edit_changed.emit(self._prompt.turn, text)

    def _on_sent(self, text: str, takes_files_back: bool) -> None:
        self._close_editor()
        self.entry_actions.resend_requested.emit(self._prompt.turn, text, takes_files_back)

    def _resize(self) -> None:
        self.set_width(self._width)
        self.update()
        self.resized.emit()


def _speech_bubble(area: QRectF) -> QPainterPath:
    """Return a rounded rectangle whose lower right corner, where the user sits, is almost sharp."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(area, _RADIUS, _RADIUS)
    corner = QRectF(area.right() - _RADIUS, area.bottom() - _RADIUS, _RADIUS, _RADIUS)
    path.addRoundedRect(corner, _CORNER, _CORNER)
    return path.simplified()
