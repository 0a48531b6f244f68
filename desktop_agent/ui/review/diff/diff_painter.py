"""Paints the rows of a diff and the bars between them, without scrolling, focus or mouse handling.

Also the interface of overlays, which add content to a diff.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QLineF, QObject, QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QMouseEvent, QPainter, QPen, QPixmap, QPolygonF

from desktop_agent.core.diff.hunks import Moves
from desktop_agent.core.diff.intraline import Spans
from desktop_agent.core.diff.rows import DiffRow, DiffRows, LineSide
from desktop_agent.core.protocol.model import DiagnosticSeverity, FileDiff, MovedBlock
from desktop_agent.ui.review.changed_files import Mark
from desktop_agent.ui.review.diff.diff_document import DiffSelection, line_of
from desktop_agent.ui.review.diff.diff_layout import PAD, Geometry, Pane
from desktop_agent.ui.review.diff.diff_words import (
    HunkDecisions,
    HunkState,
    bar_label,
    ending_label,
    gap_label,
    moved_label,
    notes_label,
)
from desktop_agent.ui.review.diff.highlighter import Highlighter
from desktop_agent.ui.review.diff.line_layouts import Columns, LaidLine, LineLayouts, LineWords
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.wording import MAX_DRAWN_CHARS

_tr = partial(QCoreApplication.translate, "DiffView")

_MARK_RADIUS = 3.5
_MARK_ROOM = 16
_LABEL_GAP = 8


def draw_mark(painter: QPainter, centre: QPointF, mark: Mark | HunkState, colour_of: Callable[[str], QColor]) -> None:
    """Draw a ring: full for kept, half full for partly kept, empty for undecided, struck through for undone.

    It has a cross for offered, and a line for a conflict.
    """
    role = {"partly": "accent", "kept": "accent", "offered": "accent", "conflict": "warning_text"}.get(mark, "faint")
    colour = colour_of(role)
    ring = QRectF(centre.x() - _MARK_RADIUS, centre.y() - _MARK_RADIUS, 2 * _MARK_RADIUS, 2 * _MARK_RADIUS)
    painter.setPen(QPen(colour, 1.3))
    painter.setBrush(colour if mark == "kept" else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(ring)
    if mark == "partly":
        painter.setBrush(colour)
        painter.drawPie(ring, 90 * 16, 180 * 16)
    elif mark == "undone":
        painter.drawLine(ring.bottomLeft(), ring.topRight())
    elif mark == "offered":
        painter.drawLines(
            [
                QLineF(ring.left(), centre.y(), ring.right(), centre.y()),
                QLineF(centre.x(), ring.top(), centre.x(), ring.bottom()),
            ]
        )
    elif mark == "conflict":
        painter.drawLine(QPointF(centre.x(), ring.top() + 2), QPointF(centre.x(), ring.bottom() - 2))


PROBLEM_ROLES: Mapping[DiagnosticSeverity, str] = {
    "error": "removed_text", "warning": "warning_text", "info": "muted",
}  # fmt: skip
PROBLEM_ROOM = 12


def draw_problem(painter: QPainter, centre: QPointF, severity: DiagnosticSeverity, colour: QColor) -> None:
    """Draw a dot for an error, a triangle for a warning, and a ring for anything else."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.3) if severity == "info" else Qt.PenStyle.NoPen)
    painter.setBrush(Qt.BrushStyle.NoBrush if severity == "info" else colour)
    if severity == "warning":
        corners = ((0.0, -_MARK_RADIUS), (-_MARK_RADIUS, _MARK_RADIUS - 0.5), (_MARK_RADIUS, _MARK_RADIUS - 0.5))
        painter.drawPolygon(QPolygonF([centre + QPointF(*corner) for corner in corners]))
    else:
        painter.drawEllipse(centre, _MARK_RADIUS, _MARK_RADIUS)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)


class LineNote(NamedTuple):
    """A note that is drawn after a line with a diagnostic."""

    severity: DiagnosticSeverity
    text: str
    is_new: bool


class Bars(NamedTuple):
    decisions: HunkDecisions
    buttons: dict[HunkState, QPixmap]
    live: frozenset[int] = frozenset()
    """The bars that currently have real buttons."""


