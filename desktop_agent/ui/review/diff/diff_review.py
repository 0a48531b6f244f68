"""A diff with overlays for decisions, comments, moved lines and problems. Moved lines are found after painting.

Decisions about hunks have states, keys and buttons here.
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent, QPixmap, QRegion
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import Moves, moved_blocks
from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import Diagnostic, FileDiff, MovedBlock
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.comment_overlay import CommentOverlay
from desktop_agent.ui.review.diff.diff_layout import PAD
from desktop_agent.ui.review.diff.diff_painter import Bars, DiffOverlay, LineNote, Scene, button_rect
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import (
    HunkChoice,
    HunkDecisions,
    HunkState,
    bar_label,
    moved_label,
    problem_words,
    row_words,
)
from desktop_agent.ui.runtime.pacing import BackgroundCall
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.wording import plain_tooltip

_ACTIONS = ("keep", "undo", "redo")


class HunkActions(QWidget):
    """The buttons for one hunk. A diff has two of these widgets, for the marked and the hovered hunk."""

    chosen = Signal(str)  # a `HunkChoice`

    def __init__(self, parent: QWidget, keys: PartKeys) -> None:
        super().__init__(parent)
        self._keys = keys
        self.key: HunkKey = ""
        self.row = -1
        self._is_kept = False
        self._shown: object = None
        self._comment = self._make_button("commentHunkButton", self.tr("Comment"))
        self._undo = self._make_button("undoHunkButton", self.tr("Undo"), "destructive")
        self._redo = self._make_button("redoHunkButton", "")
        self._keep = self._make_button("keepHunkButton", "", "good")
        hbox(self._comment, self._undo, self._redo, self._keep, on=self, spacing=Space.S - 2)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFixedHeight(22)
        self.hide()

    def _make_button(self, object_name: str, text: str, variant: str = "") -> QPushButton:
        return compact_button(text, object_name, clicked=self._on_clicked, variant=variant, parent=self)

    def show_hunk(self, row: int, key: HunkKey, place: str, state: HunkState, decisions: HunkDecisions) -> None:
        self.row, self.key = row, key
        shown = (place, state, decisions.obstacle, decisions.is_own, decisions.is_offered)
        if shown == self._shown:
            return
        self._shown = shown
        self._is_kept = state == "kept"
        keys, redo, redo_named = self._keys, self.tr("Redo this change"), self.tr("Redo {0}")
        if decisions.is_offered:
            redo, redo_named = self.tr("Bring this change back"), self.tr("Bring back {0}")
        self._redo.setText(self.tr("Bring back") if decisions.is_offered else self.tr("Redo"))
        self._keep.setText(self.tr("✓ Kept") if self._is_kept else self.tr("Keep"))
        self._show_buttons(is_undone=state == "undone")
        self._comment.setToolTip(keys.hint(self.tr("Write a comment on these lines"), "comment"))
        self._keep.setToolTip(
            keys.hint(self.tr("Decide later") if self._is_kept else self.tr("Keep this change"), "keep")
        )
        self._keep.setEnabled(not decisions.is_own)
        for button, words in (
            (self._undo, keys.hint(self.tr("Undo this change"), "undo")),
            (self._redo, keys.hint(redo, "redo")),
        ):
            button.setEnabled(not decisions.obstacle)
            button.setToolTip(decisions.obstacle or words)
        self._comment.setAccessibleName(self.tr("Comment on {0}").format(place))
        self._undo.setAccessibleName(self.tr("Undo {0}").format(place))
        self._redo.setAccessibleName(redo_named.format(place))
        self._keep.setAccessibleName((self.tr("Kept: {0}") if self._is_kept else self.tr("Keep {0}")).format(place))
        self.resize(self.sizeHint())

    def _show_buttons(self, *, is_undone: bool) -> None:
        shown, hidden = ((self._redo,), (self._undo, self._keep))[:: 1 if is_undone else -1]
        for button in shown:
            button.show()
        if any(button.hasFocus() for button in hidden):
            shown[0].setFocus()
        for button in hidden:
            button.hide()

    def picture(self) -> QPixmap:
        self.ensurePolished()
        self.resize(self.sizeHint())
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        self.render(picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
        return picture

    def forget(self) -> None:
        """Set all texts again, because fonts, colours or keys have changed."""
        self._shown = None

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.sizeHint() if layout else super().sizeHint()

    def _on_clicked(self) -> None:
        keep: HunkChoice = "undecide" if self._is_kept else "keep"
        button = self.sender()
        choices: dict[object, HunkChoice] = {self._comment: "comment", self._undo: "undo", self._redo: "redo"}
        self.chosen.emit(choices.get(button, keep))


_STATES: tuple[HunkState, ...] = ("undecided", "kept", "undone")


class HunkOverlay(DiffOverlay):
    """By default K keeps the current hunk, U undoes it and R redoes it, and the next undecided hunk becomes current.

    Tab goes to the buttons of the current hunk.
    """

    requested = Signal(str, object)  # a `HunkChoice` and the hunks, a tuple of `HunkKey`
    comment_requested = Signal(int)  # the row of the hunk

    def __init__(self, theme: Theme, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._decided = HunkDecisions()
        self.decisions: HunkDecisions = HunkDecisions()
        """The user's decisions, plus the hunks that the diff itself marks as undone."""
        self._is_undoing = False
        """Whether an undo against git was asked for and not answered yet. Another one would find a changed file."""
        self._pictures: dict[HunkState, QPixmap] = {}
        self._pictured: tuple[bool, bool] | None = None
        """Whether the buttons of the pictures are enabled, and whether they bring back."""
        self._hovered: int | None = None
        self._pressed: QPushButton | None = None
        self._is_covered = False
        self._current, self._below_mouse = self._new_actions(), self._new_actions()
        self._template = HunkActions(view.viewport(), view.keys)
        for button in self._template.findChildren(QPushButton):
            button.setObjectName("")  # these buttons are only painted: a search by name must not find them
        view.navigation.moved.connect(self.place)
        theme.changed.connect(self._forget_looks)
        view.keys.changed.connect(self._forget_looks)

    @property
    def current_key(self) -> HunkKey | None:
        number = self._view.navigation.change
        return self._view.document.rows.keys[number] if number >= 0 else None

    @property
    def keys(self) -> tuple[HunkKey, ...]:
        rows = self._view.document.rows
        return tuple(dict.fromkeys(key for key in map(rows.key, rows.changes) if key is not None))

    def set_decisions(self, decided: HunkDecisions) -> None:
        self._is_undoing = False
        if decided != self._decided:
            self._decided = decided
            self.decisions = decided._replace(undone=decided.undone | self._view.document.rows.diff.undone)
            self._view.describe(only_news=True)
            self.place()
            self._view.scroller.repaint()

    def go_to_undecided(self, *, backwards: bool = False, from_edge: bool = False, with_current: bool = False) -> bool:
        """Go to an undecided hunk; return whether there is one.

        `from_edge` starts at the first or last hunk, `with_current` at the current one, which is skipped otherwise.
        """
        keys, current = self._view.document.rows.keys, self._view.navigation.change
        edge, neighbour = (len(keys) - 1, current - 1) if backwards else (0, current + 1)
        start = edge if from_edge else current if with_current else neighbour
        order = range(start, -1, -1) if backwards else range(max(start, 0), len(keys))
        found = next((number for number in order if self.decisions.is_open(keys[number])), None)
        return found is not None and self._view.navigation.go_to_change(found)

    def counts(self) -> tuple[int, int, int]:
        keys = self._view.document.rows.keys
        states = Counter(map(self.decisions.state, keys))
        return states["kept"], states["undone"], sum(map(self.decisions.is_committed, keys))

    def set_diff(self, diff: FileDiff | None) -> None:
        self._hovered = None
        self.decisions = self._decided._replace(undone=self._decided.undone | diff.undone) if diff else self._decided

    def describe(self, row: int, words: str) -> str:
        return row_words(self._view.document.rows, row, self.decisions)

    def set_covered(self, *, is_covered: bool) -> None:
        self._is_covered = is_covered
        self.place()

    def decorate(self, scene: Scene) -> Scene:
        decisions = self.decisions
        wanted = not decisions.obstacle, decisions.is_offered
        if not self._pictures or self._pictured != wanted:
            self._pictured = wanted
            for state in _STATES:
                self._template.show_hunk(-1, "", "", state, decisions)
                self._pictures[state] = self._template.picture()
        live = frozenset(actions.row for actions in (self._current, self._below_mouse) if actions.isVisible())
        return scene._replace(bars=Bars(decisions, self._pictures, live))

    def _forget_looks(self) -> None:
        self._pictures.clear()
        for actions in (self._current, self._below_mouse, self._template):
            actions.forget()
        self.place()

    def place(self) -> None:
        rows, change = self._view.document.rows, self._view.navigation.change
        current = rows.changes[change] if change >= 0 and not self._is_covered else None
        hovered = None if self._is_covered else self._hovered
        self._place(self._current, current)
        self._place(self._below_mouse, hovered if hovered != current else None)

    def _new_actions(self) -> HunkActions:
        actions = HunkActions(self._view.viewport(), self._view.keys)
        actions.chosen.connect(self._on_chosen)
        return actions

    def _place(self, actions: HunkActions, row: int | None) -> None:
        view, rows = self._view, self._view.document.rows
        key = rows.key(row) if row is not None else None
        focus = view.focusWidget()
        has_focus = actions.isAncestorOf(focus) if focus else False
        rect = view.scroller.row_rect(row) if row is not None else QRect()
        if row is None or key is None or not (rect.intersects(view.viewport().rect()) or has_focus):
            if actions.isVisible():
                if has_focus:
                    view.setFocus()
                view.scroller.repaint(actions.row)
                actions.hide()
            return
        if actions.row != row or not actions.isVisible():
            view.scroller.repaint(actions.row)
        actions.show_hunk(row, key, bar_label(rows, row), self.decisions.state(key), self.decisions)
        actions.move(button_rect(rect.adjusted(PAD, 0, -PAD, 0), actions.width(), actions.height()).topLeft())
        actions.show()

    def _on_chosen(self, choice: HunkChoice) -> None:
        actions = self.sender()
        if isinstance(actions, HunkActions):
            self._view.navigation.go_to(actions.row)
            if choice == "comment":
                self.comment_requested.emit(actions.row)
            elif not (choice == "undo" and self._is_undoing):
                self._is_undoing |= choice == "undo" and self.decisions.is_git
                self.requested.emit(choice, (actions.key,))

    def takes(self, action: str) -> bool:
        return action in _ACTIONS

    def do(self, action: str) -> bool:
        if action not in _ACTIONS:
            return False
        key = self.current_key
        state = self.decisions.state(key) if key is not None else None
        can_revert = not self.decisions.obstacle and not self._is_undoing
        match action:  # impossible actions are ignored
            case "keep" if state == "kept":
                self.requested.emit("undecide", (key,))
                return True
            case "keep" if state == "undecided":
                self.requested.emit("keep", (key,))
            case "undo" if state in ("undecided", "kept") and can_revert:
                self._is_undoing = self.decisions.is_git
                self.requested.emit("undo", (key,))
            case "redo" if state == "undone" and can_revert:
                self.requested.emit("redo", (key,))
            case _:
                return True
        self.go_to_undecided()  # never round the end, where the next key would take a decision back
        return True

    def tab_pressed(self) -> None:
        change = self._view.navigation.change
        if change >= 0:
            self._view.scroller.ensure_visible(self._view.document.rows.changes[change])  # its buttons come next

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        # A tap on a touch screen has no hover before it, so the buttons do not exist yet.
        point = event.position().toPoint()
        self.hover(point)
        child = self._view.viewport().childAt(point) if event.button() == Qt.MouseButton.LeftButton else None
        self._pressed = child if isinstance(child, QPushButton) else None
        return self._pressed is not None

    def mouse_released(self, point: QPoint) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and self._view.viewport().childAt(point) is pressed:
            pressed.click()

    def hover(self, point: QPoint) -> bool:
        rows = self._view.document.rows
        row = self._view.scroller.row_at(point) if len(rows) and point.y() >= 0 else None
        self._hovered = row if row is not None and rows.key(row) is not None else None
        self.place()
        return False


