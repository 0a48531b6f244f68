"""Unified diffs, from `git diff` or `diff -u`: several files, new, deleted, renamed and copied ones, and modes.

The format: git-diff, "Generating patch text with -p". Names are quoted as in C where they need it.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from desktop_agent.core.tools.patches.hunks import GIT_HEADER, is_diff_header, is_hunk_header, read_hunk
from desktop_agent.core.tools.patches.model import FilePatch, PatchError, PatchHunk

BINARY = "binary patches are not supported"

_NOWHERE = "/dev/null"
_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\abtnvfr])')
_ESCAPED = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_STAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")


def read_diff(lines: Sequence[str]) -> list[FilePatch]:
    """Return what the diff does to each file. What stands before and between the files is not looked at."""
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if is_diff_header(lines, at):
            patch, at = _Part(lines).read(at)
            patches.append(patch)
        else:
            at += 1
    return patches


class _Part(Struct):
    """The part of one file while it is read."""

    lines: Sequence[str]
    git_paths: tuple[str, str] | None = None
    named: dict[str, str] = field(default_factory=dict[str, str])
    """What the header lines say, by their first words."""
    hunks: list[PatchHunk] = field(default_factory=list[PatchHunk])

    def read(self, at: int) -> tuple[FilePatch, int]:
        """Read the part that begins at line `at`; return it and the index of the line after it."""
        if self.lines[at].startswith(GIT_HEADER):
            self.git_paths = _git_paths(self.lines[at].rstrip("\r").removeprefix(GIT_HEADER))
            at += 1
        while at < len(self.lines):
            line = self.lines[at].rstrip("\r")
            if is_hunk_header(line):
                hunk, at = read_hunk(self.lines, at)
                self.hunks.append(hunk)
                continue
            if line.startswith(GIT_HEADER) or (self.hunks and is_diff_header(self.lines, at)):
                break
            if line.startswith(("GIT binary patch", "Binary files ")):
                raise PatchError(BINARY)
            key = next((key for key in _HEADERS if line.startswith(f"{key} ")), None)
            if key is not None and not self.hunks:
                self.named[key] = line.removeprefix(f"{key} ")
            at += 1
        return self._patch(), at

    def _patch(self) -> FilePatch:
        mode = self.named.get("new file mode") or self.named.get("new mode")
        if mode is not None and not mode.startswith("100"):
            raise PatchError(f"files of mode {mode} (symlinks and submodules) are not supported; use run_terminal_cmd")
        old, new = self._names()
        source = self.named.get("rename from") or self.named.get("copy from")
        target = self.named.get("rename to") or self.named.get("copy to")
        if old == _NOWHERE or "new file mode" in self.named:
            action = "Add"
        elif new == _NOWHERE or "deleted file mode" in self.named:
            action = "Delete"
        else:
            action = "Update"
        if source is not None and target is not None:
            paths: tuple[str, ...] = (_unquoted(target),)
        else:
            paths = _paths(old, new)
        return FilePatch(
            action=action,
            paths=paths,
            hunks=tuple(self.hunks),
            source_path=None if source is None else _unquoted(source),
            is_copy="copy from" in self.named,
            is_executable=None if mode is None else int(mode, 8) & 0o111 != 0,
        )

    def _names(self) -> tuple[str, str]:
        if "---" in self.named and "+++" in self.named:
            return _name(self.named["---"]), _name(self.named["+++"])
        if self.git_paths is not None:
            return self.git_paths
        if "rename to" in self.named or "copy to" in self.named:
            return "", ""
        raise PatchError("a 'diff --git' header names no file that can be read; add '--- a/path' and '+++ b/path'")


_HEADERS = (
    *("---", "+++", "rename from", "rename to", "copy from", "copy to"),
    *("new file mode", "deleted file mode", "new mode"),
)


def _paths(old: str, new: str) -> tuple[str, ...]:
    """Return what the file may be called: with git's prefixes taken off where both sides have them, and as it says."""
    sides = [side for side in (new, old) if side != _NOWHERE]
    prefixes = {new: "b/", old: "a/"}
    is_prefixed = all(side.startswith(prefixes[side]) for side in sides) and new != old
    plain = [side[2:] for side in sides] if is_prefixed else []
    return tuple(dict.fromkeys([*plain, *sides]))


def _git_paths(text: str) -> tuple[str, str] | None:
    """Split the two names of a `diff --git` line, which are the same but for their prefixes; None if they are not."""
    if text.startswith('"') and (first := _QUOTED.match(text)):
        return _unquoted(first[0]), _unquoted(text[first.end() :].strip())
    if text.endswith('"') and (last := re.search(r' ("(?:[^"\\]|\\.)*")$', text)):
        return text[: last.start()], _unquoted(last[1])
    middle = len(text) // 2
    old, new = text[:middle], text[middle + 1 :]
    is_same = text[middle : middle + 1] == " " and (old == new or (old[:2], new[:2], old[2:]) == ("a/", "b/", new[2:]))
    return (old, new) if is_same else None


def _name(text: str) -> str:
    """Return the name in a `---` or `+++` line, without the time that may follow it."""
    if quoted := _QUOTED.match(text):
        return _unquoted(quoted[0])
    return _STAMP.sub("", text).rstrip()


def _unquoted(text: str) -> str:
    """Undo C-style quotes; a name without quotes is returned as it is."""
    quoted = _QUOTED.fullmatch(text.strip())
    if quoted is None:
        return text

    def plain(match: re.Match[bytes]) -> bytes:
        return bytes([_ESCAPED[match[1]] if match[1] in _ESCAPED else int(match[1], 8) & 0xFF])

    return _ESCAPE.sub(plain, quoted[1].encode()).decode("utf-8", "surrogateescape")
