"""A diff to read, navigate, search, select from and copy."""

from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.diff.rows import DiffRows, LineSide, RowMode
from desktop_agent.core.protocol.model import FileDiff, MovedBlock
from desktop_agent.ui.part_keys import PartKeys, claims_key
from desktop_agent.ui.review.diff.diff_document import DiffDocument, DiffPosition, line_of
from desktop_agent.ui.review.diff.diff_layout import PAD, ROW_HEIGHT, DiffScroller, Pane
from desktop_agent.ui.review.diff.diff_navigation import DiffFinder, DiffMouse, DiffNavigation
from desktop_agent.ui.review.diff.diff_painter import DiffOverlay, DiffPainter, Scene
from desktop_agent.ui.review.diff.diff_words import diff_name, row_words
from desktop_agent.ui.review.diff.highlighter import Coloured, Highlighter
from desktop_agent.ui.review.diff.line_layouts import LaidLine
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.wording import MAX_DRAWN_CHARS

_MEASURED_LINES = 2_000
"""How many lines of each side are measured for the width of a diff. The width grows when a wider line is painted."""
_OUTGOING_MS = 50
_REPEATABLE = (None, "next_change", "previous_change")
"""What a key that is held down does again and again. A decision is taken once: the next change was not read yet."""
_OWN_ACTIONS = ("copy", "next_change", "previous_change", "open", "wrap")


class _Place(NamedTuple):
    """The marked row and the scroll position, with the change that contains the row."""

    row: int
    scroll: QPoint
    change: int
    offset: int
    """How many rows the marked row is below the bar of the change."""
    line: int | None
    """The old line at which the change begins."""
    y: int | None
    """The y position of the marked row in the viewport, if it is in view."""

    def row_in(self, rows: DiffRows) -> int:
        """Return the row of the same change in another state of the file, or the change that took its place."""
        found = rows.change_from(self.line) if self.line is not None else None
        if found is None and self.change >= 0 and not self.offset and rows.changes:
            found = min(self.change, len(rows.changes) - 1)
        return self.row if found is None else rows.changes[found] + self.offset


