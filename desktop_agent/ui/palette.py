"""The command palette: entries, those that match a typed text, best first, and the popup that lists them.

Finding is pure and can run in a thread.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import islice
from typing import Final, Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QModelIndex, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.matching import Span, find_matches
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.ui.part_keys import PLACE_KEYS, PlaceKey, native_keys, place_text, place_title
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, set_names, vbox
from desktop_agent.ui.widgets.popup import ChoiceModel, FilterPopup
from desktop_agent.ui.widgets.rows import (
    RIGHT,
    AnyIndex,
    ModelDelegate,
    draw_emphasised,
    draw_ground,
    draw_line,
    spans_within,
)

_tr = partial(QCoreApplication.translate, "Palette")

EntryKind = Literal["action", "setting", "command", "session", "file", "key"]

Scope = Literal["all", "action", "setting", "command", "session", "file", "key"]

PREFIXES: Final[Mapping[str, Scope]] = {">": "action", "@": "session", "/": "command", ",": "setting", "?": "key"}


class PaletteEntry(Struct, frozen=True, kw_only=True):
    kind: EntryKind
    key: str
    """What identifies it for the application: the name of an action, command or setting, a session's id, or a path."""
    title: str
    group: str = ""
    """A text shown after the title: the folder of a file or session, the section of a setting, what a command does."""
    also: str = ""
    keys: str = ""
    is_choice: bool = True


class PaletteQuery(Struct, frozen=True):
    scope: Scope
    text: str


class PaletteRow(Struct, frozen=True, kw_only=True):
    text: str = ""
    is_note: bool = False
    entry: PaletteEntry | None = None
    title_spans: tuple[Span, ...] = ()
    group_spans: tuple[Span, ...] = ()
    has_group: bool = True

    @property
    def is_choice(self) -> bool:
        return self.entry is not None and self.entry.is_choice


def query_of(typed: str, base: Scope) -> PaletteQuery:
    scope = PREFIXES.get(typed[:1])
    return PaletteQuery(base, typed.strip()) if scope is None else PaletteQuery(scope, typed[1:].strip())


_MOST: Final = 100
_MOST_BESIDE_OTHERS: Final = {"action": 6, "setting": 5, "command": 4, "session": 5, "file": 8, "key": 0}
_MOST_RECENT: Final = 6
_MOST_CONSIDERED: Final = 400

Recent = tuple[EntryKind, str]


class PaletteSources(Struct, frozen=True, kw_only=True):
    actions: tuple[PaletteEntry, ...] = ()
    settings: tuple[PaletteEntry, ...] = ()
    commands: tuple[PaletteEntry, ...] = ()
    sessions: tuple[PaletteEntry, ...] = ()
    keys: tuple[PaletteEntry, ...] = ()
    files: FolderPaths | None = None
    has_folder: bool = True
    recent: tuple[Recent, ...] = ()

    def of(self, kind: EntryKind) -> tuple[PaletteEntry, ...]:
        """Return the entries of a kind; empty for files, because there are too many to make an entry for each."""
        return {
            "action": self.actions, "setting": self.settings, "command": self.commands, "session": self.sessions,
            "key": self.keys, "file": (),
        }[kind]  # fmt: skip


class _Found(Struct, frozen=True):
    row: PaletteRow
    tier: int
    """How well it matches. 0: all typed words are in the title; 1: some are in other text; 2: only letters match."""


def rows_for(query: PaletteQuery, sources: PaletteSources) -> tuple[PaletteRow, ...]:
    if query.scope == "all":
        rows = _all_found(query.text, sources) if query.text else _offered("action", sources.recent, sources)
    elif query.text:
        rows = [found.row for found in _found(query.scope, query.text, sources, _MOST)]
    elif query.scope == "key":
        rows = list(_by_group(sources.keys))
    else:
        rows = _offered(query.scope, [each for each in sources.recent if each[0] == query.scope], sources)
    return tuple(rows) or (_nothing(query, sources),)