def button_rect(inner: QRect, width: int, height: int) -> QRect:
    return QRect(inner.right() + 1 - width, inner.top() + (inner.height() - 1 - height) // 2 + 1, width, height)


_STRIPE = 8
_NUMBER_SIZE = 10.5 / TypeSize.DIFF
_TAG_GAP = 10
_MARKER_WIDTH = 2
_EDGE_WIDTH = 3
_LEAST_NOTE_WIDTH = 60
_MOVED_TINT = 0.1
_UNDONE_OPACITY = 0.5
"""The opacity of undone lines. With high contrast, the text stays opaque and the background is left out."""
PLUS_SIZE = 16
_LABEL_PAD = 8
_TONES: dict[str, tuple[str, str, str]] = {
    "removed": ("removed_line", "removed_word", "removed_text"),
    "added": ("added_line", "added_word", "added_text"),
}
_SIGNS = {"removed": "−", "added": "+"}


class Scene(NamedTuple):
    rows: DiffRows
    geometry: Geometry
    panes: tuple[Pane, ...]
    width: int
    scroll: QPoint
    selection: DiffSelection | None
    current_row: int | None
    """The marked row; `None` while the view does not have the focus."""
    hovered_row: int | None
    bars: Bars | None = None
    """The decisions about the hunks; `None` if there is nothing to decide."""
    moves: Moves | None = None
    notes: Mapping[int, LineNote] = {}
    """The notes by line of the new file, from 0."""
    plus: tuple[int, Pane] | None = None
    """The row and pane where a click in the gutter starts a comment."""


class _Line(NamedTuple):
    number: int
    row: DiffRow
    top: int
    height: int
    part_height: int
    visible_parts: range


class _Shown(NamedTuple):
    line: _Line
    side: LineSide
    number: int
    tone: str
    moved: MovedBlock | None
    is_undone: bool


def draw_plus(painter: QPainter, at: QPointF, ground: QColor, sign: QColor) -> None:
    """Draw the button that begins a comment."""
    rect = QRectF(at.x(), at.y(), PLUS_SIZE, PLUS_SIZE)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ground)
    painter.drawRoundedRect(rect, 4, 4)
    middle = rect.center()
    painter.fillRect(QRectF(middle.x() - 4, middle.y() - 0.75, 8, 1.5), sign)
    painter.fillRect(QRectF(middle.x() - 0.75, middle.y() - 4, 1.5, 8), sign)


