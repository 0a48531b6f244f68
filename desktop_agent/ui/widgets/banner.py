"""Bars above the conversation, for problems outside the conversation and for questions."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton

from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Slot, compact_button
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox
from desktop_agent.ui.wording import plain_tooltip

_SHOWN_LINES = 4


class BannerFrame(QFrame):
    """The base class of bars. Hidden until its owner shows it. Screen readers get its text as plain text."""

    def __init__(self, name: str, *, warns: bool = True) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("role", "banner" if warns else "bar")
        self._title = self._build_label("warning" if warns else "strong")
        self._hint = self._build_label("secondary")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(Space.L, Space.S, Space.S, Space.S)
        self._row.addLayout(vbox(self._title, self._hint, spacing=2), 1)
        self.hide()

    def say(self, title: str, hint: str) -> None:
        self._title.setText(title)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self.setAccessibleName(f"{title} {hint}".strip())

    def add_button(
        self, text: str, name: str, clicked: Slot | None = None, *, is_flat: bool = False, tooltip: str = ""
    ) -> QPushButton:
        variant = "flat" if is_flat else ""
        button = compact_button(text, name, clicked=clicked, variant=variant, tooltip=tooltip, parent=self)
        self._row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def _build_label(self, role: str) -> QLabel:
        label = make_label(role=role, parent=self, wraps=True, is_plain=True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label


def few_lines(lines: Sequence[str], *, longest: int = 300) -> list[str]:
    """Return the lines that fit in a bar, each at most `longest` characters. The last line counts omitted lines."""
    shown = [line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        more = QCoreApplication.translate("BannerFrame", "And {0} more.")
        shown[-1] = more.format(len(lines) - _SHOWN_LINES + 1)
    return shown


class Banner(BannerFrame):
    folder_requested = Signal()  # let the user choose another folder

    def __init__(self) -> None:
        super().__init__("banner")
        self._error: AgentError | None = None
        self._folder = self.add_button(self.tr("Open another folder…"), "bannerFolderButton", self.folder_requested)
        self.add_button(self.tr("Dismiss"), "bannerDismissButton", self.hide, is_flat=True)

    def show_error(self, error: AgentError) -> None:
        self._error = error
        self.say(core_words(error.title), core_words(error.hint))
        self._folder.setVisible(isinstance(error, WorkspaceError))
        self.setToolTip(plain_tooltip(error.detail))
        self.show()
        announce(self, self.accessibleName(), is_urgent=True)

    def shows(self, error: AgentError) -> bool:
        return self._error is error and not self.isHidden()

    def withdraw(self, error: AgentError) -> None:
        if self._error is error:
            self.hide()
