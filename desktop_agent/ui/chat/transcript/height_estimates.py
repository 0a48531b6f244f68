"""Estimated heights of rows that were never on screen."""

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Steered
from desktop_agent.core.transcript import (
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
)
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space

_FOLDED = 28
_CARD = 34
_CARD_WITH_OUTPUT = 200
_NOTICE = 76
_APPROVAL = 170
_QUESTION = 90
_LINE = 20
_DIFF_LINE = 18
_DIFF_LINES = 12
_PICTURE = 280
_BUBBLE = 18
_BLOCK_GAP = 8
_PROMPT_SHARE = 0.75
_LEAST_ENTRIES = 4


class HeightEstimates:
    """An estimated height includes the gap below the row."""

    def __init__(self) -> None:
        self.width = 0
        self._letter_width = 1.0
        self._gap = Space.ENTRY

    def use(self, width: int, styles: TextStyles | None) -> None:
        self.width = width
        if styles is not None:
            self._letter_width = styles.text_width
            self._gap = styles.entry_gap

    def of(self, row: EntryRow) -> int:
        entry = row.entry
        if isinstance(entry, PageEntry):  # a long session has thousands
            if not row.height_hint:
                lines = int(entry.characters / self._letters_in(self.width) * _LINE)
                row.height_hint = lines + max(_LEAST_ENTRIES, entry.entries) * (_LINE + self._gap)
            return row.height_hint
        match entry:
            case TextEntry(kind="text"):
                height = self._estimate_text(entry.text, self.width)
            case TextEntry():
                height = _FOLDED + (self._estimate_text(entry.text, self.width) if row.is_unfolded else 0)
            case PromptSubmitted() | Steered():
                height = _BUBBLE + self._estimate_text(entry.text, int(self.width * _PROMPT_SHARE))
            case ToolEntry():
                height = _estimate_card(row, entry)
            case SpendingEntry():
                height = _QUESTION if entry.is_waiting else _LINE
            case NoticeEntry():
                height = _NOTICE
            case CommandRun():
                height = _LINE + self._estimate_text(entry.output, self.width)
            case _:
                height = _LINE
        return height + self._gap

    def _estimate_text(self, text: str, width: int) -> int:
        return int(len(text) / self._letters_in(width) * _LINE) + text.count("\n") * _BLOCK_GAP + _LINE

    def _letters_in(self, width: int) -> float:
        return max(20.0, width / self._letter_width)


def _estimate_card(row: EntryRow, entry: ToolEntry) -> int:
    if entry.is_waiting:
        return _APPROVAL
    if row.is_unfolded is False:
        return _CARD
    result = entry.result
    if result is not None and result.images:
        return _PICTURE
    if entry.output_tail or (result is not None and result.is_error):
        return _CARD_WITH_OUTPUT
    changed = sum(change.added + change.removed for change in entry.changes[:1])
    return _CARD + min(_DIFF_LINES, changed + 4) * _DIFF_LINE + Space.L if changed else _CARD