class DiffPainter:
    def __init__(self, theme: Theme, highlighter: Highlighter) -> None:
        self._theme = theme
        self._highlighter = highlighter
        code_font = theme.code_font(theme.sizes.diff, grows=False)
        metrics = QFontMetricsF(code_font)
        self.char_width = metrics.horizontalAdvance("0")
        self.line_height = metrics.height()
        self._number_font = theme.code_font(theme.sizes.diff * _NUMBER_SIZE, grows=False)
        self.digit_width = QFontMetricsF(self._number_font).horizontalAdvance("0")
        self._sign_font = code_font
        self._bar_font = theme.text_font(TypeSize.HEAD)
        self._bar_metrics = QFontMetrics(self._bar_font)
        self._struck_font = QFont(self._bar_font)
        self._struck_font.setStrikeOut(True)
        self._moved_colour = theme.colour("syntax_keyword")
        self._moved_ground = _blend(theme.colour("surface"), self._moved_colour, _MOVED_TINT)
        self._layouts = LineLayouts(theme, code_font)
        self._words = LineWords()
        self._colours: dict[str, QColor] = {}
        self._tag_metrics = QFontMetricsF(self._bar_font)
        self._last_tag = ("", 0.0)
        """The last painted tag and its width, cached because in a file of long lines all lines have the same tag."""
        self._stripes = _stripes(theme.colour("surface"), theme.colour("border"))
        self.put_off: set[int] = set()
        """Rows to repaint because their changed words were not found within the time budget."""
        self.widest = 0.0

    def clear(self) -> None:
        self._layouts.clear()
        self._words.clear()
        self.put_off.clear()
        self.widest = 0.0

    def laid_line(self, diff: FileDiff, scroll_x: int, pane: Pane, side: LineSide, number: int) -> LaidLine:
        text = diff.old_lines[number] if side == "old" else diff.new_lines[number]
        shown = int(pane.text_width / self.char_width) + 1
        columns = Columns(int(scroll_x / self.char_width), shown, pane.columns)
        return self._layouts.line(side, number, text, self._highlighter.spans(side, number), columns)

    def paint(self, painter: QPainter, scene: Scene, clip: QRect) -> None:
        painter.fillRect(clip, self._colour("surface"))
        self._words.begin()
        scroll_y = scene.scroll.y()
        if not len(scene.rows):
            return
        first = scene.geometry.row_at(clip.top() + scroll_y)
        last = scene.geometry.row_at(clip.bottom() + scroll_y)
        lines: list[_Line] = []
        for index, row in enumerate(scene.rows.between(first, last), first):
            top = scene.geometry.top(index) - scroll_y
            height = scene.geometry.row_height_at(index)
            if row.kind in ("hunk", "gap"):
                self._paint_bar(painter, scene, index, QRect(0, top, scene.width, height))
            else:
                part = scene.geometry.row_height
                parts = range(max(0, clip.top() - top) // part, max(0, clip.bottom() - top) // part + 1)
                lines.append(_Line(index, row, top, height, part, parts))
        for pane in scene.panes:
            if pane.left <= clip.right() and pane.right >= clip.left():
                self._paint_pane(painter, scene, pane, lines)
        if len(scene.panes) > 1:
            middle = scene.panes[0].right
            for line in lines:
                painter.fillRect(middle, line.top, 1, line.height, self._colour("border"))
        notes = QRect(0, -scroll_y, scene.width, scene.geometry.notes_height)
        if notes.bottom() >= 0:
            painter.fillRect(notes, self._colour("bg"))
            painter.fillRect(notes.left(), notes.bottom(), notes.width(), 1, self._colour("border"))
            inner = notes.adjusted(PAD, 0, -PAD, 0)
            self._paint_label(painter, inner, notes_label(scene.rows.notes), "text")
        self._paint_plus(painter, scene)
        self._paint_marker(painter, scene)

    def moved_at(self, scene: Scene, point: QPoint) -> tuple[MovedBlock, LineSide] | None:
        index = scene.geometry.row_at(point.y() + scene.scroll.y())
        top = scene.geometry.top(index) - scene.scroll.y()
        for pane in scene.panes:
            found = line_of(scene.rows[index], pane.side)
            block = _moved(scene, scene.rows[index], *found) if found else None
            if found is None or block is None or found[1] != (block.old_start, block.new_start)[found[0] == "new"]:
                continue
            if self._label_rect(scene, pane, block, found[0], top).contains(point):
                return block, found[0]
        return None

    def _paint_bar(self, painter: QPainter, scene: Scene, index: int, rect: QRect) -> None:
        rows, is_hovered = scene.rows, scene.hovered_row == index
        border = self._colour("border")
        painter.fillRect(rect, self._colour("sunken"))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, border)
        if index and rows[index - 1].kind not in ("hunk", "gap"):
            painter.fillRect(rect.left(), rect.top(), rect.width(), 1, border)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        gap, key = rows.gap(index), rows.key(index)
        if gap:
            painter.setFont(self._bar_font)
            painter.setPen(self._colour("accent_text" if is_hovered else "muted"))
            painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _tr("Show"))
            self._paint_label(painter, inner, f"⋯ {gap_label(gap)}", "accent_text" if is_hovered else "muted")
        elif key is not None and scene.bars is not None:
            self._paint_decided(painter, rows, index, inner, scene.bars)
        else:
            self._paint_label(painter, inner, bar_label(rows, index), "muted")

    def _paint_decided(self, painter: QPainter, rows: DiffRows, index: int, inner: QRect, bars: Bars) -> None:
        key = rows.key(index) or ""
        state = bars.decisions.state(key)
        buttons = bars.buttons[state]
        size = buttons.deviceIndependentSize().toSize()
        if index not in bars.live:
            painter.drawPixmap(button_rect(inner, size.width(), size.height()).topLeft(), buttons)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_mark(painter, QPointF(inner.left() + _MARK_RADIUS + 0.5, inner.center().y() + 0.5), state, self._colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        label = inner.adjusted(_MARK_ROOM, 0, -size.width() - _LABEL_GAP, 0)
        text = bars.decisions.label(rows, index)
        if state != "undone":
            self._paint_label(painter, label, text, "muted")
            return
        self._paint_label(painter, label, text, "muted", is_struck=not bars.decisions.is_offered)
        behind = label.adjusted(self._bar_metrics.horizontalAdvance(text) + _LABEL_GAP, 0, 0, 0)
        if behind.width() > 0:
            self._paint_label(painter, behind, bars.decisions.words(key), "text")

    def _paint_label(self, painter: QPainter, rect: QRect, text: str, role: str, *, is_struck: bool = False) -> None:
        painter.setFont(self._struck_font if is_struck else self._bar_font)
        painter.setPen(self._colour(role))
        shown = self._bar_metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def _paint_marker(self, painter: QPainter, scene: Scene) -> None:
        if scene.current_row is None:
            return
        top = scene.geometry.top(scene.current_row) - scene.scroll.y()
        height = scene.geometry.row_height_at(scene.current_row)
        painter.fillRect(0, top, _MARKER_WIDTH, height, self._colour("accent"))

    def _paint_plus(self, painter: QPainter, scene: Scene) -> None:
        if scene.plus is None:
            return
        row, pane = scene.plus
        top = scene.geometry.top(row) - scene.scroll.y() + (scene.geometry.row_height - PLUS_SIZE) / 2
        left = (pane.sign_left + pane.text_left - PLUS_SIZE) / 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_plus(painter, QPointF(left, top), self._colour("accent"), self._colour("on_accent"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def _paint_moved(self, painter: QPainter, scene: Scene, pane: Pane, shown: _Shown) -> None:
        block, line = shown.moved, shown.line
        if block is None:
            return
        painter.fillRect(pane.left, line.top, _EDGE_WIDTH, line.height, self._moved_colour)
        if shown.number != (block.old_start if shown.side == "old" else block.new_start):
            return
        rect = self._label_rect(scene, pane, block, shown.side, line.top)
        if rect.isEmpty():
            return
        painter.fillRect(rect, self._moved_ground)
        painter.setFont(self._bar_font)
        painter.setPen(self._moved_colour)
        inner = rect.adjusted(_LABEL_PAD, 0, -_LABEL_PAD, 0)
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, moved_label(block, shown.side))

    def _label_rect(self, scene: Scene, pane: Pane, block: MovedBlock, side: LineSide, top: int) -> QRect:
        """Return the place of a label. It is empty if it would cover text that cannot be scrolled from under it."""
        width = QFontMetricsF(self._bar_font).horizontalAdvance(moved_label(block, side)) + 2 * _LABEL_PAD
        left, height = max(pane.text_left, pane.right - round(width)), scene.geometry.row_height
        if pane.columns:
            number = block.old_start if side == "old" else block.new_start
            laid = self.laid_line(scene.rows.diff, 0, pane, side, number)
            room = left - pane.text_left
            part = next((part for part in (0, laid.part_count - 1) if laid.part_width(part) <= room), None)
            if part is None:
                return QRect()
            top += part * height
        return QRect(left, top, pane.right - left, height)

    def _paint_pane(self, painter: QPainter, scene: Scene, pane: Pane, lines: Sequence[_Line]) -> None:
        """Paint backgrounds and gutters, then all texts with one clip that keeps scrolled texts out of gutters."""
        shown: list[_Shown] = []
        painter.setFont(self._number_font)
        for line in lines:
            found = line_of(line.row, pane.side)
            if found is None:
                rect = QRect(pane.left, line.top, pane.right - pane.left, line.height)
                painter.drawTiledPixmap(rect, self._stripes, QPoint(0, (line.top + scene.scroll.y()) % _STRIPE))
                continue
            shown.append(_shown(scene, line, *found))
            self._paint_gutter(painter, pane, shown[-1])
            if note := _note(scene, shown[-1]):
                left = max(pane.left, _MARKER_WIDTH * (line.number == scene.current_row))  # beside the marker
                edge = QRect(left, line.top, _EDGE_WIDTH, line.height)
                painter.fillRect(edge, self._colour(PROBLEM_ROLES[note.severity]))
        painter.setFont(self._sign_font)
        for one in shown:
            if one.tone:
                rect = QRectF(pane.sign_left, one.line.top, self.char_width, one.line.part_height)
                painter.setPen(self._moved_colour if one.moved else self._colour(_TONES[one.tone][2]))
                painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, _SIGNS[one.tone])
        painter.save()
        painter.setClipRect(QRect(pane.text_left, 0, pane.text_width, 1 << 20), Qt.ClipOperation.IntersectClip)
        is_high_contrast = self._theme.colours.is_high_contrast
        for one in shown:
            painter.setOpacity(1 if is_high_contrast or not one.is_undone else _UNDONE_OPACITY)
            self._paint_text(painter, scene, pane, one)
        painter.restore()
        for one in shown:
            self._paint_moved(painter, scene, pane, one)

    def _paint_gutter(self, painter: QPainter, pane: Pane, shown: _Shown) -> None:
        line = shown.line
        ground = self._colour(_TONES[shown.tone][0] if shown.tone else "surface")
        if shown.moved:
            ground = self._moved_ground
        if shown.is_undone:
            share = 0.0 if self._theme.colours.is_high_contrast else _UNDONE_OPACITY
            ground = _blend(self._colour("surface"), ground, share)
        painter.fillRect(pane.left, line.top, pane.right - pane.left, line.height, ground)
        painter.setPen(self._colour("faint"))
        for side, right in pane.numbers:
            number = line.row.old if side == "old" else line.row.new
            if number is not None:
                rect = QRectF(pane.left, line.top, right - pane.left, line.part_height)
                painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number + 1))

    def _paint_text(self, painter: QPainter, scene: Scene, pane: Pane, shown: _Shown) -> None:
        line, side, tone = shown.line, shown.side, shown.tone
        laid = self.laid_line(scene.rows.diff, scene.scroll.x(), pane, side, shown.number)
        left, height = pane.text_left - scene.scroll.x(), line.part_height
        parts = range(line.visible_parts.start, min(line.visible_parts.stop, laid.part_count))
        changed = self._changed_words(scene.rows, line, side) if tone and not shown.moved else ()
        for part, x, right in (each for word in changed for each in laid.stretches(*word, parts)):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._colour(_TONES[tone][1]))
            painter.drawRoundedRect(QRectF(left + x, line.top + part * height + 1.5, right - x, height - 3), 2, 2)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        self._paint_selection(painter, scene, pane, line, laid, left, parts)
        painter.setPen(self._colour("text"))
        # Syntax colours are too faint on the background of a changed word.
        over = tuple((start, end, "text") for start, end in changed if laid.is_coloured(start, end))
        laid.draw(painter, left, line.top, height, over, parts)
        width = laid.width
        cut = laid.visible.cut_chars
        if tag := f"… +{cut:,}" if cut else ending_label(scene.rows.diff, line.row, side):
            tag_left = left + width + _TAG_GAP
            if tag_left < pane.right:
                painter.setFont(self._bar_font)
                painter.setPen(self._colour("muted"))
                rect = QRectF(tag_left, line.top + (laid.part_count - 1) * height, 1_000, height)
                painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, tag)
            if tag != self._last_tag[0]:
                self._last_tag = tag, self._tag_metrics.horizontalAdvance(tag)
            width += self._last_tag[1] + _TAG_GAP
        self.widest = max(self.widest, width)
        if note := _note(scene, shown):
            top = line.top + (laid.part_count - 1) * height
            self._paint_note(painter, note, QRectF(left + width + _TAG_GAP, top, pane.right - left - width, height))

    def _paint_note(self, painter: QPainter, note: LineNote, rect: QRectF) -> None:
        room = rect.width() - _TAG_GAP - PROBLEM_ROOM - PAD
        if room < _LEAST_NOTE_WIDTH:  # the edge of the line is marked, and a tool tip has the text
            return
        colour = self._colour(PROBLEM_ROLES[note.severity])
        draw_problem(painter, QPointF(rect.left() + _MARK_RADIUS, rect.center().y() + 0.5), note.severity, colour)
        painter.setFont(self._bar_font)
        painter.setPen(colour if note.is_new else self._colour("muted"))
        text = self._bar_metrics.elidedText(note.text, Qt.TextElideMode.ElideRight, int(room))
        place = rect.adjusted(PROBLEM_ROOM, 0, 0, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_selection(
        self, painter: QPainter, scene: Scene, pane: Pane, line: _Line, laid: LaidLine, left: float, parts: range
    ) -> None:
        selection = scene.selection
        if selection is None or selection.side != pane.side:
            return
        span = selection.span(line.number, MAX_DRAWN_CHARS)
        if span is None:
            return
        colour, height = QColor(self._colour("accent")), line.part_height
        colour.setAlphaF(0.3)
        for part, x, right in laid.stretches(*span, parts):
            painter.fillRect(QRectF(left + x, line.top + part * height, right - x, height), colour)
        if line.number < selection.end.row:  # the line's end is selected, too
            top = line.top + (laid.part_count - 1) * height
            painter.fillRect(QRectF(left + laid.width, top, self.char_width / 2, height), colour)

    def _changed_words(self, rows: DiffRows, line: _Line, side: LineSide) -> Spans:
        words = self._words.of(rows.diff, line.row, side)
        if words is None:
            self.put_off.add(line.number)
            return ()
        return words

    def _colour(self, role: str) -> QColor:
        if role not in self._colours:
            self._colours[role] = self._theme.colour(role)
        return self._colours[role]


def _shown(scene: Scene, line: _Line, side: LineSide, number: int) -> _Shown:
    if line.row.kind == "context":
        return _Shown(line, side, number, "", None, is_undone=False)
    rows, bars = scene.rows, scene.bars
    is_undone = False
    if bars and bars.decisions.undone:
        key = rows.keys[rows.change_at(line.number)]
        is_undone = key in bars.decisions.undone
    tone = "removed" if side == "old" else "added"
    return _Shown(line, side, number, tone, _moved(scene, line.row, side, number), is_undone)


def _note(scene: Scene, shown: _Shown) -> LineNote | None:
    return scene.notes.get(shown.number) if shown.side == "new" else None


def _moved(scene: Scene, row: DiffRow, side: LineSide, number: int) -> MovedBlock | None:
    if scene.moves is None or row.kind in ("context", "hunk", "gap"):
        return None
    return scene.moves.of_old(number) if side == "old" else scene.moves.of_new(number)


def _blend(ground: QColor, colour: QColor, share: float) -> QColor:
    return QColor.fromRgbF(
        ground.redF() + (colour.redF() - ground.redF()) * share,
        ground.greenF() + (colour.greenF() - ground.greenF()) * share,
        ground.blueF() + (colour.blueF() - ground.blueF()) * share,
    )


def _stripes(ground: QColor, stripe: QColor) -> QPixmap:
    scale = 4
    tile = QPixmap(_STRIPE * scale, _STRIPE * scale)
    tile.setDevicePixelRatio(scale)
    tile.fill(ground)
    with QPainter(tile) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(stripe)
        half = _STRIPE / 2
        for x in (-_STRIPE, 0.0, float(_STRIPE)):
            corners = (
                QPointF(x + _STRIPE, 0),
                QPointF(x + _STRIPE + half, 0),
                QPointF(x + half, _STRIPE),
                QPointF(x, _STRIPE),
            )
            painter.drawPolygon(QPolygonF(corners))
    return tile


class DiffOverlay(QObject):
    """Draws over a diff and handles its keys and mouse. The base class does nothing. Points are viewport pixels."""

    def set_diff(self, diff: FileDiff | None) -> None:
        """Use this diff from now on. Its rows are not laid out yet."""

    def block_heights(self) -> dict[int, int]:
        """Return the heights in pixels of this overlay's blocks, by the row above each block."""
        return {}

    def place(self) -> None:
        """Move the overlay's widgets, because the rows have moved."""

    def decorate(self, scene: Scene) -> Scene:
        """Return the scene with this overlay's additions. Called for each frame."""
        return scene

    def describe(self, row: int, words: str) -> str:
        """Return the text about a row for screen readers. `words` is the text without this overlay."""
        return words

    def hide(self) -> None:
        """Stop the current action, because the diff is no longer visible."""

    def takes(self, action: str) -> bool:
        """Whether this overlay handles the action of a diff key, before the window's shortcuts do."""
        return False

    def do(self, action: str) -> bool:
        """Perform the action of a diff key; return whether this overlay did anything."""
        return False

    def tab_pressed(self) -> None:
        """Prepare for Tab moving the focus out of the lines."""

    def mouse_pressed(self, event: QMouseEvent) -> bool:
        """Handle a press. Return whether this overlay gets the mouse until the release."""
        return False

    def mouse_moved(self, point: QPoint) -> None: ...

    def mouse_released(self, point: QPoint) -> None: ...

    def hover(self, point: QPoint) -> bool:
        """Show the hover state at `point`. Return whether a click there would do something."""
        return False

    def tool_tip(self) -> str:
        return ""
