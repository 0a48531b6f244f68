"""A prompt: text in a bubble, its attachments below, and an editor.

Review comments in the text are cards, and mentions of pasted pictures are left out.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.context.review_comments import THE_PLAN, SentComment, comments_in
from desktop_agent.core.protocol.events import PromptSubmitted, Steered
from desktop_agent.core.protocol.model import Attachment, AttachmentKind
from desktop_agent.ui.chat.attached_contents import THUMBNAIL, ContentChip
from desktop_agent.ui.chat.cards.change import language_of
from desktop_agent.ui.chat.cards.tool_body import CardLoader, picture_of
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.entries.entry import EntryActions, EntryPlace, EntryWidget
from desktop_agent.ui.chat.entry_words import byte_count
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.buttons import Picker, compact_button, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import discard, flow, set_names
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture
from desktop_agent.ui.wording import plain_tooltip

_comment_tr = partial(QCoreApplication.translate, "SentComments")

_PASTED = "@pasted:"
MOST_SHOWN = 20


class PromptText(NamedTuple):
    blocks: list[Block]
    cards: tuple[range, ...] = ()
    """The blocks of each comment: first its lines of code, then what the user wrote about them."""


def read_prompt(prompt: PromptSubmitted | Steered) -> PromptText:
    text = prompt.text
    hidden = [each.mention for each in prompt.attachments[:MOST_SHOWN] if is_pasted_picture(each)]
    blocks: list[Block] = []
    cards: list[range] = []
    at = 0
    for comment in comments_in(text):
        blocks += _prose(text[at : comment.start].rstrip("\n"), at, hidden)
        first = len(blocks)
        blocks.append(_code(comment))
        blocks += _prose(comment.text, comment.text_start, hidden)
        cards.append(range(first, len(blocks)))
        at = comment.end
    blocks += _prose(text[at:], at, hidden)
    return PromptText(blocks, tuple(cards))


def is_pasted_picture(attachment: Attachment) -> bool:
    return attachment.kind == "picture" and attachment.mention.startswith(_PASTED)


def _prose(text: str, start: int, hidden: Collection[str]) -> Iterator[Block]:
    """Yield a text without the hidden mentions. Its last block ends where the text does in the source."""
    shown = text
    if hidden:
        mentions = "|".join(re.escape(mention) for mention in sorted(hidden, key=len, reverse=True))
        shown = re.sub(rf"^(?:{mentions})\s*|[ \t]*(?:{mentions})", "", text).strip()
    if not shown:
        return
    for part in code_parts(shown):
        at = start + (part.start if shown == text else 0)
        end = at + len(part.text) if shown == text else start + len(text)
        yield Block("plain", part.text, at, end, part.joint)


def _code(comment: SentComment) -> Block:
    place = _comment_tr("Plan") if comment.path == THE_PLAN else named(comment.path)
    if not comment.last:
        words = _comment_tr("{0} · whole file").format(place)
    elif comment.last > comment.first:
        words = _comment_tr("{0} · lines {1}–{2}").format(place, comment.first, comment.last)
    else:
        words = _comment_tr("{0} · line {1}").format(place, comment.first)
    if comment.is_before:
        words = _comment_tr("{0}, before the change").format(words)
    return Block(
        "code", comment.quote, comment.start, comment.text_start, language=language_of(comment.path), label=words
    )


class QuietButton(QPushButton):
    """A button that looks unobtrusive but is always visible and in the tab order."""

    def __init__(self, text: str, entry: QWidget) -> None:
        super().__init__(text, entry)
        self._entry = entry
        self.setProperty("variant", "flat")
        self.setProperty("compact", True)
        entry.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.hasFocus() or self._entry.underMouse():
            super().paintEvent(event)


_tr = partial(QCoreApplication.translate, "PromptAttachments")

_MOST_CHARS = 40


class _Picture(ContentChip):
    def __init__(self, attachment: Attachment, place: EntryPlace, parent: QWidget) -> None:
        name, size = _name(attachment), byte_count(attachment.size)
        super().__init__(name, size, place.styles.colour, parent, is_picture=True)
        self._attachment = attachment
        self.is_bare = is_pasted_picture(attachment)
        self.setObjectName("attachmentButton")
        self.clicked.connect(partial(place.actions.attachment_requested.emit, attachment))
        _describe(self, attachment, name, size)

    def show_picture(self, picture: DecodedPicture) -> None:
        problem = self.show_content(self._attachment.size, picture)
        _describe(self, self._attachment, self.name, self.detail, problem)


def _button(attachment: Attachment, actions: EntryActions, parent: QWidget) -> QAbstractButton:
    name, size = _name(attachment), byte_count(attachment.size)
    asked = partial(actions.attachment_requested.emit, attachment)
    button = compact_button(f"{name} · {size}", "attachmentButton", clicked=asked, parent=parent)
    _describe(button, attachment, name, size)
    return button


def _describe(button: QAbstractButton, attachment: Attachment, name: str, size: str, problem: str = "") -> None:
    kinds: dict[AttachmentKind, str] = {
        "resource": _tr("resource"),
        "file": _tr("file"),
        "picture": _tr("picture"),
        "folder": _tr("folder"),
        "session": _tr("session"),
    }
    said = _tr("Attached: {name}, {kind}, {size}")
    button.setAccessibleName(said.format(name=name, kind=kinds[attachment.kind], size=size))
    where = named(f"{attachment.server}: {attachment.uri}" if attachment.server else attachment.uri)[:300]
    button.setToolTip(plain_tooltip("\n".join(filter(None, (where, problem, _tr("Show what was sent"))))))
    button.setAccessibleDescription(where)


def _name(attachment: Attachment) -> str:
    whole = named(attachment.name or attachment.uri)
    is_path = attachment.kind in ("file", "picture", "folder")
    name = (whole.rstrip("/").rpartition("/")[2] or whole) if is_path else whole
    if attachment.kind == "folder":
        name += "/"
    shown = shortened(name, _MOST_CHARS)
    return f"{shown}:{attachment.lines}" if attachment.lines else shown


_PADDING = 12


class PromptEditor(QWidget):
    sent = Signal(str, bool)
    changed = Signal(str)
    resized = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._width = 0
        self._edit = MessageEdit(self)
        set_names(self._edit, "promptEdit", self.tr("Your message, edited"))
        self._edit.setPlainText(text)
        self._edit.submitted.connect(self._on_send)
        self._edit.submitted_at_once.connect(self._on_send)
        self._edit.textChanged.connect(self._on_text_changed)
        self.setFocusProxy(self._edit)
        note = self.tr("Continues in a copy of this conversation that ends before this message.")
        self._note = make_label(note, role="secondary", parent=self, wraps=True)
        self._files = Picker(self, min_chars=26)
        set_names(self._files, "promptEditFiles", self.tr("What happens with the files"))
        self._files.addItems([self.tr("Keep files as they are"), self.tr("Also undo the changes made since")])
        self._files.fit()
        self.cancel = make_button(self.tr("Cancel"), "promptEditCancel", parent=self)
        send = self.tr("Send")
        self._send = make_button(send, "promptEditSend", clicked=self._on_send, variant="primary", parent=self)
        self.needed_height = 0

    def put_cursor_at_end(self) -> None:
        cursor = self._edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self._edit.setTextCursor(cursor)
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def tab_stops(self) -> list[QWidget]:
        return [self._edit, self._files, self.cancel, self._send]  # the list of choices is a separate window

    def set_width(self, width: int) -> None:
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING
        height = self._edit.wanted_height(inner)
        self._edit.setGeometry(_PADDING, y, inner, height)
        y += height + Space.S
        height = self._note.heightForWidth(inner)
        self._note.setGeometry(_PADDING, y, inner, height)
        y += height + Space.S
        self.needed_height = self._arrange_buttons(QRect(_PADDING, y, inner, 0)) + _PADDING

    def _arrange_buttons(self, area: QRect) -> int:
        picker = self._files.sizeHint()
        buttons = (self._send, self.cancel)
        needed = sum(control.sizeHint().width() + Space.S for control in buttons)
        picker_width = min(picker.width(), area.width())
        self._files.setGeometry(area.x(), area.y(), picker_width, picker.height())
        is_narrow = picker_width + needed > area.width()
        y = area.y() + picker.height() + Space.S if is_narrow else area.y()
        right = area.x() + area.width()
        for control in buttons:
            size = control.sizeHint()
            right -= size.width()
            control.setGeometry(right, y, size.width(), size.height())
            right -= Space.S
        return y + max(picker.height(), self._send.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancel.click()
            return
        super().keyPressEvent(event)

    def _on_text_changed(self) -> None:
        text = self._edit.toPlainText()
        self._send.setEnabled(bool(text.strip()))
        self.changed.emit(text)
        before = self.needed_height
        self.set_width(self._width)
        if self.needed_height != before:
            self.resized.emit()

    def _on_send(self) -> None:
        text = self._edit.toPlainText().strip()
        if text:
            self.sent.emit(text, self._files.currentIndex() == 1)


PADDING_X = 14
PADDING_Y = 9
_SHARE = 0.8
_RADIUS = 10
_CORNER = 2
_MEASURED_CHARS = 400
_CARD_EDGE = 8
"""The distance from the text of a comment to the edge of its card."""

EDIT = "edit"


class PromptWidget(EntryWidget):
    def __init__(self, place: EntryPlace, loader: CardLoader | None) -> None:
        entry = place.row.entry
        assert isinstance(entry, PromptSubmitted | Steered)
        self._text = read_prompt(entry)
        # What is painted below a card shows through it.
        super().__init__(place, Column(place.styles, ground="" if self._text.cards else "sunken"))
        self._editor: PromptEditor | None = None
        self._attachments = [
            self._make_attachment(attachment, place, loader) for attachment in self._prompt.attachments[:MOST_SHOWN]
        ]
        self._attachments_height = 0
        self._text_area_width = 0
        self._button = QuietButton(self.tr("Edit"), self)
        set_names(self._button, "editPromptButton", self.tr("Edit this message and send it again"))
        self._button.clicked.connect(self.begin_edit)
        self._button.setVisible(self._is_editable)
        self.refresh()

    def _make_attachment(self, attachment: Attachment, place: EntryPlace, loader: CardLoader | None) -> QAbstractButton:
        if not attachment.images or not (attachment.kind == "picture" or attachment.media_type.startswith("image/")):
            return _button(attachment, place.actions, self)
        button, ref = _Picture(attachment, place, self), attachment.images[0]
        key = f"thumbnail:{ref.blob}"
        show = partial(self._show_picture, button, key)
        show()
        if loader is not None and key not in self.row.loaded:
            loader.fetch(self.row, key, picture_of(loader.source, ref, THUMBNAIL), button, show)
        return button

    def _show_picture(self, button: _Picture, key: str) -> None:
        # If it could not be loaded, a click explains why.
        if isinstance(known := self.row.loaded.get(key), DecodedPicture):
            button.show_picture(known)

    @property
    def _prompt(self) -> PromptSubmitted | Steered:
        entry = self.row.entry
        return entry if isinstance(entry, Steered) else self.row.entry_as(PromptSubmitted)

    @property
    def _is_editable(self) -> bool:
        return isinstance(self.row.entry, PromptSubmitted)

    def refresh(self) -> None:
        text = self._prompt.text
        self.column.set_blocks(self._text.blocks, {}, 0)
        edges = Counter(index for card in self._text.cards for index in (card[0] - 1, card[-1]))
        for index, count in edges.items():
            self.column.set_room(index, count * _CARD_EDGE)
        name = self.tr("You: {text}") if self._is_editable else self.tr("You, while the agent worked: {text}")
        self.setAccessibleName(name.format(text=text[:_MEASURED_CHARS]))
        if self._editor is None and EDIT in self.row.drafts:
            self._open_editor(self.row.drafts[EDIT])
            self.fit()

    def set_width(self, width: int) -> None:
        self._width = width
        if self._editor is not None:
            self._editor.set_width(int(width * _SHARE))
            self._editor.setGeometry(width - self._editor_width, 0, self._editor_width, self._editor.needed_height)
        limit = int(width * _SHARE) - 2 * PADDING_X
        attachments = sum(button.sizeHint().width() + Space.S for button in self._attachments) - Space.S
        text_width = max(self._text_width(limit), min(attachments, limit))
        self.column.set_width(text_width)
        self.column_origin = QPoint(width - text_width - PADDING_X, PADDING_Y)
        self._text_area_width = text_width
        self.arrange()
        size = self._button.sizeHint()
        left = self.column_origin.x() - PADDING_X - size.width() - Space.XS
        self._button.setGeometry(left, PADDING_Y - Space.XS, size.width(), size.height())

    def arrange(self) -> None:
        if self._attachments:
            below = PADDING_Y + self.column.height + (Space.S if self._text.blocks else 0)
            area = QRect(self.column_origin.x(), below, self._text_area_width, 0)
            self._attachments_height = flow(self._attachments, area) + (Space.S if self._text.blocks else 0)

    @property
    def _editor_width(self) -> int:
        return int(self._width * _SHARE)

    def _text_width(self, limit: int) -> int:
        blocks = self._text.blocks
        if self._text.cards or sum(len(block.content) for block in blocks) > _MEASURED_CHARS:
            return limit
        metrics = QFontMetricsF(self.styles.body)
        lines = (line for block in blocks for line in block.content.split("\n"))
        widest = max(map(metrics.horizontalAdvance, lines), default=0)
        return max(min(limit, int(widest) + 2), Space.XL)

    def entry_height(self) -> int:
        if self._editor is not None:
            return self._editor.needed_height
        return self.column.height + self._attachments_height + 2 * PADDING_Y

    def tab_stops(self) -> list[QWidget]:
        if self._editor is not None:
            return [self, *self._editor.tab_stops()]
        edit = [self._button] if self._is_editable else []
        return [self, *edit, *self._attachments]

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
        if not is_edited:
            self._paint_cards(painter)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_cards(self, painter: QPainter) -> None:
        painter.setBrush(self.styles.colour("surface"))
        frames = dict(self.column.code_frames())
        for card in self._text.cards:
            if (frame := frames.get(card[0])) is not None:
                bottom = self.column.room(card[-1]).top()
                area = QRect(0, frame.top(), frame.width(), bottom - frame.top()).translated(self.column_origin)
                edge = _CARD_EDGE - 0.5
                painter.drawRoundedRect(QRectF(area).adjusted(-edge, -edge, edge, edge), Radius.CARD, Radius.CARD)

    def begin_edit(self) -> None:
        if self._editor is None and self._is_editable:
            self.row.drafts[EDIT] = self._prompt.text
            self._open_editor(self._prompt.text)
            self._resize()
        if self._editor is not None:
            self._editor.put_cursor_at_end()

    def _open_editor(self, text: str) -> None:
        for button in (self._button, *self._attachments):
            button.hide()
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
        for button in (self._button, *self._attachments):
            button.show()
        if editor.isAncestorOf(editor.focusWidget() or self):
            self._button.setFocus(Qt.FocusReason.OtherFocusReason)
        discard(editor)
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
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(area, _RADIUS, _RADIUS)
    corner = QRectF(area.right() - _RADIUS, area.bottom() - _RADIUS, _RADIUS, _RADIUS)
    path.addRoundedRect(corner, _CORNER, _CORNER)
    return path.simplified()
