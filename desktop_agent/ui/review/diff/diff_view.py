"""A diff to read, move about in, search, select from and copy.

What takes longer than a frame to paint comes with a later frame.
"""

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.diff.rows import DiffRows, LineSide, RowMode
from desktop_agent.core.protocol.model import FileDiff, MovedBlock
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_document import DiffDocument, line_of
from desktop_agent.ui.review.diff.diff_input import DiffKeyboard, DiffMouse
from desktop_agent.ui.review.diff.diff_layout import PAD, ROW_HEIGHT, DiffScroller, LineMetrics, Pane
from desktop_agent.ui.review.diff.diff_navigation import DiffFinder, DiffNavigation
from desktop_agent.ui.review.diff.diff_overlay import OverlayStack
from desktop_agent.ui.review.diff.diff_painter import DiffPainter, Scene
from desktop_agent.ui.review.diff.diff_words import diff_name, row_words
from desktop_agent.ui.review.diff.highlighter import Coloured, Highlighter
from desktop_agent.ui.review.diff.line_layouts import LaidLine
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

_MEASURED_LINES = 2_000
"""How many lines say how wide a diff is before they are painted. Wider ones are noticed when they come into view."""


class DiffRenderer(QObject):
    """Paints what is in view and asks for the colours of it. Only rows in view cost anything."""

    def __init__(self, theme: Theme, area: QAbstractScrollArea, document: DiffDocument, scroller: DiffScroller) -> None:
        super().__init__(area)
        self._theme = theme
        self._viewport = area.viewport()
        self._document = document
        self._scroller = scroller
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._on_colours_found)
        self.follow_theme()

    def follow_theme(self) -> None:
        self._painter = painter = DiffPainter(self._theme, self._highlighter)
        self._scroller.metrics = LineMetrics(painter.line_height, painter.char_width, painter.digit_width)

    def start(self) -> None:
        diff = self._document.rows.diff
        self._painter.clear()
        self._highlighter.set_text(diff.path, diff.old_lines, diff.new_lines)
        measured = (lines[:_MEASURED_LINES] for lines in (diff.old_lines, diff.new_lines))
        longest = max(max(map(len, lines), default=0) for lines in measured)
        self._scroller.text_width = min(longest, MAX_DRAWN_CHARS) * self._painter.char_width

    def stop(self) -> None:
        self._highlighter.stop()

    def scene(self, navigation: DiffNavigation, *, has_focus: bool) -> Scene:
        return Scene(
            rows=self._document.rows,
            geometry=self._scroller.geometry,
            panes=self._scroller.panes,
            width=self._viewport.width(),
            scroll=self._scroller.position,
            selection=navigation.selection,
            current_row=navigation.row if has_focus else None,
            hovered_row=navigation.hovered_row,
        )

    def paint(self, scene: Scene, clip: QRect) -> None:
        painter = QPainter(self._viewport)
        if len(scene.rows):
            self._painter.paint(painter, scene, clip)
            self._request_colours()
            if self._painter.put_off:
                QTimer.singleShot(0, self, self._on_put_off)
            if self._painter.widest > self._scroller.text_width:
                self._scroller.text_width = self._painter.widest
                QTimer.singleShot(0, self, self._scroller.update_bars)  # not from inside a paint event
        if not self._document.has_lines:
            self._paint_message(painter)
        painter.end()

    def lay_line(self, pane: Pane, side: LineSide, number: int) -> LaidLine:
        return self._painter.laid_line(self._document.rows.diff, self._scroller.position.x(), pane, side, number)

    def moved_at(self, scene: Scene, point: QPoint) -> tuple[MovedBlock, LineSide] | None:
        return self._painter.moved_at(scene, point) if len(scene.rows) else None

    def _paint_message(self, painter: QPainter) -> None:
        rect = self._viewport.rect()
        rect.setTop(self._scroller.geometry.height if len(self._document.rows) else 0)
        painter.fillRect(rect, self._theme.colour("surface"))
        notes = self._document.diff.notes if self._document.diff and not len(self._document.rows) else ()
        detail = " · ".join(filter(None, (self._document.detail, *notes)))
        middle = rect.center().y()
        wrap = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.setFont(self._theme.text_font(TypeSize.BODY))
        painter.setPen(self._theme.colour("text"))
        height = QFontMetrics(painter.font()).height()
        painter.drawText(QRect(PAD, middle - height - 4, rect.width() - 2 * PAD, height), wrap, self._document.heading)
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(QRect(PAD, middle + 4, rect.width() - 2 * PAD, rect.height() // 2), wrap, detail)

    def _request_colours(self) -> None:
        """Ask for the colours of what is in view, and of nothing that has been scrolled by."""
        self._highlighter.forget_requests()
        rows = self._document.rows.between(*self._scroller.visible_rows())
        self._highlighter.request("old", [row.old for row in rows if row.old is not None])
        self._highlighter.request("new", [row.new for row in rows if row.new is not None])

    def _on_put_off(self) -> None:
        rows = sorted(self._painter.put_off)
        self._painter.put_off.clear()
        for row in rows:
            self._scroller.repaint(row)

    def _on_colours_found(self, coloured: Coloured) -> None:
        """Paint the lines that have colours now, as far as they are in view: on their side only."""
        side, lines = coloured
        count = len(self._document.rows.diff.old_lines if side == "old" else self._document.rows.diff.new_lines)
        if not count:
            return
        rows = [self._document.rows.find(side, min(line, count - 1)) for line in (lines.start, lines.stop - 1)]
        first, last = self._scroller.visible_rows()
        if rows[0] > last or rows[1] < first:
            return
        area = self._scroller.row_rect(max(first, rows[0])).united(self._scroller.row_rect(min(last, rows[1])))
        for pane in self._scroller.panes:
            if pane.side in (None, side):
                self._viewport.update(pane.left, area.top(), pane.right - pane.left, area.height())


_OUTGOING_MS = 50


class DiffView(QAbstractScrollArea):
    """Shows one diff, or a few words where there is none. `overlays` draw over it and hear its keys and mouse.

    Arrows, page keys, Home and End move the marked row, with Shift they select; Left and Right scroll sideways. The
    user may choose the other `keys`: by default F7 and Shift+F7 (or N and P) go from change to change, and Enter
    unfolds. Screen readers get the marked row.

    Signals:
        mode_changed: the diff is shown in the other mode now, by choice or by width, or whether it can be has changed.
    """

    mode_changed = Signal()

    _mouse: DiffMouse | None = None
    """Made when the base has been, which hears of the viewport's events before."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._was_narrow = True
        self._outgoing: list[DiffRows] = []
        self._left: tuple[int, QPoint] | None = None
        """The row and the position of the diff that words stand in place of."""
        self.keys = PartKeys("diff", self)
        self.overlays = OverlayStack(self)
        self.document = DiffDocument(self.viewport().width)
        self.scroller = DiffScroller(self, self.document)
        self.navigation = DiffNavigation(self.document, self.scroller, self)
        self.navigation.moved.connect(self.describe)
        self.finder = DiffFinder(self.navigation, self.open_gap)
        self.renderer = DiffRenderer(theme, self, self.document, self.scroller)
        self._keyboard = DiffKeyboard(self.keys, self.navigation, self.overlays, self.open_gap)
        self._mouse = DiffMouse(self, self.navigation, self.overlays, self.renderer.lay_line, self.open_gap)
        theme.changed.connect(self._on_theme_changed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)
        self.setCornerWidget(QWidget())
        self.show_diff(None)

    # -- what is shown --

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        """Show `diff` from its start; `None` shows that there is nothing to show.

        With `keep_place` it is another state of the same file: the view stays where it is and what was unfolded.
        """
        place = (self._left or (self.navigation.row, self.scroller.position)) if keep_place else None
        self._left = None
        mode = self.document.mode
        self._outgoing.append(self.document.rows)  # freeing 200,000 lines takes half a frame: once this is painted
        QTimer.singleShot(_OUTGOING_MS, self, self._outgoing.clear)
        self.document.show(diff, keep_folds=keep_place)
        self.renderer.start()
        self.navigation.reset(place[0] if place else 0)
        self.overlays.set_diff(diff)
        self.relayout()
        if place is None and self.document.rows.changes:
            self.navigation.reset(self.document.rows.changes[0])
        self.horizontalScrollBar().setValue(place[1].x() if place else 0)
        self.verticalScrollBar().setValue(place[1].y() if place else 0)
        self.overlays.place()
        self.setAccessibleName(diff_name(diff) if diff else self.tr("No changes to show"))
        if mode != self.document.mode:
            self.mode_changed.emit()
        self.describe()

    def show_message(self, heading: str, detail: str = "") -> None:
        """Show a few words in place of a diff. The place in it is kept for another state of the same file."""
        left = self._left or (self.navigation.row, self.scroller.position)
        self.show_diff(None)
        self._left = left
        self.document.heading, self.document.detail = heading, detail
        self.setAccessibleName(f"{heading} {detail}".strip())
        self.viewport().update()

    def set_mode(self, mode: RowMode) -> None:
        """Show the diff in this mode from now on, as far as the width allows; the lines in view stay in view."""
        self.document.choose_mode(mode)
        self._fit_mode()

    def open_gap(self, row: int) -> None:
        if self.document.open_gap(row):
            self.navigation.selection = None
            self.relayout()
            self.describe()

    def relayout(self, *, keep_top: bool = False) -> None:
        """Lay out rows and overlays again; with `keep_top` the first line in view stays where it is."""
        top = self.scroller.top_line() if keep_top else None
        self.navigation.row = max(0, min(self.navigation.row, len(self.document.rows) - 1))
        self.scroller.lay_out(self.overlays.block_heights)
        self.scroller.put_on_top(top)
        self.overlays.place()
        self.viewport().update()

    def describe(self) -> None:
        """Say what the marked row is, for screen readers."""
        row = self.navigation.row
        has_rows = len(self.document.rows) > 0
        words = self.overlays.describe(row, row_words(self.document.rows, row)) if has_rows else ""
        self.setAccessibleDescription(words)
        if QAccessible.isActive() and words and self.hasFocus():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

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
        self.overlays.place()
        self.mode_changed.emit()

    def sizeHint(self) -> QSize:
        return QSize(560, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 4 * ROW_HEIGHT)

    # -- painting and size --

    def scene(self) -> Scene:
        return self.overlays.decorate(self.renderer.scene(self.navigation, has_focus=self.hasFocus()))

    def paintEvent(self, event: QPaintEvent) -> None:
        self.renderer.paint(self.scene(), event.rect())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_mode()
        self.relayout()
        if self.document.is_narrow != self._was_narrow:
            self._was_narrow = self.document.is_narrow
            self.mode_changed.emit()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        ratio = self.devicePixelRatioF()
        if dx or ratio != int(ratio):
            self.viewport().update()
        else:
            self.viewport().scroll(0, dy)  # moves the pixels, and paints only what came into view
        self.overlays.place()

    def _on_theme_changed(self) -> None:
        self.renderer.follow_theme()
        self.relayout()

    # -- keyboard and mouse --

    def event(self, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if self._keyboard.claims(event):
                event.accept()
                return True
        elif kind == QEvent.Type.Hide:
            self.renderer.stop()
            self.overlays.hide()
        elif kind in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.viewport().update()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._keyboard.act(event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if next and self.hasFocus():
            self.overlays.tab_pressed()
        return super().focusNextPrevChild(next)

    def viewportEvent(self, event: QEvent) -> bool:
        is_done = self._mouse is not None and self._mouse.handle(event)
        return is_done or super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._mouse:
            self._mouse.open_menu(event, self.keys.sequences("copy"))
