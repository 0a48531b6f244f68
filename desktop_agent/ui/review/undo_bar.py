"""The bar below the diff: the progress of the review, and buttons for all listed files."""

from typing import Literal, NamedTuple

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.protocol.events import ChangesCommitted
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.core_words import plural
from desktop_agent.ui.widgets.answer_buttons import ShortcutButton
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, restyle, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, vbox
from desktop_agent.ui.wording.visible_text import plain_tooltip

Scope = Literal["turn", "since", "session", "git", "filtered"]


class BarState(NamedTuple):
    """The state of the bar. It counts files, not hunks, because not all of 1,000 files have been compared."""

    decided: int = 0
    total: int = 0
    standing: int = 0
    scope: Scope = "turn"
    is_running: bool = False
    comments: int = 0
    redo_count: int = 0
    offered: int = 0
    """How many files of a worktree can be brought back, and none of their changes was."""
    has_worktree: bool = False
    has_git: bool = False
    last_commit: ChangesCommitted | None = None
    """The session's last commit, if it can be undone."""


class UndoBar(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._warning = make_label(role="warning", object_name="uncapturedNote", wraps=True)
        self._warning.hide()
        self._problem = make_label(role="error", object_name="reviewProblem", wraps=True, is_plain=True)
        self._problem.hide()
        self._notice = ElidedLabel(role="secondary", object_name="undoNotice")
        self.redo = make_button(object_name="redoButton")
        self.bring_back = make_button(self.tr("Bring back…"), "bringBackButton")
        self.bring_back.setToolTip(self.tr("Merge what the worktree has into the folder that it was made from"))
        self._summary = ElidedLabel(role="secondary", object_name="reviewSummary")
        self._progress = _Progress(theme)
        self._share = self._words_of_share = ""
        self.next = ShortcutButton(theme, self.tr("Next"), "F8", colour_role="muted")
        set_names(self.next, "nextUndecidedButton", self.tr("Next undecided change"))
        self.next.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus at the current hunk
        self.comments = make_button(object_name="sendCommentsButton")
        self.undo = make_button(object_name="undoTurnButton", variant="destructive")
        self._more = make_button("▾", "undoMoreButton", variant="flat")
        self._more.setAccessibleName(self.tr("More ways to undo"))
        self._more.setToolTip(self._more.accessibleName())
        self._more.setFixedWidth(max(Space.XXL, self._more.sizeHint().width()))
        menu = QMenu(self._more)
        self.undo_with_word = menu.addAction("")
        self._more.setMenu(menu)
        self.keep = make_button(object_name="keepAllButton", variant="primary")
        self.commit = make_button(self.tr("Commit…"), "commitButton")
        self.undo_commit = make_button(self.tr("Undo commit"), "undoCommitButton")
        waiting = (self.undo_commit, self.comments, self.bring_back)
        notice = hbox(self._notice, self.redo, STRETCH, *waiting, spacing=Space.S)
        undo = hbox(self.undo, self._more)
        buttons = hbox(self._summary, self._progress, STRETCH, self.next, undo, self.keep, self.commit, spacing=Space.S)
        margins = (Space.M, Space.S, Space.M, Space.S)
        vbox(self._warning, self._problem, notice, buttons, on=self, margins=margins, spacing=Space.S)

    def set_state(self, state: BarState) -> None:
        decided = self.tr("{0} of {1} decided").format(state.decided, state.total)
        self._words_of_share = decided if state.total else self.tr("Nothing to decide")
        self._share = f"{state.decided}/{state.total}" if state.total else ""
        self._summary.setAccessibleName(self._words_of_share)
        self._summary.setToolTip(self.tr("How many of the listed files are kept or undone"))
        self._progress.set_share(state.decided / state.total if state.total else 0)
        done = self.tr("Everything is decided") if state.decided == state.total else ""
        tips = self.tr("Go to the next undecided change"), self.tr("Keep what is undecided in these files")
        offered = self.tr("Nothing was brought back yet") if state.decided + state.offered == state.total else ""
        for button, tip, obstacle in zip((self.next, self.keep), tips, (done, done or offered), strict=True):
            button.setEnabled(not obstacle)
            button.setToolTip(obstacle or tip)
        self.keep.setText(self._words(state.scope, self.tr("Keep all"), self.tr("Keep {0}"), state.total))
        self._show_undo(state)
        self._show_redo(state)
        self._show_commit(state)
        self.comments.setText(plural("UndoBar", state.comments, "Send %n comment…", "Send %n comments…"))
        self.comments.setVisible(bool(state.comments))
        self.bring_back.setVisible(state.has_worktree)
        self._fit()

    def set_uncaptured(self, paths: list[str], details: str) -> None:
        count = len(paths)
        if count == 1:
            text = self.tr("{0} was changed but not recorded: it cannot be undone.").format(paths[0])
        else:
            many = "%n files were changed but not recorded: they cannot be undone."
            text = plural("UndoBar", count, many, many)
        self._warning.setText(text)
        self._warning.setToolTip(details)
        self._warning.setVisible(bool(count))

    def set_problem(self, words: str) -> None:
        show_text(self._problem, words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave out the bar of the progress, and then the words about it, where the buttons need the room."""
        buttons = [
            button for button in (self.next, self.undo, self._more, self.keep, self.commit) if button.isVisibleTo(self)
        ]
        room = self.width() - 2 * Space.M - sum(button.sizeHint().width() + Space.S for button in buttons)
        words = self._summary.fontMetrics().horizontalAdvance(self._words_of_share)
        self._summary.setText(self._words_of_share if words <= room or not self._share else self._share)
        self._progress.setVisible(bool(self._share) and words + Space.S + self._progress.width() <= room)

    def _show_undo(self, state: BarState) -> None:
        names = {"turn": self.tr("Undo turn"), "session": self.tr("Undo session"), "since": self.tr("Undo since")}
        text = names.get(state.scope, self._words(state.scope, self.tr("Undo all"), self.tr("Undo {0}"), state.total))
        kept = self.tr("Files that were changed since are left alone and listed.")
        undo = plural(
            "UndoBar", state.standing, "Undo the changes to %n file. {0}", "Undo the changes to %n files. {0}"
        )
        can_undo = bool(state.standing) and not state.is_running
        reason = turn_obstacle(is_running=state.is_running) or self.tr("Nothing is left to undo")
        self.undo.setText(text)
        self.undo.setEnabled(can_undo)
        self.undo.setToolTip(undo.format(kept) if can_undo else reason)
        self.undo_with_word.setText(self.tr("{0} with a message to the agent…").format(text))
        self._more.setVisible(state.scope != "git")
        self._more.setEnabled(can_undo)
        self._more.setToolTip(self._more.accessibleName() if can_undo else reason)

    def _show_redo(self, state: BarState) -> None:
        count = state.redo_count
        redo = plural(
            "UndoBar",
            count,
            "Redo the last undo, in %n file. If it conflicts with your later changes, you are asked.",
            "Redo the last undo, in %n files. If it conflicts with your later changes, you are asked.",
        )
        wait = turn_obstacle(is_running=state.is_running)
        self.redo.setVisible(bool(count or state.offered))
        self.redo.setEnabled(not wait)
        self.redo.setText(self.tr("Bring all back") if state.offered else self.tr("Redo"))
        self.redo.setToolTip(wait or ("" if state.offered else redo))
        restyle(self.redo, "variant", "primary" if state.offered else "")
        restyle(self.keep, "variant", "" if state.offered else "primary")
        said = plural("UndoBar", count, "The last undo changed %n file.", "The last undo changed %n files.")
        if state.offered:
            said = plural("UndoBar", state.offered, "%n file can be brought back.", "%n files can be brought back.")
        show_text(self._notice, said if count or state.offered else "")

    def _show_commit(self, state: BarState) -> None:
        wait = turn_obstacle(is_running=state.is_running)
        obstacle = wait or ("" if state.standing else self.tr("Nothing is left to commit"))
        self.commit.setVisible(state.has_git)
        self.commit.setEnabled(not obstacle)
        self.commit.setToolTip(obstacle or self.tr("Commit what you keep with git, and nothing else"))
        self.undo_commit.setVisible(state.last_commit is not None)
        self.undo_commit.setEnabled(not wait)
        if (last := state.last_commit) is not None:
            words = self.tr("Take back “{0}” ({1}). The files, and what is staged, stay as they are.")
            self.undo_commit.setToolTip(wait or plain_tooltip(words.format(last.subject, last.commit[:8])))

    def _words(self, scope: Scope, all_of_it: str, some_of_it: str, count: int) -> str:
        files = plural("UndoBar", count, "%n file", "%n files")
        return some_of_it.format(files) if scope == "filtered" and count else all_of_it


class _Progress(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._share = 0.0
        self.setFixedSize(QSize(64, 4))
        theme.changed.connect(self.update)

    def set_share(self, share: float) -> None:
        self._share = share
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), self._theme.colour("border"))
            filled = self.rect()
            filled.setWidth(round(self.width() * self._share))
            painter.fillRect(filled, self._theme.colour("accent"))
