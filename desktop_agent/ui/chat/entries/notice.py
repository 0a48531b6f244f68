"""Something the user should know: what happened, what to do about it, and details on demand."""

from datetime import UTC, datetime
from typing import ClassVar, get_args

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QHideEvent, QPainter, QPen, QShowEvent
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.protocol.events import Notice
from desktop_agent.core.transcript import RETRYING, NoticeEntry
from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.markdown.blocks import plain_blocks
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.wording.quoted_code import quoted

_PADDING = 12
_SIGN_WIDTH = 22
_SIGNS = {"info": "ℹ", "warning": "⚠", "error": "✕"}
_ROLES = {"info": "accent_text", "warning": "warning_text", "error": "danger_text"}

SETTINGS_CODES = frozenset({"authentication", "no_key", "no_account", "permission", "billing"})
"""Notices whose cure is in the settings."""

ACCOUNT_CODES = frozenset({"no_account"})
"""Notices after which another account may go on."""

SIGNED_OUT = "signed_out"
"""The notice after which the user signs in again."""

RETRY_CODES = frozenset(
    {
        *get_args(ProviderFault),
        "provider_error",
        "no_key",
        "no_account",
        SIGNED_OUT,
        "workspace",
        "storage",
        "internal_error",
    }
)
"""What ended a turn and may be over, or may have been put right, when the model is asked once more."""

FOLDER_CODES = frozenset({"workspace"})
"""Notices after which another folder may be wanted."""


class NoticeWidget(EntryWidget):
    """One notice."""

    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ground="bg", ink="muted"))
        self._width = 0
        self._height = 0
        notice = self.row.entry_as(NoticeEntry).notice
        styles, actions = place.styles, place.actions
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._count_down)
        self._texts = [Paragraph(quoted(core_words(notice.title)), styles, self, font=styles.strong)]
        if notice.hint:
            self._texts.append(Paragraph(quoted(core_words(notice.hint)), styles, self, role="muted", font=styles.body))
        self._buttons: list[QPushButton] = []
        self._try_now: QPushButton | None = None
        if notice.code == RETRYING:
            text = self.tr("Try now")
            self._try_now = self._offer(text, actions.try_now_requested, object_name="tryNowButton")
            self._try_now.setAccessibleName(text)
            self._try_now.setToolTip(self.tr("Ask the model now instead of waiting"))
        if notice.code in ACCOUNT_CODES:
            text = self.tr("Choose another account…")
            self._offer(text, actions.model_requested, object_name="chooseAccountButton")
        if notice.code == SIGNED_OUT:
            text = self.tr("Sign in again…")
            self._offer(text, actions.sign_in_requested, object_name="signInAgainButton")
        if notice.code in SETTINGS_CODES:
            self._offer(self.tr("Open settings"), actions.settings_requested)
        if notice.level == "error" and notice.code in RETRY_CODES and not _gave_back(notice):
            self._offer(self.tr("Try again"), actions.retry_requested)
        if notice.code in FOLDER_CODES:
            self._offer(self.tr("Open another folder…"), actions.folder_requested)
        self._details = self._offer("", self._on_details, variant="flat") if notice.detail else None
        self.column.set_blocks(plain_blocks(notice.detail), {}, 0)
        self.refresh()

    def _offer(self, text: str, clicked: Slot, *, object_name: str = "", variant: str = "") -> QPushButton:
        button = make_button(
            text, object_name=object_name, clicked=clicked, variant=variant, parent=self, is_compact=True
        )
        self._buttons.append(button)
        return button

    def refresh(self) -> None:
        notice = self.row.entry_as(NoticeEntry).notice
        if self._details is not None:
            self._details.setText(self.tr("Hide details") if self.is_column_shown else self.tr("Details"))
        if self._try_now is not None:
            self._offer_try(self._try_now)
        self.setAccessibleName(quoted(" ".join(core_words(part) for part in (notice.title, notice.hint) if part)))
        if self._width:
            self.set_width(self._width)
        self.update()

    def _offer_try(self, button: QPushButton) -> None:
        transcript = self.parentWidget()
        is_waiting = self.row.entry_as(NoticeEntry).is_waiting
        if transcript is not None and button.hasFocus() and not is_waiting:
            # Hiding the button would send the keyboard to some other control.
            transcript.setFocus(Qt.FocusReason.OtherFocusReason)
        button.setVisible(is_waiting)
        if is_waiting and not self._seconds.isActive():
            self._seconds.start()
            self._count_down()
        elif not is_waiting:
            self._seconds.stop()

    def _count_down(self) -> None:
        """Say on the button how long the wait still is."""
        assert self._try_now is not None
        entry = self.row.entry_as(NoticeEntry)
        left = round(entry.wait_s - (datetime.now(UTC) - entry.notice.at).total_seconds())
        text = self.tr("Try now")
        self._try_now.setText(f"{text} · {left} s" if left > 0 else text)
        if self._width:
            self.set_width(self._width)

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
        painter.setPen(QPen(self.styles.colour("border"), 1))
        painter.setBrush(self.styles.colour("bg"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.CARD, Radius.CARD)
        painter.setPen(self.styles.colour(_ROLES[level]))
        painter.setFont(self.styles.body)
        painter.drawText(QPoint(_PADDING, _PADDING + 12), _SIGNS[level])

    def _on_details(self) -> None:
        self.row.is_unfolded = not self.row.is_unfolded
        self.refresh()
        self.resized.emit()


def _gave_back(notice: Notice) -> bool:
    """Whether what was asked is in the field again: then sending it is trying again."""
    return notice.code == "storage" and notice.turn is None
