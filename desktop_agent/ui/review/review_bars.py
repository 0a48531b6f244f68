"""The bars of the review. Above the diff: the file, its changes and how they are shown; below: all listed files."""

from typing import Literal, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.diff.rows import DiffRows, RowMode
from desktop_agent.core.protocol.events import ChangesCommitted
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkChoice
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import ShortcutButton, compact_button, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, restyle, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, vbox
from desktop_agent.ui.wording import encoding_name, plain_tooltip

_HEIGHT = 38
_NAME_WIDTH = 140
"""A longer name is cut to make room for the toggles."""

EditStage = Literal["reading", "editing", "asking", "saving", "stale"]


class FileBar(QWidget):
    mode_chosen = Signal(str)  # a `RowMode`
    decided = Signal(str)  # a `HunkChoice` for the whole file, for files without hunks

    def __init__(self, theme: Theme, keys: PartKeys, *, can_enlarge: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._keys = keys
        self._can_enlarge = can_enlarge
        self.setFixedHeight(_HEIGHT)
        self._name = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._encoding, self._count = make_label(role="secondary"), make_label(role="secondary")
        self._note = ElidedLabel(role="secondary")
        self.call = compact_button(object_name="showCallButton", variant="flat")
        self.call.setToolTip(self.tr("Show the call behind this change"))
        self.edit = compact_button(self.tr("Edit"), "editFileButton", variant="flat")
        self.mode, self.wrap, self.enlarge = (
            compact_button(words, name, variant="flat", is_checkable=True)
            for words, name in (
                (self.tr("Side by side"), "diffModeButton"),
                (self.tr("Wrap lines"), "wrapLinesButton"),
                (self.tr("Whole window"), "enlargeReviewButton"),
            )
        )
        self.discard = compact_button(self.tr("Discard"), "discardEditButton", variant="destructive")
        self.keep_editing = compact_button(self.tr("Keep editing"), "continueEditButton")
        self.cancel = compact_button(self.tr("Cancel"), "cancelEditButton", tooltip=self.tr("Stop editing (Esc)"))
        self.save = compact_button(self.tr("Save"), "saveEditButton", variant="primary")
        self.save.setToolTip(self.tr("Write the file (Ctrl+S)"))
        decide = self._on_decided
        self._undo = compact_button(self.tr("Undo"), "undoShownFileButton", clicked=decide, variant="destructive")
        self._redo = compact_button("", "redoShownFileButton", clicked=decide)
        self._keep = compact_button(object_name="keepShownFileButton", clicked=decide, variant="good")
        self._update_font()
        self._stage: EditStage = "reading"
        self._is_edit_offered = False
        self._is_text_shown = True
        self._is_undone = False
        self._view: DiffView | None = None
        words = self._name, self._encoding, self._count, self.call, self._note
        self._toggles = self.mode, self.wrap, self.enlarge
        editing = self.edit, self.discard, self.keep_editing, self.cancel, self.save
        buttons = *editing, self._undo, self._redo, self._keep, *self._toggles
        hbox(*words, STRETCH, *buttons, on=self, margins=(Space.M, 0, Space.S, 0), spacing=Space.S)
        self.show_editing("reading")
        theme.changed.connect(self._update_font)

    def set_file(self, path: str, call: str) -> None:
        self._name.setText(path.rpartition("/")[2])
        self._name.setToolTip(plain_tooltip(path))
        self.call.setText(call)
        self.call.setAccessibleName(self.tr("Show the call: {0}").format(call))
        self._show_widgets()

    def show_counts(
        self, rows: DiffRows, *, kept: int = 0, undone: int = 0, committed: int = 0, is_offered: bool = False
    ) -> None:
        count, diff = len(rows.changes), rows.diff
        encoding = diff.new_encoding if diff.new_lines else diff.old_encoding
        self._encoding.setText(encoding_name(encoding) if encoding != "utf-8" else "")
        parts = [plural("FileBar", count, "%n change", "%n changes")]
        if kept:
            parts.append(self.tr("{0} kept").format(kept))
        if undone:
            parts.append((self.tr("{0} not brought back") if is_offered else self.tr("{0} undone")).format(undone))
        if committed:
            parts.append(self.tr("{0} committed").format(committed))
        self._redo.setText(self.tr("Bring back") if is_offered else self.tr("Redo"))
        self._count.setText(" · ".join(parts) if count else "")
        self._is_undone = 0 < count == undone
        is_kept = not self._is_undone and 0 < count == kept + undone
        self._keep.setText(self.tr("✓ Kept") if is_kept else self.tr("Keep"))
        self._keep.setToolTip(self.tr("Decide later") if is_kept else self.tr("Keep this file"))
        self._show_widgets()

    def set_text_shown(self, *, is_shown: bool) -> None:
        self._is_text_shown = is_shown
        self._show_widgets()

    def set_undo_obstacle(self, obstacle: str) -> None:
        for button, words in ((self._undo, self.tr("Undo this file")), (self._redo, self.tr("Redo this change"))):
            button.setEnabled(not obstacle)
            button.setToolTip(obstacle or words)

    def attach(self, view: DiffView) -> None:
        self._view = view
        self.mode.clicked.connect(self._toggle_mode)
        self.wrap.clicked.connect(view.toggle_wrapping)
        view.keys.changed.connect(self.show_mode)
        view.mode_changed.connect(self.show_mode)
        self.show_mode()

    def _toggle_mode(self) -> None:
        assert self._view is not None
        mode: RowMode = "unified" if self._view.document.mode == "side_by_side" else "side_by_side"
        self._view.set_mode(mode)
        self.show_mode()
        self.mode_chosen.emit(mode)

    def show_mode(self) -> None:
        assert self._view is not None
        document, scroller = self._view.document, self._view.scroller
        obstacle = document.mode_obstacle()
        self.mode.setChecked(document.mode == "side_by_side")
        self.mode.setEnabled(not obstacle)
        self.mode.setToolTip(obstacle or self.tr("Show the old and the new lines in two columns"))
        words = self._view.keys.hint(self.tr("Wrap long lines instead of scrolling sideways"), "wrap")
        self.wrap.setChecked(scroller.wraps)
        self.wrap.setEnabled(not scroller.is_too_large)
        self.wrap.setToolTip(self.tr("This diff is too large to wrap its lines") if scroller.is_too_large else words)
        self._show_widgets()

    def set_enlarged(self, keys: str, *, is_enlarged: bool) -> None:
        """Show whether the review has the whole window, and the keys that change it."""
        self.enlarge.setChecked(is_enlarged)
        words = self.tr("Show only the review (Esc shows everything again)")
        self.enlarge.setToolTip(f"{words} ({keys})" if keys else words)

    def set_edit_obstacle(self, obstacle: str, *, is_offered: bool) -> None:
        self._is_edit_offered = is_offered
        self.edit.setEnabled(not obstacle)
        self.edit.setToolTip(obstacle or self._keys.hint(self.tr("Edit the file here"), "edit"))
        self._show_widgets()

    def take_keyboard(self) -> None:
        button = self._redo if self._is_undone else self._keep
        button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_editing(self, stage: EditStage, note: str = "") -> None:
        self._stage = stage
        self._note.setText(note)
        self._note.setToolTip(plain_tooltip(note))
        self.save.setEnabled(stage == "editing")
        self._show_widgets()

    def _show_widgets(self) -> None:
        is_reading, is_asking = self._stage == "reading", self._stage == "asking"
        is_editing = not is_reading and not is_asking
        is_text, is_picture = is_reading and self._is_text_shown, is_reading and not self._is_text_shown
        shown: dict[QWidget, bool] = {
            self.edit: is_text and self._is_edit_offered,
            self._redo: is_picture and self._is_undone,
            self._undo: is_picture and not self._is_undone,
            self._keep: is_picture and not self._is_undone,
            self.discard: is_asking,
            self.keep_editing: is_asking,
            self.cancel: is_editing,
            self.save: is_editing,
        }
        room = self.width() - sum(each.sizeHint().width() + Space.S for each, is_shown in shown.items() if is_shown)
        room -= 2 * Space.M + self._name.sizeHint().width()
        cut = max(0, self._name.sizeHint().width() - _NAME_WIDTH)
        shown |= _what_fits({self.enlarge: self._can_enlarge, self.mode: is_text, self.wrap: is_text}, room + cut)
        room -= sum(each.sizeHint().width() + Space.S for each in self._toggles if shown[each])
        words = self._encoding, self._count, self.call
        labels: dict[QWidget, bool] = {each: is_reading and bool(each.text()) for each in words}
        shown |= _what_fits(labels, room)
        shown[self._note] = bool(self._note.toolTip())
        # Hide first, then show: showing both at once would widen the panel for good.
        for widget in sorted(shown, key=shown.__getitem__):
            widget.setVisible(shown[widget])

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        optional = [each for each in (*self._toggles, self._encoding, self._count, self.call) if each.isVisibleTo(self)]
        return least - QSize(sum(each.minimumSizeHint().width() + Space.S for each in optional), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_widgets()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), self._theme.colour("surface"))
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.colour("border"))

    def _on_decided(self) -> None:
        choices: dict[object, HunkChoice] = {self._keep: "keep", self._undo: "undo", self._redo: "redo"}
        self.decided.emit(choices[self.sender()])

    def _update_font(self) -> None:
        font = self._theme.code_font(TypeSize.CODE)
        font.setBold(True)
        self._name.setFont(font)


def _what_fits(wanted: dict[QWidget, bool], room: int) -> dict[QWidget, bool]:
    """Return which of the wanted widgets fit. The first has priority over the second, and so on."""
    fits: dict[QWidget, bool] = {}
    for widget, is_wanted in wanted.items():
        room -= widget.sizeHint().width() + Space.S if is_wanted else 0
        fits[widget] = is_wanted and room >= 0
    return fits


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
