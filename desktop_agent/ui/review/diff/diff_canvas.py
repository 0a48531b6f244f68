"""The surface a diff is painted on: what is shown, how it scrolls, and how it follows the theme and the width."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHideEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.diff.rows import DiffRows, LineSide, RowMode
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_bars import PAD
from desktop_agent.ui.review.diff.diff_geometry import ROW_HEIGHT, Geometry, Pane, panes
from desktop_agent.ui.review.diff.diff_painter import DiffPainter, Scene
from desktop_agent.ui.review.diff.diff_selection import DiffSelection, line_of
from desktop_agent.ui.review.diff.diff_words import diff_name, summary
from desktop_agent.ui.review.diff.highlighter import Coloured, Highlighter
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

MIN_SIDE_BY_SIDE_WIDTH = 440
"""Narrower than this, two columns would show no code: the diff is unified, whatever was asked for."""
NARROW_SIDE_BY_SIDE_WIDTH = 800
"""Narrower than this, lines of code do not fit into two columns: side by side only for those who chose it."""
_LINE_PADDING = 3
_OUTGOING_MS = 50
_MEASURED_LINES = 2_000
"""How many lines say how wide a diff is before they are painted. Wider ones are noticed when they come into view."""


class DiffCanvas(QAbstractScrollArea):
    """Shows one diff, or a few words where there is none. The rows are painted; only visible ones cost anything.

    Signals:
        mode_changed: the diff is shown in the other mode now, by choice or by width, or could be now, or no more.
    """

    mode_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._message = ("", "")
        self._diff: FileDiff | None = None
        self._wanted_mode: RowMode = "side_by_side"
        self._is_mode_chosen = False
        self._was_narrow = True
        self._rows = DiffRows(_NO_DIFF, "side_by_side")
        self._outgoing: list[DiffRows] = []
        self._estimated_width = 0.0
        self._selection: DiffSelection | None = None
        self._current_row = 0
        self._hovered_row: int | None = None
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._on_colours_found)
        self._painter = DiffPainter(theme, self._highlighter)
        self._geometry = self._new_geometry()
        self._panes: tuple[Pane, ...] = ()
        theme.changed.connect(self._on_theme_changed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)
        self.setCornerWidget(QWidget())

    # -- what is shown --

    @property
    def diff(self) -> FileDiff | None:
        """The diff that is shown."""
        return self._diff

    @property
    def rows(self) -> DiffRows:
        """Its rows."""
        return self._rows

    @property
    def mode(self) -> RowMode:
        """How it is shown: what was asked for, but unified when there is no room or no other side."""
        return self._rows.mode

    @property
    def wanted_mode(self) -> RowMode:
        """What was asked for."""
        return self._wanted_mode

    @property
    def message(self) -> str:
        """The words that are shown in place of a diff."""
        return "" if self._has_lines else " ".join(filter(None, self._message))

    @property
    def current_row(self) -> int:
        """The marked row."""
        return self._current_row

    @property
    def is_narrow(self) -> bool:
        """Whether there is no room for two columns."""
        return self.viewport().width() < MIN_SIDE_BY_SIDE_WIDTH

    @property
    def is_one_sided(self) -> bool:
        """Whether the file has lines on one side only."""
        return self._diff is not None and bool(self._diff.old_lines) != bool(self._diff.new_lines)

    def mode_obstacle(self) -> str:
        """Return why the mode cannot be chosen now; empty when it can."""
        if self.is_one_sided:
            return self.tr("The file has only one side")
        return self.tr("Too narrow for two sides") if self.is_narrow else ""

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        """Show `diff` from its start; `None` shows that there is nothing to show.

        With `keep_place` it is another state of the same file: the view stays where it is and what was unfolded.
        """
        place = (self._current_row, self._scroll().x(), self._scroll().y()) if keep_place else (0, 0, 0)
        opened = self._rows.opened if keep_place else frozenset[int]()
        self._let_go_later()
        self._diff = diff
        self._message = summary(diff) if diff else (self.tr("Nothing to show"), "")
        shown = diff or _NO_DIFF
        self._painter.clear()
        self._highlighter.set_text(shown.path, shown.old_lines, shown.new_lines)
        measured = (lines[:_MEASURED_LINES] for lines in (shown.old_lines, shown.new_lines))
        longest = max(max(map(len, lines), default=0) for lines in measured)
        self._estimated_width = min(longest, MAX_DRAWN_CHARS) * self._painter.char_width
        self._selection = None
        self._hovered_row = None
        mode = self._fitting_mode()
        is_other_mode = mode != self._rows.mode
        self._current_row = place[0]
        self._set_rows(self._new_rows(shown, mode, opened))
        if not keep_place and self._rows.changes:
            self._current_row = self._rows.changes[0]
        self.horizontalScrollBar().setValue(place[1])
        self.verticalScrollBar().setValue(place[2])
        self._place_children()
        self.setAccessibleName(diff_name(diff) if diff else self.tr("No changes to show"))
        if is_other_mode:
            self.mode_changed.emit()

    def _let_go_later(self) -> None:
        """Keep what is shown until this frame is painted: to free 200,000 lines takes half a frame."""
        self._outgoing.append(self._rows)
        QTimer.singleShot(_OUTGOING_MS, self, self._outgoing.clear)

    def show_message(self, heading: str, detail: str = "") -> None:
        """Show a few words in place of a diff."""
        self.show_diff(None)
        self._message = (heading, detail)
        self.setAccessibleName(f"{heading} {detail}".strip())
        self.viewport().update()

    def set_mode(self, mode: RowMode) -> None:
        """Show the diff in this mode from now on, as far as the width allows; the lines in view stay in view."""
        self._wanted_mode = mode
        self._is_mode_chosen = True
        self._apply_mode()

    def open_gap(self, row: int) -> None:
        """Show the lines that the gap at `row` hides."""
        gap = self._rows.gap(row)
        if gap is None:
            return
        self._selection = None
        self._set_rows(self._new_rows(self._rows.diff, self._rows.mode, self._rows.opened | {gap.old_start}))

    def sizeHint(self) -> QSize:
        return QSize(560, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 4 * ROW_HEIGHT)

    # -- painting --

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        if len(self._rows):
            self._painter.paint(painter, self._scene(), event.rect())
            self._request_colours()
            if self._painter.put_off:
                QTimer.singleShot(0, self, self._on_put_off)
            if self._painter.widest > self._estimated_width:
                self._estimated_width = self._painter.widest
                QTimer.singleShot(0, self, self._update_scroll_bars)  # not from inside a paint event
        if not self._has_lines:
            self._paint_message(painter)
        painter.end()

    def _scene(self) -> Scene:
        return Scene(
            rows=self._rows,
            geometry=self._geometry,
            panes=self._panes,
            width=self.viewport().width(),
            scroll=self._scroll(),
            selection=self._selection,
            current_row=self._current_row if self.hasFocus() else None,
            hovered_row=self._hovered_row,
        )

    @property
    def _has_lines(self) -> bool:
        diff = self._rows.diff
        return bool(diff.old_lines or diff.new_lines)

    def _paint_message(self, painter: QPainter) -> None:
        rect = self.viewport().rect()
        rect.setTop(self._geometry.height if len(self._rows) else 0)
        painter.fillRect(rect, self._theme.colour("surface"))
        notes = self._diff.notes if self._diff and not len(self._rows) else ()
        heading, detail = self._message[0], " · ".join(filter(None, (self._message[1], *notes)))
        middle = rect.center().y()
        wrap = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.setFont(self._theme.text_font(TypeSize.BODY))
        painter.setPen(self._theme.colour("text"))
        height = QFontMetrics(painter.font()).height()
        painter.drawText(QRect(PAD, middle - height - 4, rect.width() - 2 * PAD, height), wrap, heading)
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(QRect(PAD, middle + 4, rect.width() - 2 * PAD, rect.height() // 2), wrap, detail)

    def _request_colours(self) -> None:
        """Ask for the colours of what is in view, and of nothing that has been scrolled by."""
        self._highlighter.forget_requests()
        rows = self._rows.between(*self._visible_rows())
        self._highlighter.request("old", [row.old for row in rows if row.old is not None])
        self._highlighter.request("new", [row.new for row in rows if row.new is not None])

    def _on_put_off(self) -> None:
        rows = sorted(self._painter.put_off)
        self._painter.put_off.clear()
        for row in rows:
            if row < len(self._rows):
                self.viewport().update(self.row_rect(row))

    def _on_colours_found(self, coloured: Coloured) -> None:
        """Paint the lines that have colours now, as far as they are in view: on their side only."""
        side, lines = coloured
        count = len(self._rows.diff.old_lines if side == "old" else self._rows.diff.new_lines)
        if not count:
            return
        rows = [self._rows.find(side, min(line, count - 1)) for line in (lines.start, lines.stop - 1)]
        first, last = self._visible_rows()
        if rows[0] > last or rows[1] < first:
            return
        area = self.row_rect(max(first, rows[0])).united(self.row_rect(min(last, rows[1])))
        for pane in self._panes:
            if pane.side in (None, side):
                self.viewport().update(pane.left, area.top(), pane.right - pane.left, area.height())

    def _on_theme_changed(self) -> None:
        self._painter = DiffPainter(self._theme, self._highlighter)
        self._set_rows(self._rows)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._highlighter.stop()  # asked for again by the next paint event

    # -- scrolling and size --

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._apply_mode()
        self._update_panes()
        if self.is_narrow != self._was_narrow:
            self._was_narrow = self.is_narrow
            self.mode_changed.emit()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        ratio = self.devicePixelRatioF()
        if dx or ratio != int(ratio):
            self.viewport().update()
        else:
            self.viewport().scroll(0, dy)  # moves the pixels, and paints only what came into view
        self._place_children()

    def ensure_visible(self, row: int, *, margin_rows: int = 0) -> None:
        """Scroll just as far as needed to see the row, with some rows above and below."""
        margin = margin_rows * self._geometry.row_height
        top, bottom = self._geometry.top(row) - margin, self._geometry.top(row + 1) + margin
        bar = self.verticalScrollBar()
        bar.setValue(max(bottom - self.viewport().height(), min(top, bar.value())))

    def row_rect(self, row: int) -> QRect:
        """Return where the row is in the viewport, without what stands below it."""
        top = self._geometry.top(row) - self.verticalScrollBar().value()
        return QRect(0, top, self.viewport().width(), self._geometry.row_height_at(row))

    def _scroll(self) -> QPoint:
        return QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    def _visible_rows(self) -> tuple[int, int]:
        top = self.verticalScrollBar().value()
        return self._geometry.row_at(top), self._geometry.row_at(top + self.viewport().height())

    def _fitting_mode(self) -> RowMode:
        """A file that was created or deleted has one side: the other would be nothing but stripes."""
        if self.is_narrow or self.is_one_sided:
            return "unified"
        is_tight = self.viewport().width() < NARROW_SIDE_BY_SIDE_WIDTH
        return "unified" if is_tight and not self._is_mode_chosen else self._wanted_mode

    def _apply_mode(self) -> None:
        mode = self._fitting_mode()
        if mode == self._rows.mode:
            return
        anchor = self._top_line()
        current = line_of(self._rows[self._current_row], None) if len(self._rows) else None
        self._selection = None
        self._set_rows(self._new_rows(self._rows.diff, mode, self._rows.opened))
        if current:
            self._current_row = self._rows.find(*current)
        elif self._rows.changes:
            self._current_row = self._rows.changes[0]
        if anchor:
            side, line, above = anchor
            self.verticalScrollBar().setValue(self._geometry.top(self._rows.find(side, line)) - above)
        self._place_children()
        self.mode_changed.emit()

    def _top_line(self) -> tuple[LineSide, int, int] | None:
        """The first line in view and how far it is from the top edge; `None` at the very top."""
        top = self.verticalScrollBar().value()
        if not top or not len(self._rows):
            return None
        first, last = self._visible_rows()
        for index in range(first, last + 1):
            if found := line_of(self._rows[index], None):
                return *found, self._geometry.top(index) - top
        return None

    def _set_rows(self, rows: DiffRows) -> None:
        self._rows = rows
        self._geometry = self._new_geometry()
        self._current_row = max(0, min(self._current_row, len(rows) - 1))
        self._update_panes()
        self.viewport().update()

    def _new_geometry(self) -> Geometry:
        height = max(ROW_HEIGHT, round(self._painter.line_height) + _LINE_PADDING)
        return Geometry(self._rows, row_height=height, blocks=self._blocks())

    def _update_panes(self) -> None:
        self._panes = panes(self._rows, self.viewport().width(), self._painter.digit_width)
        self._update_scroll_bars()
        self._place_children()

    # -- what a diff can have besides its lines --

    _has_heads = False
    """Whether what can be decided about and is no lines has rows of its own."""

    def _new_rows(self, diff: FileDiff, mode: RowMode, opened: frozenset[int]) -> DiffRows:
        like = self._rows if diff is self._rows.diff else None
        return DiffRows(diff, mode, opened=opened, has_heads=self._has_heads, like=like)

    def _blocks(self) -> dict[int, int]:
        """The heights of what stands below some rows."""
        return {}

    def _place_children(self) -> None:
        """Put widgets that scroll with the rows where they belong."""

    def _update_scroll_bars(self) -> None:
        view = self.viewport().size()
        vertical, horizontal = self.verticalScrollBar(), self.horizontalScrollBar()
        vertical.setRange(0, max(0, self._geometry.height - view.height()))
        vertical.setPageStep(max(1, view.height() - self._geometry.row_height))
        vertical.setSingleStep(self._geometry.row_height)
        room = min((pane.text_width for pane in self._panes), default=0)
        wide = round(self._estimated_width) + PAD if len(self._rows) else 0
        horizontal.setRange(0, max(0, wide - room))
        horizontal.setPageStep(max(1, room))
        horizontal.setSingleStep(round(4 * self._painter.char_width))


_NO_DIFF = FileDiff(path="", kind="modified", author="agent")
