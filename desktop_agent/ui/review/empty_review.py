"""The review's first row, and its page before the first change, with a button to review uncommitted changes.

Apart from `change_listing`: the window shows this at its start, and the listing brings the whole of the diff with it.
"""

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget
from shiboken6 import isValid

from desktop_agent.ui.review.diff_source import GitSource, Spawn
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, Part, Stretch, hbox, vbox


def header_row(*parts: Part) -> QHBoxLayout:
    title = make_label(QCoreApplication.translate("ReviewPanel", "Review"), role="strong", object_name="reviewTitle")
    title.setFixedHeight(Height.BUTTON)
    return hbox(title, *parts, margins=(Space.M, Space.S, Space.M, Space.S), spacing=Space.S)


class EmptyPage(QWidget):
    def __init__(self, git: Callable[[], GitSource | None], spawn: Spawn) -> None:
        super().__init__()
        self._git = git
        self._spawn = spawn
        self._folder = ""
        self._heading = make_label(role="strong")
        what = self.tr("Every file that the agent creates, edits or deletes appears here, ready to be undone.")
        hint = make_label(what, role="secondary", wraps=True)
        for words in (self._heading, hint):
            words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.git_button = make_button(self.tr("Review uncommitted changes"), "reviewUncommittedButton")
        self.git_button.hide()
        parts = (self._heading, hint, Space.S, (self.git_button, Qt.AlignmentFlag.AlignHCenter))
        middle = vbox(*parts, margins=(Space.XXL, 0, Space.XXL, 0), spacing=Space.XS)
        vbox(header_row(STRETCH), Stretch(2), middle, Stretch(3), on=self, spacing=Space.XS + 2)

    def set_folder(self, folder: str) -> None:
        self._folder = folder
        self.git_button.hide()
        if folder and (git := self._git()) is not None:
            self._spawn(self._look(git, folder))

    def say(self, state: Literal["empty", "reading", "unreadable"]) -> None:
        words = {
            "empty": self.tr("No changes yet"),
            "reading": self.tr("Reading the changes…"),
            "unreadable": self.tr("The changes could not be read"),
        }
        self._heading.setText(words[state])

    async def _look(self, git: GitSource, folder: str) -> None:
        state = await git.look(folder)
        if isValid(self) and self._folder == folder:
            self.git_button.setVisible(not state.obstacle)
