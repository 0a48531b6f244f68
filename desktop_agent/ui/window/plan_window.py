"""The window of the plan: read it and comment on it, see what a revision changed, edit it, and have it carried out."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QPlainTextEdit, QScrollArea, QTabBar, QWidget
from shiboken6 import isValid

from desktop_agent.core.diff.text import split_lines
from desktop_agent.core.protocol.model import FileDiff, LineComment
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.markdown.parser import is_web_address
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.file_links import KnownFiles, file_of
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.comment_overlay import (
    CommentAnchor,
    CommentBlock,
    CommentOverlay,
    CommentWriting,
    found_line,
)
from desktop_agent.ui.review.diff.diff_painter import PLUS_SIZE, draw_plus
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, resize_within_screen, scroll_down, set_names, stack, vbox
from desktop_agent.ui.window.conversation_pane import PlanBar, ShownPlan
from desktop_agent.ui.window.mode_pickers import MenuPicker
from desktop_agent.ui.wording import POLICIES, approval_words

_SIZE = QSize(820, 720)
_LEAST_SIZE = QSize(600, 320)
_READ, _CHANGES, _EDIT = range(3)

Compare = Callable[[str, bytes, bytes], Awaitable[FileDiff]]
"""Compares two versions of a text, which may be named, outside the window's thread."""


