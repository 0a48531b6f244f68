"""The body of a search: what was found, file by file, each line leading to its place."""

from itertools import groupby

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.cards.body import Bar, ToolBody, entry_of
from desktop_agent.ui.chat.cards.content import Content, ContentWriter
from desktop_agent.ui.chat.cards.found import Found, found_in
from desktop_agent.ui.chat.row import Row
from desktop_agent.ui.chat.text.marks import LINK, MUTED, Mark, Tint

SHOWN_ROWS = 8
_WORTH_HIDING = 3
"""Fewer take hardly more room than the button that shows them."""
_ALL = "all"
_NUMBER_WIDTH = 5


class MatchesBody(ToolBody):
    """Places in files."""

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        # The cheap half first: this is asked of every call.
        return entry.result is not None and "matches" in entry.result.metadata and bool(found_in(entry.result))

    @classmethod
    def read(cls, row: Row) -> Content:
        places = _places(row)
        writer = ContentWriter()
        shown = places[: len(places) - _hidden(row)]
        for path, group in groupby(shown, key=lambda found: found.path):
            found = list(group)
            if found[0].line:
                writer.end_paragraph()
            writer.add(path, LINK, path)
            if found[0].times:
                writer.add(f"  {found[0].times}", MUTED)
            writer.end_line()
            for place in found:
                if place.line:
                    _write_line(writer, place)
        return writer.content(has_paragraphs=True)

    def bar(self) -> Bar | None:
        if _ALL in self.row.opened:
            return Bar("", self.tr("Show fewer"))
        hidden = _hidden(self.row)
        if not hidden:
            return None
        return Bar("", self.tr("Show {count} more").format(count=words.counted(hidden, "", "").strip()))

    def on_bar_clicked(self) -> None:
        self.row.opened ^= {_ALL}
        self.unfolded.emit()

    def follow(self, href: str) -> None:
        place = next((found for found in _places(self.row) if href in (place_name(found), found.path)), None)
        if place is not None:
            self.file_requested.emit(place.path, place.line if href != place.path else 0)


def place_name(found: Found) -> str:
    """Return a place as compilers write it: `src/app.py:12`."""
    return f"{found.path}:{found.line}" if found.line else found.path


def _write_line(writer: ContentWriter, place: Found) -> None:
    number = f"{place.line:>{_NUMBER_WIDTH}}  "
    line = number + place.text
    # One mark leads to the place, so that the keyboard stops once at each line.
    start = writer.at
    writer.add(line, Tint(), place_name(place))
    writer.mark(Mark(start, len(number), MUTED))
    writer.end_line()


def _hidden(row: Row) -> int:
    """How many places are not shown."""
    hidden = len(_places(row)) - SHOWN_ROWS
    return hidden if hidden >= _WORTH_HIDING and _ALL not in row.opened else 0


def _places(row: Row) -> tuple[Found, ...]:
    entry = entry_of(row)
    known = row.loaded.get("places")
    if isinstance(known, _Read) and known.result is entry.result:
        return known.places
    places = found_in(entry.result) if entry.result is not None else ()
    row.loaded["places"] = _Read(entry.result, places)
    return places


class _Read:
    """What was read of a result."""

    __slots__ = ("places", "result")

    def __init__(self, result: object, places: tuple[Found, ...]) -> None:
        self.result = result
        self.places = places
