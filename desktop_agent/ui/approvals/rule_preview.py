"""Shows what rules would have done: which earlier calls they would have allowed, and which would still ask."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.wording.model_words import one_line
from desktop_agent.ui.wording.tooltips import plain_tooltip

SLICE_MS = 6
"""Judging goes on for this long and then lets the window live: parsing 200 long commands takes several frames."""

Verdict = bool | None
"""Whether rules would have allowed a call; None for one that needs no question anyway: they change nothing for it."""

_ROWS = 4
_ROW_HEIGHT = 22
_MAX_CHARS = 300


class RulePreview(QWidget):
    """Two lists side by side, always of the same height. It judges in slices, newest call first.

    Signals:
        finished: all calls were judged by the rules shown last.
    """

    finished = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._would_allow: Callable[[str], Verdict] = _nothing
        self._waiting: list[str] = []
        self._is_allowed: dict[str, Verdict] = {}
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._go_on)
        self._allowed = _Half(theme, self.tr("Would have been allowed"), "ruleAllowedList")
        self._asking = _Half(theme, self.tr("Would still ask"), "ruleAskingList")
        hbox((self._allowed, 1), (self._asking, 1), on=self, spacing=Space.M)

    @property
    def is_finished(self) -> bool:
        """Whether what is shown is the whole truth about the rules shown last."""
        return not self._waiting

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Whether each call would have been allowed, as far as they are judged."""
        return dict(self._is_allowed)

    def judge(self, subjects: Sequence[str], would_allow: Callable[[str], Verdict]) -> None:
        """Show what `would_allow` says of these calls. Whatever was being judged before is forgotten."""
        self._would_allow = would_allow
        self._waiting = list(reversed(subjects))
        self._is_allowed = {}
        self._go_on()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._waiting:
            self._next.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._next.stop()  # the result is not visible now
        super().hideEvent(event)

    def _go_on(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        while self._waiting and clock.elapsed() < SLICE_MS:
            subject = self._waiting.pop()
            self._is_allowed[subject] = self._would_allow(subject)
        if self._waiting:
            self._next.start()
            return
        self._next.stop()
        self._allowed.show_subjects([subject for subject, is_allowed in self._is_allowed.items() if is_allowed])
        self._asking.show_subjects([subject for subject, is_allowed in self._is_allowed.items() if is_allowed is False])
        self.finished.emit()


class _Half(QFrame):
    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        self._title = title
        self._heading = make_label(role="heading")
        self._list = QListWidget()
        self._list.setObjectName(name)
        self._list.setFont(theme.code_font())
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self._list.setUniformItemSizes(True)
        self._list.setFixedHeight(_ROWS * _ROW_HEIGHT + Space.XS)
        self._list.setStyleSheet(f"QListView::item {{ min-height: {_ROW_HEIGHT}px; padding: 0; margin-left: -3px; }}")
        vbox(self._heading, self._list, on=self, spacing=Space.XS)
        self.show_subjects([])

    def show_subjects(self, subjects: Sequence[str]) -> None:
        heading = f"{self._title} · {len(subjects)}"
        self._heading.setText(heading)
        self._list.setAccessibleName(heading)
        self._list.clear()
        for subject in subjects:
            item = QListWidgetItem(one_line(subject[:_MAX_CHARS]))
            item.setToolTip(plain_tooltip(subject[:_MAX_CHARS]))
            self._list.addItem(item)


def _nothing(_subject: str) -> bool:
    return False
