"""The body of a search: what was found, file by file, each line leading to its place."""

from itertools import groupby
from typing import NamedTuple

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.body import Bar, ToolBody, entry_of
from desktop_agent.ui.chat.cards.content import Content, ContentWriter
from desktop_agent.ui.chat.cards.found import FoundPlace, count_found, found_in
from desktop_agent.ui.chat.text.styles import LINK_TINT, MUTED_TINT, TextMark, Tint
from desktop_agent.ui.chat.transcript.row_state import RowState

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
        return entry.result is not None and "matches" in entry.result.metadata and count_found(entry.result) > 0

    @classmethod
    def read(cls, row: RowState) -> Content:
        writer = ContentWriter()
        for path, group in groupby(_places(row).shown, key=lambda found: found.path):
            found = list(group)
            if found[0].line:
                writer.end_paragraph()
            writer.add(path, LINK_TINT, path)
            if found[0].times:
                writer.add(f"  {found[0].times}", MUTED_TINT)
            writer.end_line()
            for place in found:
                if place.line:
                    _write_line(writer, place)
        return writer.content(has_paragraphs=True)

    def bar(self) -> Bar | None:
        if _ALL in self.row.opened:
            return Bar("", self.tr("Show fewer"))
        hidden = _places(self.row).hidden
        if not hidden:
            return None
        return Bar("", entry_words.counted(hidden, "Show %n more", "Show %n more"))

    def on_bar_clicked(self) -> None:
        self.row.opened ^= {_ALL}
        self.unfolded.emit()

    def follow(self, href: str) -> None:
        place = next((found for found in _places(self.row).shown if href in (place_name(found), found.path)), None)
        if place is not None:
            self.actions.file_requested.emit(place.path, place.line if href != place.path else 0)


def place_name(found: FoundPlace) -> str:
    """Return a place as compilers write it: `src/app.py:12`."""
    return f"{found.path}:{found.line}" if found.line else found.path


def _write_line(writer: ContentWriter, place: FoundPlace) -> None:
    number = f"{place.line:>{_NUMBER_WIDTH}}  "
    line = number + place.text
    # One mark leads to the place, so that the keyboard stops once at each line.
    start = writer.at
    writer.add(line, Tint(), place_name(place))
    writer.mark(TextMark(start, len(number), MUTED_TINT))
    writer.end_line()


def _places(row: RowState) -> "_Read":
    """Read what is shown of the places, once: there may be a thousand more."""
    result, is_all = entry_of(row).result, _ALL in row.opened
    known = row.loaded.get("places")
    if isinstance(known, _Read) and known.result is result and known.is_all == is_all:
        return known
    total = count_found(result) if result is not None else 0
    hidden = total - SHOWN_ROWS if not is_all and total - SHOWN_ROWS >= _WORTH_HIDING else 0
    shown = found_in(result, total - hidden) if result is not None else ()
    read = row.loaded["places"] = _Read(result, is_all, hidden, shown)
    return read


class _Read(NamedTuple):
    """What was read of a result."""

    result: object
    is_all: bool
    hidden: int
    """How many places are not shown."""
    shown: tuple[FoundPlace, ...]
