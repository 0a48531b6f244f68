"""Text that a user edits, and the exact bytes that it becomes. Untouched lines keep every byte."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from desktop_agent.core.base.regex import regex
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.text import BOM, Text, encode_lines, without_ending

_NOT_HELD = {"\r", "\0", "\u2028", "\u2029", "\ufdd0", "\ufdd1"}
"""Characters that Qt's text documents take for line breaks or for marks of their own."""
_STAND_INS = range(0xE000, 0xF900)


class EditedText:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._lines = text.lines
        content = "".join(without_ending(line) + "\n" for line in self._lines)
        self._has_bom = text.has_bom
        content = content.removeprefix(BOM)
        # In plain ASCII text, only two characters can be special. Collecting all characters would take 20 ms for 2 MB.
        used = {char for char in "\r\0" if char in content} if content.isascii() else set(content)
        free = (chr(code) for code in _STAND_INS if chr(code) not in used)
        special = sorted(char for char in used if char in _NOT_HELD or "\ud800" <= char <= "\udfff")
        self._stand_ins = dict(zip(special, free, strict=False))
        self._back = {ord(stand_in): char for char, stand_in in self._stand_ins.items()}
        if self._stand_ins:
            content = content.translate({ord(char): stand_in for char, stand_in in self._stand_ins.items()})
        self.shown = content if self._lines and text.ends_with_newline else content.removesuffix("\n")
        """The lines, each ended by a line feed, except for the last one if the file does not end with one."""

    def encoded(self, edited: str) -> bytes:
        """The lines of `edited` end with LF. Raises `UnicodeEncodeError`."""
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
        """An untouched line keeps its own ending, any other gets the usual one of the file."""
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


# Characters that Qt's documents change or drop: other line ends, frame marks, NUL, and halves of surrogate pairs (bytes
# that are not UTF-8). Their placeholders are private characters, which hardly any text has.
_UNHELD = regex("[\x00\r\u2028\u2029\ufdd0\ufdd1\ufeff\ud800-\udfff]")
_STAND_IN = regex("[\U000f0000-\U000fffff]")
_PLANE = 0xF0000


def editor_text(lines: Sequence[str], *, is_start: bool = True) -> str:
    """Return the text for an editor. `lines` have their endings. `is_start`: they begin the file."""
    text = "".join(lines)
    return _shown(text.removeprefix(BOM) if is_start else text)


def edited_lines(original: Sequence[str], edited: str) -> tuple[str, ...]:
    """Return the lines of the edited text. A new line ends like the one before it. A byte order mark is preserved."""
    has_mark = bool(original) and original[0].startswith(BOM)
    exact = [original[0].removeprefix(BOM), *original[1:]] if original else []
    shown = [_shown(line) for line in exact]
    lines = [line + "\n" for line in edited.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    result: list[str] = []
    at = 0
    for edit in find_edits(_utf8(shown), _utf8(lines)):
        result += exact[at : edit.old_start]
        ending = _ending_near(exact, edit.old_start)
        result += (_exact(line, ending) for line in lines[edit.new_start : edit.new_end])
        at = edit.old_end
    result += exact[at:]
    return (BOM + result[0], *result[1:]) if has_mark and result else tuple(result)


def encode_edited(original: Sequence[str], edited: str, encoding: str) -> bytes:
    return encode_lines(edited_lines(original, edited), encoding)


def _shown(text: str) -> str:
    return _UNHELD.sub(lambda match: chr(_PLANE + ord(match.group())), text.replace("\r\n", "\n"))


def _exact(line: str, ending: str) -> str:
    text = without_ending(line)
    restored = _STAND_IN.sub(_original_char, text)
    return restored + ending if line.endswith("\n") else restored


def _original_char(match: re.Match[str]) -> str:
    char = chr(ord(match.group()) - _PLANE)
    return char if _UNHELD.match(char) else match.group()


def _ending_near(lines: Sequence[str], at: int) -> str:
    for line in (*lines[max(0, at - 1) : at], *lines[at : at + 1]):
        if line.endswith("\n"):
            return "\r\n" if line.endswith("\r\n") else "\n"
    return "\n"


def _utf8(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("utf-8", "surrogatepass")