class PlanWindow(QWidget):
    """Edits are kept when the user turns to another window or tab, and so before a turn can begin."""

    def __init__(
        self, theme: Theme, bar: PlanBar, files: KnownFiles, actions: EntryActions, compare: Compare, spawn: Spawn
    ) -> None:
        super().__init__(bar.window(), Qt.WindowType.Window)
        set_names(self, "planWindow", self.tr("Plan"))
        self.setWindowTitle(self.tr("Plan"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bar = bar
        self._compare, self._spawn = compare, spawn
        self._kept = self._session_id = self._before = ""
        self._tabs = QTabBar(drawBase=False, expanding=False)
        set_names(self._tabs, "planTabs", self.tr("Views of the plan"))
        for words in (self.tr("Read"), self.tr("Changes"), self.tr("Edit")):
            self._tabs.addTab(words)
        self._send = compact_button("", "sendPlanCommentsButton", clicked=self._send_comments)
        area = QScrollArea()
        self._page = PlanPage(theme, area, files, actions)
        self._diff = DiffView(theme)
        self._diff.setObjectName("planDiff")
        self._diff.set_wrapped(is_wrapped=True)
        overlay = CommentOverlay(theme, self._diff)
        self._diff.overlays.append(overlay)
        self._edit = QPlainTextEdit()
        set_names(self._edit, "planEdit", self.tr("Plan"))
        self._edit.setFont(theme.code_font(TypeSize.CODE))
        self._pages = stack(area, self._diff, self._edit, on=self)
        self._writings = (self._page.comments, overlay)
        for writing in self._writings:
            writing.added.connect(bar.comment_added)
            writing.removed.connect(bar.comment_removed)
        self._hint = make_label(role="secondary", wraps=True)
        tip = self._page.keys.hint(self.tr("Write about the marked lines"), "comment")
        self._comment = make_button(self.tr("Comment"), "commentPlanButton", clicked=self._write, tooltip=tip)
        self._approvals = MenuPicker(self, "planApprovalPicker", self.tr("Approvals"))
        for policy in POLICIES:
            self._approvals.offer(approval_words(policy), policy)
        self._approval: str | None = None
        self._approvals.chosen.connect(self._choose_approval)
        apart = self.tr("Carry out in a worktree")
        self._apart = make_button(apart, "acceptPlanApartButton", clicked=self._accept_apart)
        tip = self.tr("The files in this folder stay as they are until you bring the changes back (Ctrl+Shift+Enter)")
        self._apart.setToolTip(tip)
        self._accept = make_button(
            self.tr("Carry out"), "acceptPlanButton", clicked=self._accept_here, variant="primary"
        )
        self._accept.setToolTip(self.tr("End planning, and let the agent carry out the plan (Ctrl+Enter)"))
        QShortcut(QKeySequence("Ctrl+Return"), self, self._accept.click)
        QShortcut(QKeySequence("Ctrl+Shift+Return"), self, self._apart.click)
        QShortcut(QKeySequence("Ctrl+Alt+M"), self, self._send.click)
        QShortcut(QKeySequence("Escape"), self, self.close)
        row = hbox(self._comment, STRETCH, self._approvals, self._apart, self._accept, spacing=Space.S)
        head = hbox(self._tabs, STRETCH, self._send, spacing=Space.S)
        margins = (Space.L, Space.M, Space.L, Space.L)
        vbox(head, (self._pages, 1), self._hint, row, on=self, margins=margins, spacing=Space.M)
        resize_within_screen(self, _SIZE, _LEAST_SIZE)
        self._tabs.currentChanged.connect(self._turn_to)
        bar.changed.connect(self._show)
        self._show()
        self._page.setFocus()

    @property
    def text(self) -> str:
        return self._edit.toPlainText()

    def _show(self) -> None:
        shown = self._bar.shown
        is_other = shown.session_id != self._session_id
        self._session_id = shown.session_id
        if is_other:
            self._approval = None
            for writing in self._writings:
                writing.forget()
        if is_other or (shown.text, shown.before) != (self._kept, self._before):
            if is_other or shown.text != self._kept:
                self._edit.setPlainText(shown.text)
            self._kept, self._before = shown.text, shown.before
            self._page.show_plan(shown.text)
            self._tabs.setTabEnabled(_CHANGES, bool(shown.before))
            if is_other or not shown.before:
                self._tabs.setTabText(_CHANGES, self.tr("Changes"))
                self._page.mark_new(set())
            if shown.before:
                self._spawn(self._show_changes(shown, is_other=is_other))
        for writing in self._writings:
            writing.is_open = shown.is_planning
            writing.set_comments(tuple(comment for comment in shown.comments if not comment.path))
        self._edit.setReadOnly(not shown.is_open)
        self._show_controls()

    async def _show_changes(self, shown: ShownPlan, *, is_other: bool) -> None:
        diff = await self._compare("", shown.before.encode(), shown.text.encode())
        if isValid(self) and (self._session_id, self._kept, self._before) == (
            shown.session_id,
            shown.text,
            shown.before,
        ):
            self._diff.show_diff(diff, keep_place=not is_other)
            self._page.mark_new({line for edit in diff.edits for line in range(edit.new_start, edit.new_end)})
            self._tabs.setTabText(_CHANGES, f"{self.tr('Changes')} +{diff.added} −{diff.removed}")

    def _show_controls(self) -> None:
        shown, count = self._bar.shown, len(self._bar.shown.comments)
        for widget in (self._accept, self._approvals, self._apart):
            widget.setVisible(shown.is_planning and (widget is not self._apart or self._bar.offers_worktree))
            widget.setEnabled(self._bar.is_offered)
        self._comment.setVisible(shown.is_planning and self._tabs.currentIndex() != _EDIT)
        self._send.setVisible(shown.is_planning and count > 0)
        self._send.setEnabled(shown.is_open)
        self._send.setText(plural("PlanWindow", count, "Send %n comment", "Send %n comments"))
        self._approvals.show_value(self._approval or shown.approval)
        if shown.is_open:
            self._hint.setText(self.tr("Click beside a line to comment on it. Your changes are kept."))
        elif shown.is_running:
            self._hint.setText(self.tr("The agent is working. {0}").format(shown.progress).rstrip())
        else:
            self._hint.setText(shown.progress)

    def _turn_to(self, index: int) -> None:
        self._keep()
        self._pages.setCurrentIndex(index)
        self._show_controls()
        (self._page, self._diff, self._edit)[index].setFocus()

    def _write(self) -> None:
        self._writings[self._pages.currentIndex()].do("comment")

    def _choose_approval(self, policy: str) -> None:
        self._approval = policy
        self._approvals.show_value(policy)

    def _send_comments(self) -> None:
        self._keep()
        self._bar.comments_sent.emit("")

    def _accept_here(self) -> None:
        self._kept = self.text
        self._bar.accepted.emit(self.text, self._approval)
        self.close()

    def _accept_apart(self) -> None:
        self._bar.accepted_apart.emit(self.text, self._approval)
        self.close()

    def _keep(self) -> None:
        if self.text != self._kept and self.text.strip() and self._bar.shown.is_open:
            self._bar.edited.emit(self.text)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self._keep()
        super().changeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._keep()
        super().closeEvent(event)


_LEFT = 30
_TOP = 16
_MAX_WIDTH = 720
_PLUS_LEFT = 8
_PIECE_CHARS = 4_096


class PlanPage(QWidget):
    """The rendered plan in a scroll area, with its comments. Blocks are marked by mouse or key to comment on them."""

    laid_out = Signal()

    def __init__(self, theme: Theme, area: QScrollArea, files: KnownFiles, actions: EntryActions) -> None:
        super().__init__()
        set_names(self, "planPage", self.tr("Plan"))
        self._theme, self._area, self._files, self._actions = theme, area, files, actions
        scroll_down(area, self)
        self._stream = MarkdownStream()
        self._lines: list[tuple[int, int]] = []
        """The source lines of each block, 0-based and half open."""
        self._new_lines: set[int] = set()
        self._marked = (0, 0)  # the block where marking began, and the block with the caret
        self._hovered = -1
        self._is_pressed = False
        self._reading = GradualWork(self)
        self.source_lines: tuple[str, ...] = ()
        self.keys = PartKeys("diff", self)
        self.column = Column(TextStyles(theme, files), ground="")
        self.comments = _PageComments(theme, self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        area.verticalScrollBar().valueChanged.connect(self.lay_out)
        theme.changed.connect(self._restyle)

    # -- the text --

    def show_plan(self, text: str) -> None:
        self.source_lines = split_lines(text)
        self._reading.begin(self._read(text))

    def mark_new(self, lines: set[int]) -> None:
        """Draw a bar beside the lines that the last revision changed."""
        self._new_lines = lines
        self.update()

    def _read(self, text: str) -> Iterator[None]:
        stream = MarkdownStream()
        for start in range(0, len(text), _PIECE_CHARS):
            stream.feed(text[start : start + _PIECE_CHARS])
            yield
        stream.close()
        self._stream = stream
        ends = [found for found, sign in enumerate(stream.source) if sign == "\n"]
        self._lines = [
            (bisect_left(ends, block.start), bisect_left(ends, max(block.start, block.end - 1)) + 1)
            for block in stream.blocks
        ]
        self._marked = (0, 0)
        self._hovered = -1
        self.column.set_blocks(stream.blocks, stream.references, 0)
        self.comments.relayout()

    def _restyle(self) -> None:
        self.column = Column(TextStyles(self._theme, self._files), ground="")
        self.column.set_blocks(self._stream.blocks, self._stream.references, 0)
        self.comments.relayout()

    def lay_out(self) -> None:
        width = min(self._area.viewport().width() - _LEFT - Space.L, _MAX_WIDTH)
        self.column.set_width(max(width, 120))
        heights = self.comments.block_heights()
        for index in range(len(self._lines)):
            self.column.set_room(index, heights.get(index, 0))
        top = self._area.verticalScrollBar().value() - _TOP
        self.column.lay_out(top, top + self._area.viewport().height())
        self.setMinimumHeight(self.column.height + 2 * _TOP)
        self.comments.place()
        self.update()

    def block_of_line(self, line: int) -> int:
        """Return the last block that begins at or before this line."""
        found = [index for index, (start, _) in enumerate(self._lines) if start <= line]
        return found[-1] if found else 0

    def block_area(self, index: int) -> QRect:
        """Return the area of a block without its comments."""
        top, room = self.column.top(index), self.column.room(index)
        return QRect(0, top + _TOP, self.width(), room.top() - top)

    # -- marking and writing --

    def write(self) -> None:
        first, last = sorted(self._marked)
        if self.comments.is_open and last < len(self._lines):
            start, end = self._lines[first][0], max(end for _, end in self._lines[first : last + 1])
            self.comments.write_on(CommentAnchor("new", start, end), "".join(self.source_lines[start:end]))

    def _mark(self, index: int, *, is_extended: bool) -> None:
        index = max(0, min(index, len(self._lines) - 1))
        self._marked = (self._marked[0] if is_extended else index, index)
        words = self.column.text.shown(index) if self._lines else ""
        self.setAccessibleDescription(words)
        announce(self, words)
        self.update()

    def _block_at(self, point: QPoint) -> int:
        index, _ = self.column.anchor(point.y() - _TOP)
        return index if self._lines and self.block_area(index).contains(point) else -1

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None or not self._lines:
            self.write() if self.keys.read(event) == "comment" else super().keyPressEvent(event)
            return
        is_extended = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._mark(self._marked[1] + step, is_extended=is_extended)
        area = self.block_area(self._marked[1])
        self._area.ensureVisible(0, area.center().y(), 0, area.height() // 2 + _TOP)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._block_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._is_pressed = event.position().x() < _LEFT
            self._mark(index, is_extended=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self._block_at(point)
        if self._is_pressed and index >= 0:
            self._mark(index, is_extended=True)
        self._hovered = index
        is_active = self._link_at(point) or (point.x() < _LEFT and index >= 0 and self.comments.is_open)
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_active else Qt.CursorShape.ArrowCursor)
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_pressed, self._is_pressed = self._is_pressed, False
        href = self._link_at(event.position().toPoint())
        if was_pressed:
            self.write()
        elif (place := file_of(href)) is not None:
            self._actions.file_requested.emit(*place)
        elif is_web_address(href):
            self._actions.link_activated.emit(href)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.write()

    def _link_at(self, point: QPoint) -> str:
        found = self.column.span_at(point.x() - _LEFT, point.y() - _TOP)
        return found[1].href if found is not None else ""

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = -1
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.comments.relayout()

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = self._theme.colour
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), colour("surface"))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            first, _ = self.column.anchor(event.rect().top() - _TOP)
            for index, (start, end) in enumerate(self._lines[first:], first):
                area = self.block_area(index)
                if area.top() > event.rect().bottom():
                    break
                if min(self._marked) <= index <= max(self._marked) and self.comments.is_open:
                    painter.fillRect(area, colour("accent_weak"))
                if not self._new_lines.isdisjoint(range(start, end)):
                    painter.fillRect(area.x(), area.y(), 3, area.height(), colour("added_text"))
                if index == self._hovered and self.comments.is_open:
                    at = QPointF(_PLUS_LEFT, area.bottom() - PLUS_SIZE - 4)
                    draw_plus(painter, at, colour("accent"), colour("on_accent"))
            painter.translate(_LEFT, _TOP)
            self.column.draw(painter, event.rect().top() - _TOP, event.rect().bottom() + 1 - _TOP)


class _PageComments(CommentWriting):
    def __init__(self, theme: Theme, page: PlanPage) -> None:
        super().__init__(theme, page, page)
        self._page = page

    def do(self, action: str) -> bool:
        self._page.write()
        return True

    def find_row(self, comment: LineComment) -> int:
        found = found_line(self._page.source_lines, comment)
        return self._page.block_of_line((comment.start if found is None else found) + comment.end - comment.start - 1)

    def is_gone(self, comment: LineComment) -> bool:
        return found_line(self._page.source_lines, comment) is None

    def width_below(self, row: int) -> int:
        return self._page.column.room(row).width()

    def area_below(self, row: int, offset: int, height: int) -> QRect:
        room = self._page.column.room(row)
        return QRect(room.left() + _LEFT, room.top() + _TOP + offset, room.width(), height)

    def relayout(self) -> None:
        self._page.lay_out()

    def scroll_to(self, block: CommentBlock) -> None:
        area = self.area_below(block.row, block.offset, block.height)
        scroll = self._page.parentWidget()
        if scroll is not None and isinstance(outer := scroll.parentWidget(), QScrollArea):
            outer.ensureVisible(0, area.center().y(), 0, area.height() // 2 + _TOP)
