"""A whole file that a user edits, and the exact bytes that come of it.

A field for text knows lines and nothing of how they end, and cannot hold some characters at all. So those are stood in
for while they are edited, and every line that was not touched ends as it did before. `edited_lines` does the same for a
part of a file, where nothing may depend on what the rest of it holds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.text import BOM, Text, without_ending

_NOT_HELD = {"\r", "\0", "\u2028", "\u2029", "\ufdd0", "\ufdd1"}
"""A text document takes these for line breaks or for marks of its own."""
_STAND_INS = range(0xE000, 0xF900)
"""The private use area: which of them the file has itself is known, so the others are free."""


class EditedText:
    """A file's text while it is edited: `shown` goes into a field, `encoded` turns what is there then into bytes."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._lines = text.lines
        content = "".join(without_ending(line) + "\n" for line in self._lines)
        self._has_bom = text.has_bom
        content = content.removeprefix(BOM)
        # Of plain ASCII, most files, not every character has to be looked at: that would take 20 ms of 2 MB.
        used = {char for char in "\r\0" if char in content} if content.isascii() else set(content)
        free = (chr(code) for code in _STAND_INS if chr(code) not in used)
        special = sorted(char for char in used if char in _NOT_HELD or "\ud800" <= char <= "\udfff")
        self._stand_ins = dict(zip(special, free, strict=False))
        self._back = {ord(stand_in): char for char, stand_in in self._stand_ins.items()}
        if self._stand_ins:
            content = content.translate({ord(char): stand_in for char, stand_in in self._stand_ins.items()})
        self.shown = content if self._lines and text.ends_with_newline else content.removesuffix("\n")
        """The lines, each ended by a line feed, but for the last one if the file's last line is not."""

    def encoded(self, edited: str) -> bytes:
        """Return the bytes of the file with this text in it, which has `\\n` between its lines.

        Raises `UnicodeEncodeError` when the file's encoding cannot hold it.
        """
        if edited == self.shown:
            return self._text.encoded()
        contents = edited.split("\n")
        last = contents.pop()
        lines = [line + ending for line, ending in zip(contents, self._endings(edited), strict=False)]
        content = "".join((*lines, last)).translate(self._back)
        if self._has_bom:
            content = BOM + content
        return Text(content, self._text.encoding).encoded()

    def _endings(self, edited: str) -> Sequence[str]:
        """How each edited line ends: as it did when it was not touched, else as most lines do."""
        kinds = Counter(_ending(line) for line in self._lines if line.endswith("\n"))
        usual = kinds.most_common(1)[0][0] if kinds else "\n"
        count = edited.count("\n")
        if len(kinds) < 2:
            return [usual] * count
        return list(self._aligned(edited, usual))

    def _aligned(self, edited: str, usual: str) -> Iterator[str]:
        endings = [_ending(line) if line.endswith("\n") else usual for line in self._lines]
        before, after = self.shown.encode("utf-8"), edited.encode("utf-8", "surrogatepass")
        old_at = 0
        for edit in find_edits(before, after):
            yield from endings[old_at : edit.old_start]
            size = edit.new_end - edit.new_start
            yield from (endings[edit.old_start : edit.old_end] + [usual] * size)[:size]
            old_at = edit.old_end
        yield from endings[old_at:]
        yield usual


def _ending(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n"