class DiffView(QAbstractScrollArea):
    """Shows one diff, or a message. `overlays` draw over the diff and handle its key and mouse events."""

    mode_changed = Signal()  # or the wrapping, or the user can or cannot choose one of them now
    wrapping_chosen = Signal(bool)

    _mouse: DiffMouse | None = None
    """None while Qt's constructor runs, which already sends events of the viewport."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._was_narrow = True
        self._outgoing: list[DiffRows] = []
        self._left: _Place | None = None
        """The place in the diff while a message hides it."""
        self.keys = PartKeys("diff", self)
        self.overlays: list[DiffOverlay] = []
        self.document = DiffDocument(self.viewport().width)
        self.scroller = DiffScroller(self, self.document)
        self.navigation = DiffNavigation(self.document, self.scroller, self)
        self.navigation.moved.connect(self.describe)
        self.finder = DiffFinder(self.navigation, self.open_gap, self._show_match)
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._on_colours_found)
        self._use_theme()
        self._mouse = DiffMouse(self, self.navigation, self.overlays, self.lay_line, self.open_gap)
        theme.changed.connect(self._on_theme_changed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)
        self.setCornerWidget(QWidget())
        self.show_diff(None)

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        """Show a diff, or for `None` a note. With `keep_place`, the marked change and unfolded lines stay in place."""
        place = (self._left or self._place()) if keep_place else None
        self._left = None
        mode = self.document.mode
        self._outgoing.append(self.document.rows)  # freeing 200,000 lines takes half a frame: do so later
        QTimer.singleShot(_OUTGOING_MS, self, self._outgoing.clear)
        self.document.show(diff, keep_folds=keep_place)
        self._start_painting()
        self.navigation.reset(place.row_in(self.document.rows) if place else 0)
        for overlay in self.overlays:
            overlay.set_diff(diff)
        self.relayout()
        if place is None and self.document.rows.changes:
            self.navigation.reset(self.document.rows.changes[0])
        self.horizontalScrollBar().setValue(place.scroll.x() if place else 0)
        self.verticalScrollBar().setValue(place.scroll.y() if place else 0)
        if place is not None and place.y is not None:
            self.verticalScrollBar().setValue(self.scroller.geometry.top(self.navigation.row) - place.y)
        self._place_overlays()
        self.setAccessibleName(diff_name(diff) if diff else self.tr("No changes to show"))
        if mode != self.document.mode:
            self.mode_changed.emit()
        self.describe(only_news=keep_place)

    def show_message(self, heading: str, detail: str = "") -> None:
        """The position in the diff is kept in case the same file is shown next."""
        left = self._left or self._place()
        self.show_diff(None)
        self._left = left
        self.document.heading, self.document.detail = heading, detail
        self.setAccessibleName(f"{heading} {detail}".strip())
        self.viewport().update()

    def _place(self) -> _Place:
        row, rows, change = self.navigation.row, self.document.rows, self.navigation.change
        offset, line = (row - rows.changes[change], rows.first_line(change)) if change >= 0 else (0, None)
        rect = self.scroller.row_rect(row) if len(rows) else QRect()
        y = rect.top() if rect.intersects(self.viewport().rect()) else None
        return _Place(row, self.scroller.position, change, offset, line, y)

    def set_mode(self, mode: RowMode) -> None:
        self.document.choose_mode(mode)
        self._fit_mode()

    def set_wrapped(self, *, is_wrapped: bool) -> None:
        """Wrap long lines from now on, or do not. The first line in view stays in view."""
        if is_wrapped != self.scroller.wraps:
            self.scroller.wraps = is_wrapped
            self.relayout(keep_top=True)
            self.mode_changed.emit()

    def toggle_wrapping(self) -> None:
        self.set_wrapped(is_wrapped=not self.scroller.wraps)
        self.wrapping_chosen.emit(self.scroller.wraps)

    def open_gap(self, row: int) -> None:
        if self.document.open_gap(row):
            self.navigation.selection = None
            self.relayout()
            self.describe()

    def relayout(self, *, keep_top: bool = False) -> None:
        """Lay out rows and overlays again. With `keep_top`, the first visible line stays in place."""
        top = self.scroller.top_line() if keep_top else None
        was_too_large = self.scroller.is_too_large
        self.navigation.row = max(0, min(self.navigation.row, len(self.document.rows) - 1))
        self.scroller.lay_out(self._block_heights)
        if self.scroller.is_too_large != was_too_large:
            self.mode_changed.emit()
        self.scroller.put_on_top(top)
        self._place_overlays()
        self.viewport().update()

    def describe(self, *, only_news: bool = False) -> None:
        """Tell screen readers about the marked row; with `only_news`, unless they have just been told the same."""
        row = self.navigation.row
        words = ""
        if len(self.document.rows):
            words = row_words(self.document.rows, row)
            for overlay in self.overlays:
                words = overlay.describe(row, words)
        is_said = only_news and words == self.accessibleDescription()
        self.setAccessibleDescription(words)
        if self.hasFocus() and not is_said:
            announce(self, words)

    def _fit_mode(self) -> None:
        mode, rows = self.document.fitting_mode(), self.document.rows
        if mode == rows.mode:
            return
        top = self.scroller.top_line()
        current = line_of(rows[self.navigation.row], None) if len(rows) else None
        self.document.fit()
        rows = self.document.rows
        self.navigation.selection = None
        if current:
            self.navigation.row = rows.find(*current)
        elif rows.changes:
            self.navigation.row = rows.changes[0]
        self.relayout()
        self.scroller.put_on_top(top)
        self._place_overlays()
        self.mode_changed.emit()

    def sizeHint(self) -> QSize:
        return QSize(560, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 4 * ROW_HEIGHT)

    def scene(self) -> Scene:
        scene = Scene(
            rows=self.document.rows,
            geometry=self.scroller.geometry,
            panes=self.scroller.panes,
            width=self.viewport().width(),
            scroll=self.scroller.position,
            selection=self.navigation.selection,
            current_row=self.navigation.row if self.hasFocus() else None,
            hovered_row=self.navigation.hovered_row,
        )
        for overlay in self.overlays:
            scene = overlay.decorate(scene)
        return scene

    def moved_at(self, point: QPoint) -> tuple[MovedBlock, LineSide] | None:
        return self._painter.moved_at(self.scene(), point) if len(self.document.rows) else None

    def paintEvent(self, event: QPaintEvent) -> None:
        scene = self.scene()
        with QPainter(self.viewport()) as painter:
            if len(scene.rows):
                self._painter.paint(painter, scene, event.rect())
                self._highlighter.forget_requests()
                rows = self.document.rows.between(*self.scroller.visible_rows())
                self._highlighter.request("old", [row.old for row in rows if row.old is not None])
                self._highlighter.request("new", [row.new for row in rows if row.new is not None])
                if self._painter.put_off:
                    QTimer.singleShot(0, self, self._on_put_off)
                if self._painter.widest > self.scroller.text_width:
                    self.scroller.text_width = self._painter.widest
                    QTimer.singleShot(0, self, self.scroller.update_bars)  # not from inside a paint event
            if not self.document.has_lines:
                self._paint_message(painter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_mode()
        self.relayout(keep_top=self.scroller.wraps)
        if self.document.is_narrow != self._was_narrow:
            self._was_narrow = self.document.is_narrow
            self.mode_changed.emit()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        ratio = self.devicePixelRatioF()
        if dx or ratio != int(ratio):
            self.viewport().update()
        else:
            self.viewport().scroll(0, dy)  # moves the pixels, and paints only newly visible rows
        self._place_overlays()

    def _on_theme_changed(self) -> None:
        self._use_theme()
        self.relayout()

    def _use_theme(self) -> None:
        self._painter = painter = DiffPainter(self._theme, self._highlighter)
        scroller = self.scroller
        scroller.line_height, scroller.char_width = painter.line_height, painter.char_width
        scroller.digit_width = painter.digit_width

    def _start_painting(self) -> None:
        diff = self.document.rows.diff
        self._painter.clear()
        self._highlighter.set_text(diff.path, diff.old_lines, diff.new_lines)
        measured = (lines[:_MEASURED_LINES] for lines in (diff.old_lines, diff.new_lines))
        longest = max(max(map(len, lines), default=0) for lines in measured)
        self.scroller.text_width = min(longest, MAX_DRAWN_CHARS) * self._painter.char_width

    def lay_line(self, pane: Pane, side: LineSide, number: int) -> LaidLine:
        return self._painter.laid_line(self.document.rows.diff, self.scroller.position.x(), pane, side, number)

    def _show_match(self, place: DiffPosition, side: LineSide, number: int) -> None:
        pane = next(pane for pane in self.scroller.panes if pane.side in (None, side))
        self.scroller.show_part(place.row, self.lay_line(pane, side, number).part_of(place.offset))

    def _paint_message(self, painter: QPainter) -> None:
        rect = self.viewport().rect()
        rect.setTop(self.scroller.geometry.height if len(self.document.rows) else 0)
        painter.fillRect(rect, self._theme.colour("surface"))
        notes = self.document.diff.notes if self.document.diff and not len(self.document.rows) else ()
        detail = " · ".join(filter(None, (self.document.detail, *map(core_words, notes))))
        middle = rect.center().y()
        wrap = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.setFont(self._theme.text_font(TypeSize.BODY))
        painter.setPen(self._theme.colour("text"))
        height = QFontMetrics(painter.font()).height()
        painter.drawText(QRect(PAD, middle - height - 4, rect.width() - 2 * PAD, height), wrap, self.document.heading)
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(QRect(PAD, middle + 4, rect.width() - 2 * PAD, rect.height() // 2), wrap, detail)

    def _on_put_off(self) -> None:
        rows = sorted(self._painter.put_off)
        self._painter.put_off.clear()
        for row in rows:
            self.scroller.repaint(row)

    def _on_colours_found(self, coloured: Coloured) -> None:
        side, lines = coloured
        count = len(self.document.rows.diff.old_lines if side == "old" else self.document.rows.diff.new_lines)
        if not count:
            return
        rows = [self.document.rows.find(side, min(line, count - 1)) for line in (lines.start, lines.stop - 1)]
        first, last = self.scroller.visible_rows()
        if rows[0] > last or rows[1] < first:
            return
        area = self.scroller.row_rect(max(first, rows[0])).united(self.scroller.row_rect(min(last, rows[1])))
        for pane in self.scroller.panes:
            if pane.side in (None, side):
                self.viewport().update(pane.left, area.top(), pane.right - pane.left, area.height())

    def _place_overlays(self) -> None:
        for overlay in self.overlays:
            overlay.place()

    def _block_heights(self) -> dict[int, int]:
        heights: dict[int, int] = {}
        for overlay in self.overlays:
            heights.update(overlay.block_heights())
        return heights

    def event(self, event: QEvent) -> bool:
        kind = event.type()
        if claims_key(event, self._claims):
            return True
        if kind == QEvent.Type.Hide:
            self._highlighter.stop()
            for overlay in self.overlays:
                overlay.hide()
        elif kind in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.viewport().update()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self.keys.read(event)
        if event.isAutoRepeat() and action not in _REPEATABLE:
            return
        is_done = action is not None and (
            not action or self._do(action) or any(each.do(action) for each in self.overlays)
        )
        if not is_done and not self._move(event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if next and self.hasFocus():
            for overlay in self.overlays:
                overlay.tab_pressed()
        return super().focusNextPrevChild(next)

    def viewportEvent(self, event: QEvent) -> bool:
        is_done = self._mouse is not None and self._mouse.handle(event)
        return is_done or super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._mouse:
            self._mouse.open_menu(event, self.keys.sequences("copy"))

    def _claims(self, event: QKeyEvent) -> bool:
        if event.matches(QKeySequence.StandardKey.SelectAll):
            return True
        action = self.keys.peek(event)
        return action is not None and (
            not action or action in _OWN_ACTIONS or any(overlay.takes(action) for overlay in self.overlays)
        )

    def _do(self, action: str) -> bool:
        navigation = self.navigation
        match action:
            case "copy":
                navigation.copy()
            case "next_change":
                navigation.next_change()
            case "previous_change":
                navigation.previous_change()
            case "wrap":
                self.toggle_wrapping()
            case "open" if navigation.document.rows.gap(navigation.row) is not None:
                self.open_gap(navigation.row)
            case _:
                return False
        return True

    def _move(self, event: QKeyEvent) -> bool:
        navigation = self.navigation
        row, scroller = navigation.row, navigation.scroller
        above, below = scroller.rows_a_page_from(row)
        targets = {
            Qt.Key.Key_Up: row - 1,
            Qt.Key.Key_Down: row + 1,
            Qt.Key.Key_PageUp: above,
            Qt.Key.Key_PageDown: below,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(navigation.document.rows) - 1,
        }
        line, page = self.verticalScrollBar().singleStep(), self.verticalScrollBar().pageStep()
        steps = {Qt.Key.Key_Up: -line, Qt.Key.Key_Down: line, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        is_selecting = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        is_plain = not event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        match Qt.Key(event.key()):
            case _ if event.matches(QKeySequence.StandardKey.SelectAll):
                navigation.select_all()
            case Qt.Key.Key_Left if is_plain:
                scroller.scroll_sideways(-1)
            case Qt.Key.Key_Right if is_plain:
                scroller.scroll_sideways(1)
            case Qt.Key.Key_Escape if is_plain and navigation.selection:
                navigation.select(None)
            case key if not is_selecting and key in steps and scroller.scroll_within(row, steps[key]):
                pass
            case key if key in targets:
                navigation.go_to(targets[key], is_selecting=is_selecting)
            case _:
                return False
        return True
