"""Small entries between messages: notices, ends of turns, undos, summaries, and pages that are not loaded."""

from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, get_args

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QHideEvent, QPainter, QShowEvent
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.context.summaries import summary_text
from desktop_agent.core.protocol.events import ChangesCommitted, CommitUndone, Rewound, SessionForked, TurnEnded
from desktop_agent.core.transcript import RETRYING, CompactionEntry, HookEntry, NoticeEntry, UndoEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.entry import FOLD_INDENT, EntryPlace, EntryWidget, LabelLine
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.markdown.parser import RichText
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.passage import Paragraph, TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE
from desktop_agent.ui.theme import Height, Radius, Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Slot, compact_button
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording import one_line, plain_tooltip, quoted

_PADDING = 12
_SIGN_WIDTH = 22
_SIGNS = {"info": "ℹ", "warning": "⚠", "error": "✕"}
_ROLES = {"info": "accent_text", "warning": "warning_text", "error": "danger_text"}

_SIGNED_OUT = "signed_out"
_SETTINGS_CODES = frozenset({"authentication", "no_key", "no_account", "permission", "billing", "not_signed_in"})
_SIGN_IN_CODES = (_SIGNED_OUT, "no_key", "no_account", "not_signed_in")

_RETRY_CODES = frozenset(
    (*get_args(ProviderFault), *_SIGN_IN_CODES, "provider_error", "workspace", "storage", "internal_error")
)
_LONGEST_WAY = 40


class NoticeWidget(EntryWidget):
    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ground="bg", ink="muted"))
        self._height = 0
        notice = self.row.entry_as(NoticeEntry).notice
        styles, actions = place.styles, place.actions
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._count_down)
        self._texts = [Paragraph(quoted(core_words(notice.title)), styles, self, font=styles.strong)]
        hint = core_words(notice.hint)
        if notice.sign_ins:  # it names a command, in place of which there are buttons
            hint = self.tr("Sign in, or give it a key in the settings. Then try again.")
        if hint:
            self._texts.append(Paragraph(quoted(hint), styles, self, role="muted", font=styles.body))
        self._buttons: list[QPushButton] = []
        self._try_now: QPushButton | None = None
        if notice.code == RETRYING:
            text = self.tr("Try now")
            self._try_now = self._offer(text, actions.try_now_requested, "tryNowButton")
            self._try_now.setAccessibleName(text)
            self._try_now.setToolTip(self.tr("Ask the model now instead of waiting"))
        if notice.code == "no_account":
            self._offer(self.tr("Choose another account…"), actions.model_requested, "chooseAccountButton")
        if notice.code == _SIGNED_OUT:
            self._offer(self.tr("Sign in again…"), actions.sign_in_requested, "signInAgainButton")
        for way in notice.sign_ins:
            text = self.tr("Sign in…") if len(notice.sign_ins) == 1 else f"{one_line(way.name)[:_LONGEST_WAY]}…"
            clicked = partial(actions.agent_sign_in_requested.emit, way)
            button = self._offer(text.replace("&", "&&"), clicked, "agentSignInButton")
            button.setAccessibleName(self.tr("Sign in: {0}").format(one_line(way.name)))
            button.setToolTip(plain_tooltip(self.tr("In the terminal below")) if way.is_in_terminal else "")
        if notice.code in _SETTINGS_CODES:
            self._offer(self.tr("Open settings"), actions.settings_requested)
        is_in_field = notice.code == "storage" and notice.turn is None  # the prompt, which can be sent again
        if notice.level == "error" and notice.code in _RETRY_CODES and not is_in_field:
            self._offer(self.tr("Try again"), actions.retry_requested)
        if notice.code == "workspace":
            self._offer(self.tr("Open another folder…"), actions.folder_requested)
        self._details = self._offer("", self.toggle, variant="flat") if notice.detail else None
        self.column.set_blocks(plain_blocks(notice.detail), {}, 0)
        self.refresh()

    def _offer(self, text: str, clicked: Slot, name: str = "", *, variant: str = "") -> QPushButton:
        button = compact_button(text, name, clicked=clicked, variant=variant, parent=self)
        self._buttons.append(button)
        return button

    def refresh(self) -> None:
        notice = self.row.entry_as(NoticeEntry).notice
        if self._details is not None:
            self._details.setText(self.tr("Hide details") if self.is_column_shown else self.tr("Details"))
        if self._try_now is not None:
            transcript = self.parentWidget()
            is_waiting = self.row.entry_as(NoticeEntry).is_waiting
            if transcript is not None and self._try_now.hasFocus() and not is_waiting:
                # Hiding the button would move the focus to another control.
                transcript.setFocus(Qt.FocusReason.OtherFocusReason)
            self._try_now.setVisible(is_waiting)
            if is_waiting and not self._seconds.isActive():
                self._seconds.start()
                self._count_down()
            elif not is_waiting:
                self._seconds.stop()
        self.setAccessibleName(quoted(" ".join(core_words(part) for part in (notice.title, notice.hint) if part)))
        self.fit()
        self.update()

    def _count_down(self) -> None:
        assert self._try_now is not None
        entry = self.row.entry_as(NoticeEntry)
        left = round(entry.wait_s - (datetime.now(UTC) - entry.notice.at).total_seconds())
        text = self.tr("Try now")
        self._try_now.setText(f"{text} · {left} s" if left > 0 else text)
        self.fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        self._seconds.stop()
        super().hideEvent(event)

    def set_width(self, width: int) -> None:
        self._width = width
        left = _PADDING + _SIGN_WIDTH
        inner = width - left - _PADDING
        y = _PADDING - 2
        for text in self._texts:
            y += text.place(left, y, inner)
        is_waiting = self.row.entry_as(NoticeEntry).is_waiting
        buttons = [button for button in self._buttons if button is not self._try_now or is_waiting]
        if buttons:
            y += Space.S - 2
            y += flow(buttons, QRect(left, y, inner, 0))
        self.column.set_width(inner)
        self.column_origin = QPoint(left, y + Space.S)
        self._height = y + _PADDING

    def entry_height(self) -> int:
        return self._height + (self.column.height + Space.S if self.is_column_shown else 0)

    def source(self) -> str:
        return self.row.entry_as(NoticeEntry).notice.detail

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        level = self.row.entry_as(NoticeEntry).notice.level
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = self.styles.colour
        draw_box(painter, QRectF(self.rect()), colour("border"), colour("bg"), Radius.CARD)
        painter.setPen(self.styles.colour(_ROLES[level]))
        painter.setFont(self.styles.body)
        painter.drawText(QPoint(_PADDING, _PADDING + 12), _SIGNS[level])