def _all_found(text: str, sources: PaletteSources) -> list[PaletteRow]:
    """Return the matches of every kind, best kind first. Scattered letters count only if no words match."""
    kinds: tuple[EntryKind, ...] = ("action", "setting", "command", "session", "file")
    by_kind: dict[EntryKind, list[_Found]] = {
        kind: _found(kind, text, sources, _MOST_BESIDE_OTHERS[kind]) for kind in kinds
    }
    best: dict[EntryKind, int] = {kind: min(each.tier for each in found) for kind, found in by_kind.items() if found}
    has_words = min(best.values(), default=2) < 2
    rows: list[PaletteRow] = []
    for kind in sorted(best, key=best.__getitem__):
        found = [each.row for each in by_kind[kind] if each.tier < 2 or not has_words]
        if found:
            rows += [PaletteRow(text=_heading(kind)), *found]
    return rows


def _offered(kind: EntryKind, recent: Iterable[Recent], sources: PaletteSources) -> list[PaletteRow]:
    known = (_entry_of(used, key, sources) for used, key in recent)
    used = list(islice((entry for entry in known if entry is not None), _MOST_RECENT))
    rest = [PaletteRow(entry=entry) for entry in _listed(kind, sources) if entry not in used]
    if not used:
        return rest
    rows = [PaletteRow(text=_tr("Recently used")), *(PaletteRow(entry=entry) for entry in used)]
    return [*rows, PaletteRow(text=_heading(kind)), *rest] if rest else rows


def _listed(kind: EntryKind, sources: PaletteSources) -> Iterable[PaletteEntry]:
    if kind == "file":
        offers = sources.files.offers("", _MOST_CONSIDERED) if sources.files is not None else ()
        return [_file_entry(offer.label) for offer in offers if offer.kind == "file"][:_MOST]
    return sources.of(kind)[:_MOST]


def _entry_of(kind: EntryKind, key: str, sources: PaletteSources) -> PaletteEntry | None:
    if kind == "file":
        return _file_entry(key) if sources.files is not None and key in sources.files.files else None
    return next((entry for entry in sources.of(kind) if entry.key == key), None)


def _by_group(entries: Iterable[PaletteEntry]) -> Iterator[PaletteRow]:
    group = ""
    for entry in entries:
        if entry.group != group:
            group = entry.group
            yield PaletteRow(text=group)
        yield PaletteRow(entry=entry, has_group=False)


def _found(kind: EntryKind, text: str, sources: PaletteSources, limit: int) -> list[_Found]:
    if kind == "file":
        return list(islice(_found_files(text, sources.files, limit), limit))
    recent = {key: place for place, (known, key) in enumerate(sources.recent) if known == kind}
    found = _found_entries(text, sources.of(kind))

    def order(each: _Found) -> tuple[int, int]:
        key = each.row.entry.key if each.row.entry is not None else ""
        return each.tier, recent.get(key, len(recent)) if each.tier == 0 else 0

    return sorted(found, key=order)[:limit]


def _found_entries(text: str, entries: Sequence[PaletteEntry]) -> Iterator[_Found]:
    by_name: dict[str, list[PaletteEntry]] = {}
    for entry in entries:
        # the title comes last, because the ranker prefers the end of a path
        by_name.setdefault("/".join(filter(None, (entry.also, entry.group, entry.title))), []).append(entry)
    words = text.lower().split()
    for match in find_matches(tuple(by_name), text, limit=_MOST_CONSIDERED).best:
        for entry in by_name[match.text]:
            title_at = len(match.text) - len(entry.title)
            start = len(entry.also) + 1 if entry.also else 0
            title = spans_within(match.spans, title_at, len(match.text))
            group = spans_within(match.spans, start, start + len(entry.group))
            if all(word in match.text.lower() for word in words):
                tier = 0 if all(word in entry.title.lower() for word in words) else 1
            elif match.spans and match.spans[0][0] >= title_at:
                tier = 2
            else:
                continue  # scattered letters, some of them not visible
            yield _Found(PaletteRow(entry=entry, title_spans=title, group_spans=group), tier)


def _found_files(text: str, files: FolderPaths | None, limit: int) -> Iterator[_Found]:
    if files is None:
        return
    for offer in files.offers(text, limit + _MOST_BESIDE_OTHERS["file"]):
        if offer.kind == "file":
            entry = _file_entry(offer.label)
            at = len(offer.label) - len(entry.title)
            title = spans_within(offer.spans, at, len(offer.label))
            group = spans_within(offer.spans, 0, len(entry.group))
            tier = 2 if not offer.is_close else 0 if title else 1
            yield _Found(PaletteRow(entry=entry, title_spans=title, group_spans=group), tier)


