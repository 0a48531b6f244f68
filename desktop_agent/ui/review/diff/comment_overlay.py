"""Comments on the lines of a diff: cards between the rows, and an editor. Comments move with their lines."""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.core.diff.text import split_lines
from desktop_agent.core.protocol.model import FileDiff, LineComment
from desktop_agent.ui.review.diff.diff_document import DiffSelection, line_of
from desktop_agent.ui.review.diff.diff_layout import Pane
from desktop_agent.ui.review.diff.diff_painter import DiffOverlay, Scene
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import comment_label
from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hbox, set_names, vbox
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording import plain_tooltip

_MAX_QUOTED_LINES = 200
_SEARCHED_LINES = 2_000


class CommentAnchor(NamedTuple):
    """The commented lines of one side, 0-based and half open. An empty range means the whole file."""

    side: LineSide
    start: int
    end: int


def row_of(rows: DiffRows, comment: LineComment) -> int:
    """Return the row above the comment. For folded lines, return the row of the gap that hides them."""
    lines = rows.diff.old_lines if comment.side == "old" else rows.diff.new_lines
    if comment.start == comment.end or not lines:
        return rows.changes[0] if rows.changes else 0
    size, found = comment.end - comment.start, found_line(lines, comment)
    first = min(comment.start, len(lines) - 1) if found is None else found
    return rows.find(comment.side, min(first + size, len(lines)) - 1)


def quote_of(rows: DiffRows, anchor: CommentAnchor) -> str:
    lines = rows.diff.old_lines if anchor.side == "old" else rows.diff.new_lines
    return "".join(lines[anchor.start : min(anchor.end, anchor.start + _MAX_QUOTED_LINES)])


def anchor_of_change(rows: DiffRows, row: int) -> CommentAnchor:
    """Return the lines of the change whose bar is at `row`: its new lines, or its old lines if all were deleted."""
    hunk = rows.hunk(row)
    if hunk is None:
        return CommentAnchor("new", 0, 0)
    first, last = hunk.edits[0], hunk.edits[-1]
    if any(edit.new_start < edit.new_end for edit in hunk.edits):
        return CommentAnchor("new", first.new_start, last.new_end)
    return CommentAnchor("old", first.old_start, last.old_end)


def anchor_of_row(rows: DiffRows, row: int, side: LineSide | None) -> CommentAnchor:
    """Return the line that a row shows, preferably on `side`. For the bar of a change, return the change's lines."""
    if found := line_of(rows[row], side) or line_of(rows[row], None):
        return CommentAnchor(found[0], found[1], found[1] + 1)
    return anchor_of_change(rows, row)


def anchor_of_selection(rows: DiffRows, selection: DiffSelection | None) -> CommentAnchor | None:
    if selection is None or selection.is_empty:
        return None
    first, last = selection.start.row, selection.end.row
    if selection.end.offset == 0 and last > first:
        last -= 1
    sides: tuple[LineSide, ...] = (selection.side,) if selection.side else ("new", "old")
    for side in sides:
        start = _first_line(rows, range(first, last + 1), side)
        end = _first_line(rows, range(last, first - 1, -1), side)
        if start is not None and end is not None:
            return CommentAnchor(side, start, end + 1)
    return None


def _first_line(rows: DiffRows, order: range, side: LineSide) -> int | None:
    found = (line_of(rows[row], side) for row in order)
    return next((line[1] for line in found if line), None)


def found_line(lines: Sequence[str], comment: LineComment) -> int | None:
    """Return the current line number of the quoted lines: the nearest match; `None` if they are gone."""
    quoted = split_lines(comment.quote)
    size = len(quoted)
    if not quoted or tuple(lines[comment.start : comment.start + size]) == quoted:
        return comment.start
    for away in range(1, _SEARCHED_LINES):
        for start in (comment.start - away, comment.start + away):
            if 0 <= start < len(lines) and lines[start] == quoted[0] and tuple(lines[start : start + size]) == quoted:
                return start
    return None


_HEAD_HEIGHT = 30
_PAD = 12
_BOTTOM = 10
_LINE_SPACING = 1.35


class WrappedText:
    def __init__(self, text: str, font: QFont, width: float) -> None:
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._layout = QTextLayout(text.replace("\n", "\u2028"), font)
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self.height = 0.0
        self._layout.beginLayout()
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width, 40))
            line.setPosition(QPointF(0, self.height))
            self.height += line.height() * _LINE_SPACING
        self._layout.endLayout()

    def draw(self, painter: QPainter, left: float, top: float) -> None:
        self._layout.draw(painter, QPointF(left, top))


