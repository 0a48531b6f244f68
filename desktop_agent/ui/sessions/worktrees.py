"""The sheet that begins a session in a worktree, and the list of all worktrees."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Final, Literal, NamedTuple

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog, QFrame, QPlainTextEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words, error_words, plural
from desktop_agent.ui.widgets.buttons import Picker, compact_button, make_button, make_line
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    answer_with_ctrl_enter,
    discard,
    hbox,
    lay_out_dialog,
    resize_within_screen,
    scroll_down,
    set_names,
    set_up_dialog,
    vbox,
)
from desktop_agent.ui.wording import long_moment, plain_tooltip, short_path

_SHEET: Final = QSize(520, 300)
_LIST: Final = QSize(680, 460)
_LEAST: Final = QSize(360, 240)
_OUTPUT_HEIGHT: Final = 120
_MOST_LINES: Final = 5_000


class WorktreeSheet(QDialog):
    wanted = Signal(str, str)  # the name, and the branch or commit to start from

    def __init__(self, theme: Theme, folder: str, name: str, branches: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "worktreeSheet", self.tr("New session in a worktree"))
        about = self.tr(
            "The agent works in a second checkout of {0}, on its own branch. "
            "Your files stay as they are until you bring its changes back."
        )
        self._name = make_line("worktreeNameEdit", self.tr("Name"))
        self._name.setText(name)
        self._name.selectAll()
        self._base = Picker(
            object_name="worktreeBasePicker",
            accessible_name=self.tr("Start from"),
            choices=[(self.tr("The last commit"), "HEAD"), *((branch, branch) for branch in branches)],
            is_editable=True,
            fills=True,
        )
        self._base.setToolTip(self.tr("A branch, a tag or a commit"))
        self._note = Note(role="error", object_name="worktreeNote")
        self._note.hide()
        self._output = QPlainTextEdit(readOnly=True, maximumBlockCount=_MOST_LINES, tabChangesFocus=True)
        set_names(self._output, "worktreeOutput", self.tr("What the set-up command prints"))
        self._output.setFont(theme.code_font(TypeSize.CODE))
        self._output.setMinimumHeight(_OUTPUT_HEIGHT)
        self._output.hide()
        cancel = make_button(self.tr("Cancel"), "cancelWorktreeButton", clicked=self.reject)
        self._create = make_button("", "createWorktreeButton", clicked=self._on_create, variant="primary")
        answer_with_ctrl_enter(self, self._create)
        lay_out_dialog(
            self,
            make_label(self.tr("New session in a worktree"), role="title"),
            Note(about.format(named(short_path(folder)))),
            make_label(self.tr("Name")),
            self._name,
            make_label(self.tr("Start from")),
            self._base,
            self._note,
            (self._output, 1),
            STRETCH,
            answers=(cancel, self._create),
        )
        resize_within_screen(self, _SHEET, _LEAST)
        self._set_making(is_making=False)

    def say(self, error: AgentError) -> None:
        """Show why the worktree could not be made, and let the user try again."""
        self._set_making(is_making=False)
        said = "\n".join(filter(None, (core_words(error.title), core_words(error.hint), error.detail)))
        show_text(self._note, said)
        self._name.setFocus()

    def show_output(self, text: str) -> None:
        if self._output.isHidden():
            self._output.show()
            self.resize(self.width(), self.height() + _OUTPUT_HEIGHT)
        self._output.moveCursor(QTextCursor.MoveOperation.End)
        self._output.insertPlainText(text)

    def _on_create(self) -> None:
        self._note.hide()
        self._output.clear()
        self._set_making(is_making=True)
        typed = self._base.currentText().strip()
        known = self._base.findText(typed, Qt.MatchFlag.MatchExactly)
        self.wanted.emit(self._name.text().strip(), self._base.itemData(known) if known >= 0 else typed or "HEAD")

    def _set_making(self, *, is_making: bool) -> None:
        for widget in (self._name, self._base, self._create):
            widget.setEnabled(not is_making)
        self._create.setText(self.tr("Creating…") if is_making else self.tr("Create"))


WorktreeAction = Literal["open", "bring_back", "remove", "restore"]


class WorktreeView(NamedTuple):
    name: str
    folder: str
    """The folder that it was made from."""
    path: str
    branch: str
    state: str
    """One of `core.worktrees`."""
    until: datetime | None = None
    """When it is deleted from the trash."""
    session_id: SessionId = ""
    session: str = ""
    """The title of its session; empty if that was deleted."""


class WorktreeRow(QFrame):
    asked = Signal(str, str)  # a `WorktreeAction`, and the name

    def __init__(self, theme: Theme, view: WorktreeView, unmerged: tuple[int, int] | None) -> None:
        super().__init__()
        self.setObjectName("worktreeRow")
        self.view = view
        title = ElidedLabel(text=f"⎇ {view.name}", role="strong")
        title.setAccessibleName(self.tr("Worktree {0}").format(view.name))
        title.setToolTip(plain_tooltip(f"{view.branch}\n{view.path}"))
        about = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", takes_room=True)
        about.setText(" · ".join((named(short_path(view.folder)), view.session or self.tr("its session was deleted"))))
        about.setToolTip(plain_tooltip(view.folder))
        self.state = make_label(role="secondary", object_name="worktreeState", wraps=True, is_plain=True)
        is_there = view.state == "made"
        self.buttons: dict[str, QPushButton] = {}
        self._add("open", self.tr("Open"), self.tr("Open the session of {0}"), is_shown=bool(view.session))
        back = self.tr("Bring the changes of {0} back")
        self._add("bring_back", self.tr("Bring back…"), back, is_shown=is_there)
        is_removable = is_there or view.state in ("missing", "unlinked")
        self._add("remove", self.tr("Remove"), self.tr("Move {0} to the trash"), is_shown=is_removable)
        can_restore = view.state in ("trashed", "missing", "unlinked")
        self._add("restore", self.tr("Restore"), self.tr("Restore {0}"), is_shown=can_restore)
        row = hbox((vbox(title, about, self.state), 1), *self.buttons.values(), on=self, spacing=Space.XS)
        row.setContentsMargins(0, Space.S, 0, Space.S)
        self.show_unmerged(unmerged)

    def show_unmerged(self, unmerged: tuple[int, int] | None) -> None:
        """Show how many files and commits were not brought back; `None` while that is not known."""
        said = self._state_words()
        if self.view.state == "made" and unmerged is not None:
            files, commits = unmerged
            parts = [plural("WorktreeRow", files, "%n file", "%n files")] * bool(files)
            parts += [plural("WorktreeRow", commits, "%n commit", "%n commits")] * bool(commits)
            said = (
                self.tr("Not brought back: {0}").format(", ".join(parts)) if parts else self.tr("All is brought back")
            )
        self.state.setText(said)
        self.setAccessibleName(f"{self.view.name}, {said}")

    def _state_words(self) -> str:
        until = self.view.until
        if self.view.state == "trashed" and until is not None:
            return self.tr("In the trash, until {0}").format(long_moment(until, until.astimezone(), QLocale()))
        return {
            "made": self.tr("Looking…"),
            "moved": self.tr("Moved to {0}").format(self.view.path),
            "missing": self.tr("Its folder is gone. Restore puts back what git knows of it."),
            "unlinked": self.tr("git does not know it any more. Restore makes it a worktree again."),
        }.get(self.view.state, self.tr("Another process is working on it"))

    def _add(self, action: WorktreeAction, text: str, spoken: str, *, is_shown: bool) -> None:
        if is_shown:
            clicked = partial(self.asked.emit, action, self.view.name)
            spoken = spoken.format(self.view.name)
            name = f"{action}WorktreeButton"
            self.buttons[action] = compact_button(text, name, accessible_name=spoken, tooltip=spoken, clicked=clicked)


class WorktreesDialog(QDialog):
    asked = Signal(str, str)  # a `WorktreeAction`, and the name of a worktree

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "worktreesDialog", self.tr("Worktrees"))
        self._theme = theme
        self._rows: list[WorktreeRow] = []
        self._unmerged: dict[str, tuple[int, int]] = {}
        self._empty = Note(self.tr("Looking…"), object_name="worktreesEmpty")
        self._problem = Note(role="error", object_name="worktreesProblem")
        self._problem.hide()
        self._list = QVBoxLayout()
        content, area = QWidget(), QScrollArea()
        vbox(self._list, STRETCH, on=content)
        scroll_down(area, content)
        about = Note(self.tr("Removed worktrees stay in the trash for a month, with everything in them."))
        close = make_button(self.tr("Close"), "closeWorktreesButton", clicked=self.accept)
        title = make_label(self.tr("Worktrees"), role="title")
        lay_out_dialog(self, title, about, self._problem, self._empty, (area, 1), answers=(close,))
        resize_within_screen(self, _LIST, _LEAST)

    def show_worktrees(self, views: Sequence[WorktreeView]) -> None:
        focused = self.focusWidget()
        at, name = next(
            ((n, row.view.name) for n, row in enumerate(self._rows) if focused and row.isAncestorOf(focused)), (-1, "")
        )
        for row in self._rows:
            self._list.removeWidget(row)
            discard(row)
        self._rows = [WorktreeRow(self._theme, view, self._unmerged.get(view.name)) for view in views]
        for row in self._rows:
            row.asked.connect(self.asked)
            self._list.addWidget(row)
        show_text(self._empty, "" if views else self.tr("There are no worktrees."))
        if at >= 0 and self._rows:
            rows = [row for row in self._rows if row.view.name == name] or self._rows[: at + 1]
            next(reversed(rows[-1].buttons.values())).setFocus()

    def show_unmerged(self, name: str, unmerged: tuple[int, int]) -> None:
        self._unmerged[name] = unmerged
        for row in self._rows:
            if row.view.name == name:
                row.show_unmerged(unmerged)

    def say(self, error: AgentError | None) -> None:
        show_text(self._problem, error_words(error) if error else "")