def _file_entry(path: str) -> PaletteEntry:
    folder, _, name = path.rpartition("/")
    return PaletteEntry(kind="file", key=path, title=name, group=folder)


def _nothing(query: PaletteQuery, sources: PaletteSources) -> PaletteRow:
    if query.scope == "file" and not sources.has_folder:
        return PaletteRow(text=_tr("Open a folder to go to one of its files."), is_note=True)
    if query.scope in ("file", "all") and sources.has_folder and sources.files is None:
        return PaletteRow(text=_tr("The files of the folder are being listed…"), is_note=True)
    return PaletteRow(text=_tr("Nothing matches. Try fewer letters."), is_note=True)


def _heading(kind: EntryKind) -> str:
    words = {
        "action": _tr("Actions"),
        "setting": _tr("Settings"),
        "command": _tr("Commands"),
        "session": _tr("Sessions"),
        "file": _tr("Files"),
        "key": _tr("Keys"),
    }
    return words[kind]


def place_key_entries(in_force: Mapping[str, tuple[str, ...]]) -> tuple[PaletteEntry, ...]:
    shown = ((each, in_force.get(each.name, each.keys)) for each in PLACE_KEYS)
    return tuple(_entry(each, keys) for each, keys in shown if keys)


def _entry(key: PlaceKey, keys: tuple[str, ...]) -> PaletteEntry:
    return PaletteEntry(
        kind="key",
        key=f"{key.place} {keys[0]}",
        title=place_text(key),
        group=place_title(key.place),
        also=" ".join(keys),
        keys="  ".join(map(native_keys, keys)),
        is_choice=False,
    )


class PaletteRows(ChoiceModel[PaletteRow]):
    def is_choice(self, row: PaletteRow) -> bool:
        return row.is_choice

    def text(self, row: PaletteRow) -> str:
        return row.entry.title if row.entry is not None else row.text

    def words(self, row: PaletteRow) -> list[str]:
        if row.entry is None:
            return [row.text]
        return [text for text in (row.entry.title, row.entry.group, row.entry.keys) if text]


_LEAST_GROUP = 24.0