_MAX_LINES_AT_ONCE = 5_000
"""Up to this many changed lines, the search takes a few ms. In a thread, the window would wait longer for the GIL."""

_NO_MOVES = Moves(())


class MovedLines(DiffOverlay):
    """Marks moved lines. Enter, or a click on the label, goes to the lines' other position."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._moves = _NO_MOVES
        self._search: BackgroundCall[Moves] | None = None
        self._is_small = True
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._poll)

    def block_at(self, row: int) -> tuple[MovedBlock, LineSide] | None:
        shown = self._view.document.rows[row]
        if shown.kind in ("context", "hunk", "gap"):
            return None
        new = self._moves.of_new(shown.new) if shown.new is not None else None
        old = self._moves.of_old(shown.old) if shown.old is not None else None
        prefers_old = self._view.document.mode == "side_by_side" and self._view.navigation.side == "old"
        if old and (prefers_old or not new):
            return old, "old"
        return (new, "new") if new else None

    # -- searching, from when the diff is painted until it is not visible any more --

    def set_diff(self, diff: FileDiff | None) -> None:
        if diff is None:
            return
        self._moves = _NO_MOVES
        self._search = None
        self._timer.stop()
        if diff.landmarks is not None:
            self._moves = Moves(diff.landmarks.moved)
        elif len(diff.edits) > 1:  # a move needs two edits: one removes lines, one adds them
            self._search = BackgroundCall(partial(_moves_in, diff), _NO_MOVES)
            self._is_small = diff.added + diff.removed <= _MAX_LINES_AT_ONCE

    def decorate(self, scene: Scene) -> Scene:
        if self._search and not self._timer.isActive():
            self._timer.start(0)
        return scene._replace(moves=self._moves)

    def hide(self) -> None:
        self._timer.stop()

    def _poll(self) -> None:
        search = self._search
        if search is None or search.is_done:
            self._timer.stop()
            self._search = None
            self._moves = search.result if search else _NO_MOVES
            if self._moves is not _NO_MOVES:
                self._view.viewport().update()
        elif not search.is_started:
            self._timer.setInterval(10)
            if self._is_small:
                search.run()
            else:
                search.start()

    def describe(self, row: int, words: str) -> str:
        block = self.block_at(row)
        return f"{words}. {moved_label(*block)}" if block else words

    def do(self, action: str) -> bool:
        if action != "open":
            return False
        block = self.block_at(self._view.navigation.row) if len(self._view.document.rows) else None
        if block:
            self._jump(*block)
        return block is not None

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        is_left = event.button() == Qt.MouseButton.LeftButton
        found = self._view.moved_at(event.position().toPoint()) if is_left else None
        if found:
            self._jump(*found)
        return found is not None

    def hover(self, point: QPoint) -> bool:
        return self._view.moved_at(point) is not None

    def _jump(self, block: MovedBlock, side: LineSide) -> None:
        view = self._view
        other, line = ("new", block.new_start) if side == "old" else ("old", block.old_start)
        view.navigation.side = other
        row = view.document.rows.find(other, line)
        view.navigation.go_to(row)
        view.scroller.ensure_visible(row, margin_rows=5)


class LineProblems(DiffOverlay):
    """Marks the lines with diagnostics, and shows each message after its line."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._path = ""
        self._found: dict[int, list[Diagnostic]] = {}
        self._notes: dict[int, LineNote] = {}
        self._tip = ""

    def set_found(self, path: str, found: Iterable[Diagnostic]) -> None:
        """Show what was found in the new file at `path`, the worst of each line first."""
        by_line: dict[int, list[Diagnostic]] = {}
        for each in found:
            by_line.setdefault(each.line - 1, []).append(each)
        if (path, by_line) != (self._path, self._found):
            self._path, self._found = path, by_line
            self._notes = {line: _note_of(all_of) for line, all_of in by_line.items()}
            self._view.viewport().update()
            self._view.describe(only_news=True)

    def decorate(self, scene: Scene) -> Scene:
        return scene._replace(notes=self._notes) if scene.rows.diff.path == self._path else scene

    def describe(self, row: int, words: str) -> str:
        return ". ".join((words, *map(problem_words, self._of_row(row))))

    def hover(self, point: QPoint) -> bool:
        rows, scroller = self._view.document.rows, self._view.scroller
        is_line = len(rows) and point.y() >= 0 and not scroller.is_in_block(point)
        pane = scroller.pane_at(point) if is_line else None
        is_text = pane is not None and pane.side != "old" and point.x() >= pane.text_left
        found = self._of_row(scroller.row_at(point)) if is_text else []
        self._tip = "\n".join(f"{problem_words(each)}{each.code and f' [{each.code}]'}" for each in found)
        return False

    def tool_tip(self) -> str:
        return plain_tooltip(self._tip)

    def _of_row(self, row: int) -> list[Diagnostic]:
        rows = self._view.document.rows
        new = rows[row].new if len(rows) and rows.diff.path == self._path else None
        return self._found.get(new, []) if new is not None else []


def _note_of(found: list[Diagnostic]) -> LineNote:
    more = f" (+{len(found) - 1})" if len(found) > 1 else ""
    return LineNote(found[0].severity, f"{found[0].message}{more}", is_new=any(each.is_new for each in found))


def _moves_in(diff: FileDiff) -> Moves:
    blocks = moved_blocks(diff)
    return Moves(blocks) if blocks else _NO_MOVES


class DiffReview(QObject):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        view = DiffView(theme, parent)
        super().__init__(view)
        self.view = view
        view.document.has_heads = True
        self.hunks = HunkOverlay(theme, view)
        self.moved = MovedLines(view)
        self.problems = LineProblems(view)
        self.comments = CommentOverlay(theme, view)
        self.hunks.comment_requested.connect(self.comments.write_on_change)
        view.overlays += (self.hunks, self.moved, self.problems, self.comments)