_INDENT = 20


class LineWidget(EntryWidget):
    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._sign = ""
        self._text = ""
        self._passage: TextPassage | None = None
        self._button: QPushButton | None = None
        entry, actions = place.row.entry, place.actions
        if isinstance(entry, SessionForked):
            clicked = partial(actions.session_requested.emit, entry.source)
            words = self.tr("Open the conversation this is a copy of")
            self._button = compact_button(
                self.tr("Open it"), "openSourceButton", clicked=clicked, variant="flat", tooltip=words, parent=self
            )
            self._button.setAccessibleName(words)
        self.refresh()

    def refresh(self) -> None:
        entry = self.row.entry
        assert isinstance(entry, UndoEntry | ChangesCommitted | CommitUndone | Rewound | SessionForked | TurnEnded)
        turned = "↷" if isinstance(entry, UndoEntry) and entry.purpose == "redo" else "↶"
        signs: dict[type[object], str] = {
            UndoEntry: turned,
            ChangesCommitted: "✓",
            CommitUndone: turned,
            Rewound: "⟲",
            SessionForked: "↳",
        }
        self._sign = signs.get(type(entry), "")
        self._text = entry_words.sentence(entry)
        self.setAccessibleName(self._text)

    def set_width(self, width: int) -> None:
        font = self.styles.secondary
        room = width - _INDENT
        if self._button is not None and not self._button.isHidden():
            size = self._button.sizeHint()
            text_width = int(QFontMetricsF(font).horizontalAdvance(self._text)) + 2
            room = max(0, min(room - size.width() - Space.S, text_width))
            self._button.setGeometry(_INDENT + room + Space.S, 0, size.width(), CODE_LINE)
        self._passage = TextPassage(RichText(self._text), font, (), width=room, line_height=CODE_LINE)

    def entry_height(self) -> int:
        return self._passage.height if self._passage is not None else CODE_LINE

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._passage is None:
            return
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("muted"))
        if self._sign:
            painter.drawText(QPointF(1, 13), self._sign)
        else:
            painter.fillRect(QRectF(3, 6, 7, 7), self.styles.colour("faint"))
        self._passage.draw(painter, at=QPoint(_INDENT, 0))