class PaletteDelegate(ModelDelegate[ChoiceModel[PaletteRow]]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.rows[index.row()]
        rect = QRectF(option.rect)
        if row.entry is not None:
            muted = self.theme.colour("muted")
            colour = self.theme.colour("text")
            if row.entry.is_choice:
                colour = draw_ground(painter, self.theme, option, self.ring)
            area = rect.adjusted(Space.S, 0, -Space.S, 0)
            if row.entry.keys:
                font = self.theme.code_font(TypeSize.HEAD)
                draw_line(painter, area, row.entry.keys, font, muted, RIGHT)
                area.setRight(area.right() - QFontMetricsF(font).horizontalAdvance(row.entry.keys) - Space.M)
            area.setLeft(
                area.left()
                + draw_emphasised(painter, self.theme, area, row.entry.title, row.title_spans, colour, self.text_font)
                + Space.S
            )
            if row.has_group and area.width() > _LEAST_GROUP:
                mode = Qt.TextElideMode.ElideMiddle if row.entry.kind == "file" else Qt.TextElideMode.ElideRight
                shown = QFontMetricsF(self.small_font).elidedText(row.entry.group, mode, area.width())
                spans = row.group_spans if shown == row.entry.group else ()
                draw_emphasised(painter, self.theme, area, shown, spans, muted, self.small_font)
        else:
            font = self.text_font if row.is_note else self.small_strong_font
            at = rect.adjusted(Space.S, 0 if row.is_note else Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, font, self.theme.colour("muted"))


_WIDTH = 640
_MOST_ROWS = 14
_LEAST_ROWS = 3
_MARGIN = 24


class CommandPalette(FilterPopup[PaletteRow]):
    wanted = Signal(object)  # a `PaletteQuery`, to be answered by `show_rows`
    chosen = Signal(object)  # a `PaletteEntry`; the focus has returned to its widget by then

    def __init__(self, theme: Theme, over: QWidget, button: QWidget | None = None) -> None:
        super().__init__(theme, over, button, PaletteRows(), QListView(), page_rows=10)
        set_names(self, "commandPalette", self.tr("Command palette"))
        self._base: Scope = "all"
        self._shown: PaletteQuery | None = None
        self._is_choosing = False
        """Whether Enter was pressed before the rows arrived. Then the current row is chosen as soon as they do."""
        set_names(self._field, "paletteField", self.tr("Command palette"))
        set_names(self._list, "paletteList", self.tr("Matches"))
        self._list.setItemDelegate(PaletteDelegate(self._model, theme, self._ring, self._list))
        self._list.clicked.connect(self._choose)
        self._hint = make_label(self._hint_words(), role="secondary", parent=self)
        self._hint.setContentsMargins(Space.S, 0, Space.S, 0)
        margins = (Space.S, Space.S, Space.S, Space.S)
        vbox(self._field, (self._list, 1), hairline(), self._hint, on=self, margins=margins, spacing=Space.S)

    def made_ready(self) -> Iterator[None]:
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            yield
        self._place()

    @property
    def query(self) -> PaletteQuery:
        return query_of(self._field.text(), self._base)

    def open_palette(self, base: Scope) -> None:
        if self.isVisible() and self._base == base:
            self.close_popup()
            return
        self._begin()
        self._base = base
        self._shown = None
        self._type("")
        everything = self.tr("Search actions, settings, commands, sessions and files")
        self._field.setPlaceholderText(self.tr("Go to a file by parts of its path") if base == "file" else everything)
        self._model.show(())
        self._on_text()  # before it is shown: listed entries appear at once, and the popup gets their height
        self.open_popup()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)  # for a shortcut, a field would select its text

    def close_popup(self) -> None:
        self._is_choosing = False
        super().close_popup()

    def show_rows(self, query: PaletteQuery, rows: tuple[PaletteRow, ...]) -> None:
        """Outdated queries are ignored. New rows for the same query keep the chosen row."""
        if not self.is_open or query != self.query or (query == self._shown and self._model.rows == rows):
            return
        current = self._current_row
        entry = current.entry if query == self._shown and current is not None else None
        self._shown = query
        self._model.show(rows)
        same = next((place for place, row in enumerate(rows) if entry is not None and row.entry == entry), None)
        self._list.setCurrentIndex(self._model.index(same) if same is not None else self._model.step_from(-1, 1))
        if same is None:
            self._list.scrollToTop()
        self._place()
        if self._is_choosing:
            self._is_choosing = False
            self._choose(self._list.currentIndex())

    def _hint_words(self) -> str:
        kinds = {
            ">": self.tr("actions"),
            "@": self.tr("sessions"),
            "/": self.tr("commands"),
            ",": self.tr("settings"),
            "?": self.tr("keys"),
        }
        signs = "&nbsp;&nbsp; ".join(f"<b>{escape(sign)}</b> {kinds[sign]}" for sign in PREFIXES)
        return self.tr("Begin with {0}").format(f"&nbsp;{signs}")

    def _on_text(self) -> None:
        self._is_choosing = False
        self.wanted.emit(self.query)

    def _choose(self, index: QModelIndex) -> None:
        row = self._model.rows[index.row()] if index.isValid() else None
        if row is not None and row.is_choice:
            self.close_popup()
            self.chosen.emit(row.entry)

    def _on_enter(self) -> None:
        if self._shown == self.query:
            self._choose(self._list.currentIndex())
        else:
            self._is_choosing = True

    def _take_key(self, event: QKeyEvent) -> bool:
        is_taken = super()._take_key(event)
        if is_taken and self._list.currentIndex().row() == 1:
            self._list.scrollToTop()  # its heading comes into sight, too
        return is_taken

    def _place(self) -> None:
        area = self._over.rect().adjusted(_MARGIN, Height.TOP_BAR + Space.S, -_MARGIN, -_MARGIN)
        rows = max(_LEAST_ROWS, min(self._model.rowCount(), _MOST_ROWS))
        chrome = self._field.sizeHint().height() + self._hint.sizeHint().height() + 1 + 5 * Space.S + 2
        width = min(_WIDTH, area.width())
        left = area.left() + (area.width() - width) // 2
        self.setGeometry(QRect(left, area.top(), width, min(rows * Height.LIST_ROW + chrome, area.height())))