class CommentCard(QWidget):
    edit_clicked = Signal()
    remove_clicked = Signal()

    def __init__(self, comment: LineComment, theme: Theme, parent: QWidget, *, is_gone: bool) -> None:
        super().__init__(parent)
        self.comment, self.is_gone = comment, is_gone
        self._theme = theme
        self._heading = comment_label(comment)
        if is_gone:
            self._heading = self.tr("{0} · no longer there").format(self._heading)
            self.setToolTip(plain_tooltip(comment.quote))
        self._wrapped: WrappedText | None = None
        set_names(self, "commentCard", f"{self._heading}: {comment.text}")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._edit = compact_button(self.tr("Edit"), "editCommentButton", clicked=self.edit_clicked, variant="flat")
        self._edit.setAccessibleName(self.tr("Edit the comment: {0}").format(self._heading))
        remove = compact_button(self.tr("Remove"), "removeCommentButton", clicked=self.remove_clicked, variant="flat")
        remove.setAccessibleName(self.tr("Remove the comment: {0}").format(self._heading))
        top = Qt.AlignmentFlag.AlignTop
        hbox(STRETCH, (self._edit, top), (remove, top), on=self, margins=(_PAD, Space.XS, Space.XS, 0))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = self._theme.colour
            draw_box(painter, QRectF(self.rect()), colour("accent"), colour("accent_weak"), Radius.CARD)
            heading = self._theme.text_font(TypeSize.SECONDARY)
            heading.setBold(True)
            painter.setFont(heading)
            painter.setPen(self._theme.colour("text"))
            head = QRect(_PAD, 0, max(0, self._edit.x() - _PAD - Space.XS), _HEAD_HEIGHT)
            text = painter.fontMetrics().elidedText(self._heading, Qt.TextElideMode.ElideRight, head.width())
            painter.drawText(head, Qt.AlignmentFlag.AlignVCenter, text)
            self._wrapped = self._wrapped or WrappedText(
                self.comment.text, self._theme.text_font(TypeSize.SECONDARY), self.width() - 2 * _PAD
            )
            self._wrapped.draw(painter, _PAD, _HEAD_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._wrapped = None
        super().resizeEvent(event)


_MIN_LINES = 2
_MAX_LINES = 10
_FRAME_HEIGHT = 24
_REST_HEIGHT = 70


class CommentEditor(QWidget):
    saved = Signal()
    cancelled = Signal()
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._heading = make_label(role="secondary")
        self.field = QPlainTextEdit()
        self.field.setObjectName("commentEdit")
        self.field.setTabChangesFocus(True)
        self.field.setPlaceholderText(self.tr("What should be different?"))
        self.field.setFont(theme.text_font(TypeSize.BODY))
        self.field.textChanged.connect(self._on_text_changed)
        self.field.installEventFilter(self)
        cancel = compact_button(self.tr("Cancel"), "cancelCommentButton", clicked=self.cancelled)
        cancel.setToolTip(self.tr("Cancel (Esc)"))
        self._save = compact_button(
            self.tr("Add comment"), "saveCommentButton", clicked=self._on_save, variant="primary"
        )
        self._save.setToolTip(self.tr("Save the comment (Ctrl+Enter)"))
        buttons = hbox(
            STRETCH, make_label(self.tr("Ctrl+Enter"), role="secondary"), cancel, self._save, spacing=Space.S
        )
        margins = (Space.M, Space.S, Space.M, Space.S)
        vbox(self._heading, (self.field, 1), buttons, on=self, margins=margins, spacing=Space.XS + 2)
        self._lines = 0
        self._on_text_changed()

    @property
    def text(self) -> str:
        return self.field.toPlainText().strip()

    def wanted_height(self) -> int:
        line = self.field.fontMetrics().lineSpacing()
        return round(self._lines * line) + _FRAME_HEIGHT + _REST_HEIGHT

    def edit(self, heading: str, text: str, *, is_new: bool) -> None:
        self._heading.setText(heading)
        self.field.setAccessibleName(heading)
        self._save.setText(self.tr("Add comment") if is_new else self.tr("Save"))
        self.field.setPlainText(text)
        self.field.selectAll() if not is_new else self.field.moveCursor(self.field.textCursor().MoveOperation.End)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_key = event.type() in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
        if not (is_key and isinstance(event, QKeyEvent)):
            return super().eventFilter(watched, event)
        is_save = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and bool(
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        )
        if not is_save and event.key() != Qt.Key.Key_Escape:
            return super().eventFilter(watched, event)
        event.accept()
        if event.type() == QEvent.Type.KeyPress:
            self._on_save() if is_save else self.cancelled.emit()
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = self._theme.colour
            draw_box(painter, QRectF(self.rect()), colour("accent"), colour("bg"), Radius.CARD)

    def _on_save(self) -> None:
        if self.text:
            self.saved.emit()

    def _on_text_changed(self) -> None:
        self._save.setEnabled(bool(self.text))
        wrapped = round(self.field.document().size().height())  # the height of a plain text document counts lines
        lines = max(_MIN_LINES, min(wrapped, _MAX_LINES))
        if lines != self._lines:
            self._lines = lines
            self.height_changed.emit()


_MARGIN = 6
_RIGHT = 12
_MAX_WIDTH = 720
_MAX_HEIGHTS_KEPT = 1_000


class CommentBlock(NamedTuple):
    """A comment below a row, or the editor instead of the comment that it edits."""

    row: int
    offset: int
    height: int
    comment: LineComment
    is_editor: bool


class CommentWriting(DiffOverlay):
    """Shows comments as cards below their rows. Only visible cards are widgets. Keeps a draft of the shown path.

    Subclasses know the rows.
    """

    added = Signal(object)  # a `LineComment`, new or changed
    removed = Signal(str)  # its id

    def __init__(self, theme: Theme, view: QWidget, area: QWidget) -> None:
        """Cards are children of `area`. `view` has the keyboard while nothing is written."""
        super().__init__(view)
        self._theme = theme
        self._owner, self._area = view, area
        self._path = ""
        self.comments: tuple[LineComment, ...] = ()
        self._written: LineComment | None = None
        self._drafts: dict[tuple[str, CommentAnchor], str] = {}
        self._editor: CommentEditor | None = None
        self._blocks: list[CommentBlock] = []
        self._cards: dict[str, CommentCard] = {}
        self._heights: dict[tuple[str, int], int] = {}
        self._saved_id = ""
        """The comment that was saved last, until the session has it."""
        self.is_open = True
        """Whether the user can write."""

    # -- the rows --

    def find_row(self, comment: LineComment) -> int:
        raise NotImplementedError

    def is_gone(self, comment: LineComment) -> bool:
        raise NotImplementedError

    def width_below(self, row: int) -> int:
        """Return the width of a card below a row."""
        raise NotImplementedError

    def area_below(self, row: int, offset: int, height: int) -> QRect:
        """Return the area of a card, `offset` below the text of a row."""
        raise NotImplementedError

    def relayout(self) -> None:
        raise NotImplementedError

    def scroll_to(self, block: "CommentBlock") -> None:
        raise NotImplementedError

    # -- what is shown --

    def set_comments(self, comments: tuple[LineComment, ...]) -> None:
        before = self._shown()
        self.comments = comments
        if self._shown() != before:
            self._on_resized()
            self._show_block(self._saved_id)
        if any(comment.id == self._saved_id for comment in comments):
            self._saved_id = ""

    def forget(self) -> None:
        """Drop what the user is writing."""
        self._drafts.clear()
        self._written = None
        if self._editor:
            self._editor.hide()

    def _shown(self) -> list[LineComment]:
        return [comment for comment in self.comments if comment.path == self._path]

    def block_heights(self) -> dict[int, int]:
        found: dict[int, int] = {}
        self._blocks.clear()
        for comment, is_editor in self._shown_and_written():
            row = self.find_row(comment)
            height = self._editor.wanted_height() if is_editor and self._editor else 0
            height = height or self._card_height(comment.text, self.width_below(row))
            offset = found.get(row, _MARGIN)
            self._blocks.append(CommentBlock(row, offset, height, comment, is_editor))
            found[row] = offset + height + _MARGIN
        return found

    def place(self) -> None:
        visible: set[str] = set()
        for block in self._blocks:
            rect = self.area_below(block.row, block.offset, block.height)
            if block.is_editor and self._editor:
                self._editor.setGeometry(rect)
                self._editor.show()
            elif rect.intersects(self._area.rect()):
                visible.add(block.comment.id)
                self._card(block.comment).setGeometry(rect)
        for comment_id in [known for known in self._cards if known not in visible]:
            discard(self._cards.pop(comment_id))

    def _on_resized(self) -> None:
        self.relayout()
        if self._written is not None:
            self._show_block(self._written.id)

    def _show_block(self, comment_id: str) -> None:
        """Scroll to this comment, or to its editor, if it is shown."""
        if block := next((block for block in self._blocks if block.comment.id == comment_id), None):
            self.scroll_to(block)

    def _card_height(self, text: str, width: int) -> int:
        if (text, width) not in self._heights:
            if len(self._heights) > _MAX_HEIGHTS_KEPT:
                self._heights.clear()
            wrapped = WrappedText(text, self._theme.text_font(TypeSize.SECONDARY), width - 2 * _PAD)
            self._heights[text, width] = _HEAD_HEIGHT + round(wrapped.height) + _BOTTOM
        return self._heights[text, width]

    def _shown_and_written(self) -> list[tuple[LineComment, bool]]:
        written = self._written
        shown = [(comment, written is not None and comment.id == written.id) for comment in self._shown()]
        if written and not any(is_editor for _, is_editor in shown):
            shown.append((written, True))
        return shown

    def _card(self, comment: LineComment) -> CommentCard:
        card = self._cards.get(comment.id)
        is_gone = self.is_gone(comment)
        if card and (card.comment, card.is_gone) != (comment, is_gone):
            discard(card)
            card = None
        if card is None:
            card = CommentCard(comment, self._theme, self._area, is_gone=is_gone)
            card.edit_clicked.connect(self._on_edit)
            card.remove_clicked.connect(self._on_remove)
            card.show()
            self._cards[comment.id] = card
        return card

    # -- what the user writes --

    def write_on(self, anchor: CommentAnchor, quote: str) -> None:
        side, start, end = anchor
        new_id = f"m-{secrets.token_hex(4)}"
        comment = LineComment(id=new_id, path=self._path, side=side, start=start, end=end, quote=quote, text="")
        self._open(comment, is_new=True)

    def _open(self, comment: LineComment, *, is_new: bool) -> None:
        self._keep_draft()
        if self._editor is None:
            self._editor = CommentEditor(self._theme, self._area)
            self._editor.setObjectName("commentEditor")
            self._editor.saved.connect(self._on_saved)
            self._editor.cancelled.connect(self._on_cancelled)
            self._editor.height_changed.connect(self._on_resized)
        self._written = None  # filling the field must not emit changes
        text = self._drafts.get(_draft_key(comment), comment.text)
        self._editor.edit(comment_label(comment), text, is_new=is_new)
        self._written = comment
        self._on_resized()
        self._editor.field.setFocus()

    def _on_edit(self) -> None:
        card = self.sender()
        if isinstance(card, CommentCard):
            self._open(card.comment, is_new=False)

    def _on_remove(self) -> None:
        card = self.sender()
        if isinstance(card, CommentCard):
            self.removed.emit(card.comment.id)
            self._owner.setFocus()

    def _on_saved(self) -> None:
        if self._written and self._editor:
            comment = replace(self._written, text=self._editor.text)
            self._drafts.pop(_draft_key(self._written), None)
            others = (each for each in self.comments if each.id != comment.id)
            self.comments = *others, comment  # at once, so that nothing moves until the session has it
            self._saved_id = comment.id
            self._close()
            self._show_block(comment.id)
            self.added.emit(comment)

    def _on_cancelled(self) -> None:
        self._keep_draft()
        self._close()

    def _close(self) -> None:
        self._written = None
        if self._editor:
            self._editor.hide()
        self._on_resized()
        self._owner.setFocus()

    def _keep_draft(self) -> None:
        if self._written and self._editor:
            self._drafts[_draft_key(self._written)] = self._editor.text


class CommentOverlay(CommentWriting):
    """Comments on the lines of a diff."""

    def __init__(self, theme: Theme, view: DiffView) -> None:
        super().__init__(theme, view, view.viewport())
        self._view = view
        self._plus: tuple[int, Pane] | None = None
        self._gutter_from: int | None = None

    def write(self) -> None:
        rows, navigation = self._view.document.rows, self._view.navigation
        if len(rows):
            if rows.gap(navigation.row) and (navigation.selection is None or navigation.selection.is_empty):
                self._view.open_gap(navigation.row)  # shows the commented lines
            rows = self._view.document.rows
            marked = anchor_of_row(rows, navigation.row, navigation.selecting_side)
            self._write_on(anchor_of_selection(rows, navigation.selection) or marked)

    def write_on_change(self, row: int) -> None:
        self._write_on(anchor_of_change(self._view.document.rows, row))

    def _write_on(self, anchor: CommentAnchor) -> None:
        self.write_on(anchor, quote_of(self._view.document.rows, anchor))

    def set_diff(self, diff: FileDiff | None) -> None:
        path = diff.path if diff else ""
        if path != self._path:
            self._path = path
            self.forget()
        self._plus = None

    def find_row(self, comment: LineComment) -> int:
        return row_of(self._view.document.rows, comment)

    def is_gone(self, comment: LineComment) -> bool:
        diff = self._view.document.rows.diff
        return found_line(diff.old_lines if comment.side == "old" else diff.new_lines, comment) is None

    def width_below(self, row: int) -> int:
        room = self._view.viewport().width() - self._view.scroller.text_left - _RIGHT
        return max(120, min(_MAX_WIDTH, room))

    def area_below(self, row: int, offset: int, height: int) -> QRect:
        scroller = self._view.scroller
        top = scroller.geometry.block_top(row) + offset - scroller.position.y()
        return QRect(scroller.text_left, top, self.width_below(row), height)

    def relayout(self) -> None:
        self._view.relayout(keep_top=True)

    def block_heights(self) -> dict[int, int]:
        if len(self._view.document.rows):
            return super().block_heights()
        self._blocks.clear()
        return {}

    def scroll_to(self, block: CommentBlock) -> None:
        geometry = self._view.scroller.geometry
        top = geometry.block_top(block.row) + block.offset
        line = geometry.row_height if top - geometry.row_height >= geometry.top(block.row) else 0
        self._view.scroller.show_area(top - line, top + block.height + _MARGIN)

    def decorate(self, scene: Scene) -> Scene:
        return scene._replace(plus=self._plus)

    def describe(self, row: int, words: str) -> str:
        found = (block.comment for block in self._blocks if block.row == row and not block.is_editor)
        comments = (f"{comment_label(comment)}: {comment.text}" for comment in found)
        return ". ".join(filter(None, (words, *comments)))

    def takes(self, action: str) -> bool:
        return action == "comment"

    def do(self, action: str) -> bool:
        if action != "comment" or not len(self._view.document.rows):
            return False
        self.write()
        return True

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        point = event.position().toPoint()
        pane = self._gutter_at(point) if event.button() == Qt.MouseButton.LeftButton else None
        if pane is None:
            return False
        row, navigation = self._view.scroller.row_at(point), self._view.navigation
        navigation.side = pane.side or navigation.side
        navigation.go_to(row, scrolls=False)
        self._gutter_from = row
        navigation.select_lines(row, row)
        return True

    def mouse_moved(self, point: QPoint) -> None:
        if self._gutter_from is not None:
            self._view.navigation.select_lines(self._gutter_from, self._view.scroller.row_at(point))

    def mouse_released(self, point: QPoint) -> None:
        self._gutter_from = None
        self.write()

    def hover(self, point: QPoint) -> bool:
        pane = self._pane_of_line(point)
        plus = (self._view.scroller.row_at(point), pane) if pane else None
        if plus != self._plus:
            for changed in filter(None, (self._plus, plus)):
                self._view.scroller.repaint(changed[0])
            self._plus = plus
        return self._gutter_at(point) is not None

    def tool_tip(self) -> str:
        words = self.tr("Comment on this line, or drag over several")
        return self._view.keys.hint(words, "comment") if self._plus else ""

    def _gutter_at(self, point: QPoint) -> Pane | None:
        pane = self._pane_of_line(point)
        return pane if pane and point.x() < pane.text_left else None

    def _pane_of_line(self, point: QPoint) -> Pane | None:
        rows, scroller = self._view.document.rows, self._view.scroller
        if not len(rows) or point.y() < 0 or scroller.is_in_block(point):
            return None
        pane = scroller.pane_at(point)
        return pane if pane and line_of(rows[scroller.row_at(point)], pane.side) else None


def _draft_key(comment: LineComment) -> tuple[str, CommentAnchor]:
    """Return the key of a comment's draft: the lines for a new comment, the id for an existing comment."""
    return comment.id if comment.text else "", CommentAnchor(comment.side, comment.start, comment.end)