class HookWidget(EntryWidget):
    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ink="muted"))
        self._source = ""
        self._line = LabelLine(self)
        self.column_origin = QPoint(FOLD_INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    def refresh(self) -> None:
        entry = self.row.entry_as(HookEntry)
        self._line.say(entry_words.hooks(entry))
        source = entry_words.hook_details(entry)
        if self.is_column_shown and source != self._source:
            self._source = source
            self.column.set_blocks(plain_blocks(source), {}, 0)
        self.fit()
        self.update()

    def set_width(self, width: int) -> None:
        self._line.setGeometry(0, 0, width, Height.SMALL_BUTTON)
        super().set_width(width)

    def entry_height(self) -> int:
        return super().entry_height() if self.is_column_shown else Height.SMALL_BUTTON

    def source(self) -> str:
        return self._source

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        self._line.paint_rule(painter)


class CompactionWidget(EntryWidget):
    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ink="muted"))
        self._buttons_height = 0
        self._source = ""
        self._line = LabelLine(self)
        edit, undo = place.actions.summary_edit_requested, place.actions.summary_undo_requested
        self._edit = compact_button(self.tr("Edit…"), "editSummaryButton", clicked=edit, parent=self)
        self._undo = compact_button(self.tr("Undo"), "undoCompactionButton", clicked=undo, parent=self)
        self._undo.setAccessibleName(self.tr("Undo the summary"))
        self._undo.setToolTip(self.tr("The agent sees the older turns in full again"))
        self.column_origin = QPoint(FOLD_INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    def refresh(self) -> None:
        entry = self.row.entry_as(CompactionEntry)
        self._line.say(entry_words.sentence(entry))
        source = summary_text(entry.summary)
        if self.is_column_shown and source != self._source:
            self._source = source
            stream = MarkdownStream()
            stream.feed(source)
            stream.close()
            self.column.set_blocks(stream.blocks, stream.references, 0)
        for button in (self._edit, self._undo):
            button.setVisible(self.is_column_shown and entry.is_in_force)
        self.fit()
        self.update()

    def set_width(self, width: int) -> None:
        self._line.setGeometry(0, 0, width, Height.SMALL_BUTTON)
        super().set_width(width)
        buttons = [button for button in (self._edit, self._undo) if not button.isHidden()]
        area = QRect(FOLD_INDENT, super().entry_height() + Space.S, width - FOLD_INDENT, 0)
        self._buttons_height = Space.S + flow(buttons, area) if buttons else 0

    def entry_height(self) -> int:
        return super().entry_height() + self._buttons_height if self.is_column_shown else Height.SMALL_BUTTON

    def arrange(self) -> None:
        self.set_width(self._width)  # the part above the buttons may have been laid out only now

    def source(self) -> str:
        return self._source

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        self._line.paint_rule(painter)


_STEP = 360


class PageWidget(EntryWidget):
    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._text = self.tr("Earlier messages")
        self.refresh()

    def refresh(self) -> None:
        self.setAccessibleName(self._text)

    def set_width(self, width: int) -> None:
        self.update()

    def entry_height(self) -> int:
        return max(1, self.row.height_hint - self.styles.entry_gap)

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("faint"))
        width = painter.fontMetrics().horizontalAdvance(self._text)
        for y in range(min(self.height(), _STEP) // 2, self.height() - _STEP // 4 + 1, _STEP):
            painter.drawText(QPointF((self.width() - width) / 2, y), self._text)
