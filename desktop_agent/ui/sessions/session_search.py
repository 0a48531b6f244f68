"""Search through all sessions: a field, filters and the results, shown over the conversation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import PurePath
from typing import NamedTuple

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QLocale,
    QModelIndex,
    QObject,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QWindow
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import HitKind, SearchHit, SearchQuery, SessionSummary
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import Picker, make_line
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, set_names, stack, vbox
from desktop_agent.ui.widgets.popup import ChoiceModel, Popup
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, ModelDelegate, draw_ground, draw_line, set_up_list
from desktop_agent.ui.wording import local_now, long_moment, plain_tooltip, short_moment

_tr = partial(QCoreApplication.translate, "SearchPanel")


class FoundRow(NamedTuple):
    """A search result, or the title of the session that contains the results below."""

    hit: SearchHit | None
    title: str
    detail: str
    """For a session its folder, for a place its time."""
    kind: str = ""


class FoundModel(ChoiceModel[FoundRow]):
    def __init__(self, now: Callable[[], datetime], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now

    def show_hits(self, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        kinds: dict[HitKind, str] = {
            "title": self.tr("Title"),
            "prompt": self.tr("You"),
            "reply": self.tr("Agent"),
            "command": self.tr("Command"),
            "output": self.tr("Output"),
            "change": self.tr("Change"),
        }
        by_session: dict[str, list[SearchHit]] = {}
        for hit in hits:
            by_session.setdefault(hit.session_id, []).append(hit)
        rows: list[FoundRow] = []
        for session_id, places in by_session.items():
            session = sessions.get(session_id)
            title = named(session.title if session else "") or self.tr("Session without a title")
            rows.append(FoundRow(None, title, PurePath(session.workspace).name if session else ""))
            rows += [
                FoundRow(hit, title, short_moment(hit.at, self._now(), QLocale()), kinds[hit.kind]) for hit in places
            ]
        self.show(rows)

    def is_choice(self, row: FoundRow) -> bool:
        return row.hit is not None

    def text(self, row: FoundRow) -> str:
        return row.title if row.hit is None else row.hit.snippet

    def words(self, row: FoundRow) -> list[str]:
        said = [row.title, row.detail] if row.hit is None else [row.kind, row.hit.snippet, row.title, row.detail]
        return [text for text in said if text]

    def tooltip(self, row: FoundRow) -> str:
        if (hit := row.hit) is None:
            return ""
        facts = [row.kind, hit.tool, hit.file, long_moment(hit.at, self._now(), QLocale())]
        return plain_tooltip("\n".join([row.title, " · ".join(filter(None, facts)), hit.snippet]))


_HEADING = 34
_KIND_WIDTH = 66
_DETAIL_GAP = 12


class FoundDelegate(ModelDelegate[FoundModel]):
    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, _HEADING if self.model.rows[index.row()].hit is None else Height.LIST_ROW)

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.rows[index.row()]
        rect = QRectF(option.rect)
        if row.hit is None:
            line = rect.adjusted(Space.S, Space.S, -Space.S, 0)
            self._draw_detail(painter, line, row)
            draw_line(painter, line, row.title, self.strong_font, self.theme.colour("text"))
        else:
            colour = draw_ground(painter, self.theme, option, self.ring)
            line = rect.adjusted(Space.S, 0, -Space.S, 0)
            self._draw_detail(painter, line, row)
            kind = QRectF(line.left(), line.top(), _KIND_WIDTH, line.height())
            draw_line(painter, kind, row.kind, self.small_font, self.theme.colour("muted"))
            line.setLeft(kind.right())
            assert row.hit is not None
            painter.setClipRect(line)
            left, done = line.left(), 0
            for begin, end in (*row.hit.marks, (len(row.hit.snippet), len(row.hit.snippet))):
                left = self._draw_part(painter, line, left, row.hit.snippet[done:begin], colour, is_match=False)
                left = self._draw_part(painter, line, left, row.hit.snippet[begin:end], colour, is_match=True)
                done = end
                if left >= line.right():
                    break

    def _draw_detail(self, painter: QPainter, line: QRectF, row: FoundRow) -> None:
        draw_line(painter, line, row.detail, self.small_font, self.theme.colour("muted"), RIGHT)
        taken = QFontMetricsF(self.small_font).horizontalAdvance(row.detail)
        line.setRight(line.right() - min(taken + _DETAIL_GAP, line.width() / 2))

    def _draw_part(
        self, painter: QPainter, line: QRectF, left: float, text: str, colour: QColor, *, is_match: bool
    ) -> float:
        font = self.strong_font if is_match else self.text_font
        width = QFontMetricsF(font).horizontalAdvance(text)
        rect = QRectF(left, line.top(), max(0.0, min(width, line.right() - left)), line.height())
        if is_match and text:
            ground = QRectF(rect.left() - 1, rect.center().y() - 9, rect.width() + 2, 18)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("found_current" if self.theme.colours.is_dark else "warning_bg"))
            painter.drawRoundedRect(ground, 3, 3)
            colour = self.theme.colour("text")
        painter.setFont(font)
        painter.setPen(colour)
        shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width() + 0.5)
        baseline = rect.center().y() + (QFontMetricsF(font).ascent() - QFontMetricsF(font).descent()) / 2
        painter.drawText(QPointF(left, baseline), shown)
        return left + width


class FoundList(QListView):
    chosen = Signal(object)  # a `SearchHit`

    def __init__(self, theme: Theme, now: Callable[[], datetime], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found = FoundModel(now, self)
        set_names(self, "searchResults", self.tr("Search results"))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setModel(self._found)
        self.setItemDelegate(FoundDelegate(self._found, theme, set_up_list(self), self, TypeSize.SECONDARY))
        self.clicked.connect(self._on_clicked)
        theme.changed.connect(self.viewport().update)

    @property
    def is_empty(self) -> bool:
        return not self._found.rows

    def show_hits(self, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        current = self._current_hit()
        self._found.show_hits(hits, sessions)
        same = (row for row, found in enumerate(self._found.rows) if current is not None and found.hit == current)
        self.setCurrentIndex(self._found.index(at) if (at := next(same, -1)) >= 0 else self._found.step_from(-1, 1))

    def step(self, by: int) -> None:
        index = self._found.step_from(self.currentIndex().row(), by)
        if (index.row() - self.currentIndex().row()) * by > 0:
            self.setCurrentIndex(index)

    def choose(self) -> None:
        if (hit := self._current_hit()) is not None:
            self.chosen.emit(hit)

    def _current_hit(self) -> SearchHit | None:
        index = self.currentIndex()
        return self._found.rows[index.row()].hit if index.isValid() else None

    def _on_clicked(self, index: QModelIndex) -> None:
        if index.flags() & Qt.ItemFlag.ItemIsEnabled:  # a heading does not change the current row
            self.choose()


class SearchFilters(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = ""
        kinds = [
            (self.tr("Everything"), None),
            (self.tr("What I wrote"), "prompt"),
            (self.tr("Replies"), "reply"),
            (self.tr("Commands"), "command"),
            (self.tr("Outputs"), "output"),
            (self.tr("Changes"), "change"),
            (self.tr("Titles"), "title"),
        ]
        days = [
            (self.tr("Any time"), None),
            (self.tr("Since yesterday"), 1),
            (plural("SearchFilters", 7, "Last day", "Last %n days"), 7),
            (plural("SearchFilters", 30, "Last day", "Last %n days"), 30),
            (self.tr("Last year"), 365),
        ]
        folders = [(self.tr("All folders"), None), (self.tr("This folder"), True)]
        self._kind = self._picker("searchKindPicker", self.tr("What"), kinds)
        self._when = self._picker("searchWhenPicker", self.tr("When"), days)
        self._where = self._picker("searchFolderPicker", self.tr("Where"), folders)
        self._tool = self._picker("searchToolPicker", self.tr("Tool"), [(self.tr("Any tool"), None)])
        self.file = make_line("searchFileField", self.tr("About a file"), self.tr("File"))
        self.file.setMinimumHeight(self._kind.minimumHeight())
        hbox(self._kind, self._when, self._where, self._tool, (self.file, 1), on=self, spacing=Space.S)

    def set_workspace(self, workspace: str) -> None:
        self._workspace = workspace

    def set_tools(self, names: Sequence[str]) -> None:
        for name in names:
            self._tool.addItem(name, name)

    def query(self, text: str, now: datetime) -> SearchQuery:
        days = self._when.currentData()
        return SearchQuery(
            text=text,
            workspace=self._workspace if self._where.currentData() else "",
            since=now - timedelta(days=days) if days else None,
            file=self.file.text(),
            tool=self._tool.currentData() or "",
            kind=self._kind.currentData(),
        )

    def _picker(self, object_name: str, name: str, choices: Iterable[tuple[str, object]]) -> Picker:
        picker = Picker(object_name=object_name, accessible_name=name, choices=choices)
        picker.currentIndexChanged.connect(self.changed)
        return picker


class SearchParts:
    def __init__(self, theme: Theme, now: Callable[[], datetime], on: QWidget) -> None:
        hint = _tr("Search prompts, replies, commands, outputs and changes")
        self.field = make_line("searchField", _tr("Search all sessions"), hint, parent=on)
        self.filters = SearchFilters(on)
        self.list = FoundList(theme, now, on)
        self.hint = make_label(role="secondary", wraps=True)
        self.hint.setContentsMargins(Space.S, Space.S, Space.S, 0)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.pages = stack(self.list, self.hint, on=on)
        self.count = make_label(role="secondary")
        self.reading = make_label(_tr("Reading what is new…"), role="secondary")
        self.reading.hide()
        foot = hbox((self.count, 1), self.reading, margins=(Space.S, 0, Space.S, 0), spacing=Space.S)
        margins = (Space.M, Space.M, Space.M, Space.S)
        vbox(self.field, self.filters, (self.pages, 1), foot, on=on, margins=margins, spacing=Space.S)


_PAUSE_MS = 120
_WIDTH = 760
_HEIGHT = 560
_MARGIN = 24


class SearchPanel(Popup):
    query_changed = Signal(object)  # a `SearchQuery`, to be answered by `show_hits`
    hit_chosen = Signal(object)  # a `SearchHit`

    def __init__(self, theme: Theme, over: QWidget, *, now: Callable[[], datetime] = local_now) -> None:
        super().__init__(theme, over)
        set_names(self, "searchPanel", self.tr("Search all sessions"))
        self._theme = theme
        self._now = now
        self.query: SearchQuery | None = None
        self._is_reading = False
        self._timer = one_shot(self, _PAUSE_MS, self._search)

    def set_workspace(self, workspace: str) -> None:
        self._parts.filters.set_workspace(workspace)

    def set_tools(self, names: Sequence[str]) -> None:
        self._parts.filters.set_tools(names)

    def open_popup(self) -> None:
        field = self._parts.field
        super().open_popup()
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        field.selectAll()
        self._search()

    def close_popup(self) -> None:
        self._timer.stop()
        super().close_popup()

    def show_hits(self, query: SearchQuery, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        if query is not self.query:
            return
        self._parts.list.show_hits(hits, sessions)
        self._parts.pages.setCurrentIndex(0 if hits else 1)
        self._parts.hint.setText(self.tr("Nothing found."))
        places = plural("SearchPanel", len(hits), "%n place", "%n places")
        count = len({hit.session_id for hit in hits})
        words = self.tr("{0} in {1}").format(places, plural("SearchPanel", count, "%n session", "%n sessions"))
        self._parts.count.setText(words if hits else "")

    def set_reading(self, *, is_reading: bool) -> None:
        was_reading, self._is_reading = self._is_reading, is_reading
        self._parts.reading.setVisible(is_reading)
        if was_reading and not is_reading and self.isVisible():
            self._search()

    @cached_property
    def _parts(self) -> SearchParts:
        parts = SearchParts(self._theme, self._now, self)
        parts.field.textChanged.connect(self._timer.start)
        parts.filters.changed.connect(self._search)
        parts.filters.file.textChanged.connect(self._timer.start)
        parts.list.chosen.connect(self._on_chosen)
        for taking_keys in (parts.field, parts.filters.file, parts.list):
            taking_keys.installEventFilter(self)
        return parts

    def _search(self) -> None:
        self._timer.stop()
        query = self._parts.filters.query(self._parts.field.text(), self._now())
        if query.text.strip() or query.file.strip():
            self.query = query
            if self._parts.list.is_empty:
                self._parts.pages.setCurrentIndex(1)
                self._parts.hint.setText(self.tr("Searching…"))
            self.query_changed.emit(query)
            return
        self.query = None
        self._parts.list.show_hits((), {})
        self._parts.pages.setCurrentIndex(1)
        self._parts.count.clear()
        self._parts.hint.setText(self.tr('Finds words in any order and "quoted phrases" as written, newest first.'))

    def _on_chosen(self, hit: SearchHit) -> None:
        self.close_popup()
        self.hit_chosen.emit(hit)

    def _place(self) -> None:
        area = self._over.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        width, height = min(_WIDTH, area.width()), min(_HEIGHT, area.height() - Height.TOP_BAR)
        left = area.center().x() - width // 2
        self.setGeometry(QRect(left, Height.TOP_BAR + Space.S, width, height))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWindow):  # events arrive before there are parts that take keys
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and watched is not self._over:
            return watched in (self._parts.field, self._parts.filters.file, self._parts.list) and self._take_key(event)
        return super().eventFilter(watched, event)

    def _take_key(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._parts.list.choose()
            case Qt.Key.Key_Down:
                self._parts.list.step(1)
            case Qt.Key.Key_Up:
                self._parts.list.step(-1)
            case _:
                return False
        return True
