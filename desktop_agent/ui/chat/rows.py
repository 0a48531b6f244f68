"""The entries of a transcript as rows with heights: exact for those that were on screen, estimated for the others."""

from typing import TYPE_CHECKING

from desktop_agent.ui.chat.heights import Heights
from desktop_agent.ui.chat.row import Row
from desktop_agent.ui.theme import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from desktop_agent.core.transcript import Entry, Patch
    from desktop_agent.ui.chat.text.styles import TextStyles

_FOLDED = 28
_CARD = 34
_CARD_WITH_OUTPUT = 200
_NOTICE = 76
_APPROVAL = 170
_LINE = 20
_BUBBLE = 18
_BLOCK_GAP = 8
_PROMPT_SHARE = 0.75


class Rows:
    """Rows and their heights, kept in step with the entries by patches. A height includes the gap below the row."""

    def __init__(self) -> None:
        self.heights = Heights()
        self._rows: list[Row] = []
        self._width = 0
        self._letter_width = 1.0

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Row:
        return self._rows[index]

    def reset(self, entries: "Sequence[Entry]") -> None:
        """Start anew with these entries."""
        self._rows = [Row(entry, index) for index, entry in enumerate(entries)]
        self.measure(self._width, None)

    def measure(self, width: int, styles: "TextStyles | None") -> None:
        """Estimate all heights for a new width or font."""
        self._width = width
        if styles is not None:
            self._letter_width = styles.text_width
        self.heights.replace(0, map(self.estimate, self._rows))

    def apply(self, entries: "Sequence[Entry]", patches: "Sequence[Patch]") -> list[Row]:
        """Follow these patches, after which the entries are `entries`. Return the rows that are no more."""
        if not entries:
            removed, self._rows = self._rows, []
            self.heights.replace(0, ())
            return removed
        removed: list[Row] = []
        added: list[Row] = []
        for patch in patches:
            match patch.kind:
                case "append":
                    added.append(Row(entries[-1], patch.index))
                    self._rows.append(added[-1])
                    self.heights.append(0)
                case "remove":
                    removed.append(self._rows.pop(patch.index))
                    self.heights.remove(patch.index)
                case "update" | "text" | "output":
                    self._rows[patch.index].is_dirty = True
                case "changes" | "status":
                    pass
        if removed:
            for index, row in enumerate(self._rows):
                row.index = index
        for row in added:
            if row.index < len(self._rows) and self._rows[row.index] is row:
                row.entry = entries[row.index]
                self.heights.set(row.index, self.estimate(row))
        return removed

    def estimate(self, row: Row) -> int:
        """Return about how high a row is, from nothing but the length of its text."""
        entry = row.entry
        match entry.kind:
            case "text":
                height = self._estimate_text(entry.text, self._width)
            case "thinking":
                height = _FOLDED + (self._estimate_text(entry.text, self._width) if row.is_unfolded else 0)
            case "prompt":
                height = _BUBBLE + self._estimate_text(entry.text, int(self._width * _PROMPT_SHARE))
            case "tool":
                is_long = bool(entry.output_tail) or (entry.result is not None and entry.result.is_error)
                height = _APPROVAL if entry.is_waiting else _CARD_WITH_OUTPUT if is_long else _CARD
            case "notice":
                height = _NOTICE
            case "undo" | "turn_end":
                height = _LINE
        return height + Space.ENTRY

    def _estimate_text(self, text: str, width: int) -> int:
        letters = max(20.0, width / self._letter_width)
        return int(len(text) / letters * _LINE) + text.count("\n") * _BLOCK_GAP + _LINE
