"""How text is shown: untrusted text without characters that hide or reorder others; modes, times, places in words."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

from desktop_agent.core.base.plain_text import (
    HIDDEN,
    HIDING,
    MOST_BLANKS,
    MOST_SHOWN_CHARS,
    has_hidden,
    is_hiding,
    name_of,
    named,
)
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import ApprovalPolicy, CacheMiss, CacheMissReason, Flaw, SandboxMode
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui.translation import plural

_FOUND = regex(rf"(?P<blanks> {{{MOST_BLANKS},}}|\t{{{MOST_BLANKS // 5},}})|(?P<hidden>{HIDING.pattern})")


class TextPiece(NamedTuple):
    shown: str
    original: str
    is_cut: bool = False

    @property
    def is_stand_in(self) -> bool:
        return self.shown != self.original


def pieces(text: str) -> Iterator[TextPiece]:
    """Split `text` into pieces: names for invisible characters, counts for long blanks, a note for the cut end."""
    head, rest = text[:MOST_SHOWN_CHARS], text[MOST_SHOWN_CHARS:]
    at = 0
    for match in _FOUND.finditer(head):
        original = match[0]
        if original in "\n\t":
            continue
        if match.start() > at:
            yield TextPiece(head[at : match.start()], head[at : match.start()])
        yield TextPiece(_shown(original), original)
        at = match.end()
    if at < len(head):
        yield TextPiece(head[at:], head[at:])
    if rest:
        yield TextPiece(f"·What follows these {len(head):,} characters is not shown·", rest, is_cut=True)


def _shown(original: str) -> str:
    if len(original) == 1:
        return name_of(original)
    return f"·{len(original):,} {'spaces' if original[0] == ' ' else 'tabs'}·"


MAX_DRAWN_CHARS = 5_000
"""How much of a line is drawn, because shaping a line of a million characters takes half a second."""
TAB_WIDTH = 4

_BOM = "\ufeff"
_NEEDS_MAP = regex(rf"[{HIDDEN}\u200c\u200d\U00010000-\U0010ffff]")

_PLAIN = bytes(range(0x20, 0x7F))


class VisibleLine(NamedTuple):
    """A shown line. Positions count UTF-16 units of `text`, offsets characters. Between breaks, both grow alike."""

    text: str
    cut_chars: int = 0
    break_offsets: tuple[int, ...] = (0,)
    break_positions: tuple[int, ...] = (0,)

    def position(self, offset: int) -> int:
        at = bisect_right(self.break_offsets, offset) - 1
        return self.break_positions[at] + offset - self.break_offsets[at]

    def offset(self, position: int) -> int:
        """Return the offset of the character drawn at `position`, also for positions within a character's name."""
        at = bisect_right(self.break_positions, position) - 1
        offset = self.break_offsets[at] + position - self.break_positions[at]
        is_last = at + 1 == len(self.break_offsets)
        return offset if is_last else min(offset, max(self.break_offsets[at], self.break_offsets[at + 1] - 1))


def visible_line(line: str, *, is_first: bool = False) -> VisibleLine:
    """`line` has no ending. A byte order mark is shown unless it begins the first line."""
    cut_chars = max(0, len(line) - MAX_DRAWN_CHARS)
    drawn = line[:MAX_DRAWN_CHARS]
    if _is_plain(drawn) or not _NEEDS_MAP.search(drawn):
        return VisibleLine(drawn, cut_chars)
    pieces: list[str] = []
    offsets, positions = [0], [0]
    at = position = column = 0
    for match in _NEEDS_MAP.finditer(drawn):
        char, start = match.group(), match.start()
        is_mark = char == _BOM and start == 0 and is_first
        piece = "" if is_mark else _drawn(char, drawn, start, column + start - at)
        pieces += (drawn[at:start], piece)
        column += start - at + len(piece)
        position += start - at
        offsets += (start, start + 1)
        positions += (position, position := position + utf16_length(piece))
        at = start + 1
    pieces.append(drawn[at:])
    return VisibleLine("".join(pieces), cut_chars, tuple(offsets), tuple(positions))


def _is_plain(text: str) -> bool:
    """Whether `text` is printable ASCII. `isprintable` takes five times as long: 1.6 ms for a page of long lines."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _drawn(char: str, line: str, index: int, column: int) -> str:
    if char == "\t":
        return " " * (TAB_WIDTH - column % TAB_WIDTH)
    return name_of(char) if is_hiding(line, index, is_content=True) else char


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def index_of(text: str, position: int) -> int:
    """Convert a position of Qt, which counts UTF-16 code units, to an index in `text`."""
    if text.isascii():
        return position
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * position].decode("utf-16-le", "surrogatepass"))


def encoding_name(encoding: str) -> str:
    return re.sub("^(UTF-16)-", r"\1 ", encoding.upper())


def lowered(text: str) -> str:
    """Return `text` in lower case but of the same length: a capital that would become two characters stays."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_MOST_SHOWN_CHARS = 600
"""How much of a line with hidden characters a note repeats. More is not needed, as the command is shown above."""
_BLANKS = regex(r" {9,}")


def visible(text: str) -> str:
    """Name characters that are invisible or reorder others. A note replaces the end of a very long line."""
    return "\n".join(map(_visible_line, text.split("\n")))


def one_line(text: str) -> str:
    return " ⏎ ".join(visible(text).split("\n"))


def explained(explanation: str, subagent: str = "") -> str:
    """Return who asks, if a sub-agent does, and the model's explanation of a call, marked as the model's words."""
    words = " ".join(explanation.split())
    asks = QCoreApplication.translate("ApprovalRequest", "The sub-agent “{0}” asks.").format(_cut(visible(subagent)))
    says = QCoreApplication.translate("ApprovalRequest", "The agent says: {0}").format(_cut(visible(words)))
    return " ".join([*([asks] if subagent else ()), *([says] if words else ())])


def hidden_text_risks(command: str) -> list[str]:
    hidden = [_cut(_visible_line(line)) for line in command.split("\n") if has_hidden(line)]
    text = QCoreApplication.translate("ApprovalRequest", "The command contains invisible characters. It really is: {0}")
    return [text.format(_cut(" ⏎ ".join(hidden)))] if hidden else []


def _visible_line(line: str) -> str:
    if line.isascii() and line.isprintable() and len(line) <= MAX_DRAWN_CHARS:
        return line
    more = len(line) - MAX_DRAWN_CHARS
    drawn = HIDING.sub(lambda match: name_of(match.group()), line[:MAX_DRAWN_CHARS].expandtabs(4))
    if more <= 0:
        return drawn
    return drawn + QCoreApplication.translate("ApprovalRequest", " … {0} more characters").format(f"{more:,}")


def _cut(text: str) -> str:
    text = _BLANKS.sub(lambda match: f" ·{len(match.group()):,} spaces· ", text)
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"


_CODE = regex(r"`([^`\n]+)`")


def quoted(text: str) -> str:
    return _CODE.sub(lambda code: in_quotes(code[1]), text)


def in_quotes(text: str) -> str:
    return QCoreApplication.translate("Quoting", "“{0}”").format(text)


def plain_tooltip(text: str) -> str:
    """Return `text` escaped, so that a tooltip shows it literally and not as HTML. Invisible characters are named."""
    shown = "\n".join(map(named, text.replace("\t", "    ").split("\n")))
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<p style='white-space: pre-wrap'>{escaped}</p>" if text else ""


_POLICIES: dict[ApprovalPolicy, tuple[str, str, str]] = {
    "always": ("Asks before every call", "Asks always", "Reads also ask."),
    "on_write": (
        "Asks before writing",
        "Asks to write",
        "Reads run freely. Edits, commands that may change something, and network access ask first.",
    ),
    "on_request": (
        "Asks to leave the sandbox",
        "Asks to leave",
        "Edits in this folder and sandboxed commands run freely. Anything else asks first.",
    ),
    "never": ("Never asks", "Never asks", "Nothing is asked: anything that needs approval is refused."),
}
_MODES: dict[SandboxMode, tuple[str, str, str]] = {
    "restricted": (
        "Sandbox: this folder",
        "This folder",
        "Commands can write only this folder and a temporary one. No network.",
    ),
    "strict": ("Sandbox: read-only", "Read-only", "Commands cannot write anything. No network."),
    "none": ("No sandbox", "No sandbox", "Commands can do anything your account can."),
}
"""The name, the short name and the meaning of each sandbox mode."""

PLANNING = "plan"
_PLANNING = (
    "Plans first",
    "Plans",
    "The agent reads, asks and writes a plan. It changes nothing before you accept the plan.",
)
POLICIES = tuple(_POLICIES)
MODES = tuple(_MODES)
"""The sandbox modes, repeated here because the window is painted before the core is imported."""

_mode_text = partial(QCoreApplication.translate, "Modes")
_tr_branch = partial(QCoreApplication.translate, "Branches")


def escalation_words() -> str:
    return _mode_text("Runs outside the sandbox, with all the rights of your account")


def approval_words(policy: ApprovalPolicy) -> tuple[str, str]:
    name, _, explanation = _POLICIES[policy]
    return _mode_text(name), _mode_text(explanation)


def planning_words() -> tuple[str, str]:
    name, _, explanation = _PLANNING
    return _mode_text(name), _mode_text(explanation)


def sandbox_words(mode: SandboxMode) -> tuple[str, str]:
    name, _, explanation = _MODES[mode]
    return _mode_text(name), _mode_text(explanation)


def short_words(mode: str) -> str:
    words: dict[str, tuple[str, str, str]] = {**_POLICIES, **_MODES, PLANNING: _PLANNING}
    return _mode_text(words[mode][1])


_cache_text = partial(QCoreApplication.translate, "CacheMiss")


def cache_miss_words(miss: CacheMiss) -> str:
    reasons: dict[CacheMissReason, str] = {
        "model": _cache_text("the model changed"),
        "system": _cache_text("the instructions changed"),
        "tools": _cache_text("the tools changed"),
        "messages": _cache_text("the earlier conversation changed"),
        "compaction": _cache_text("older turns were summarised"),
        "options": _cache_text("an option of the request changed"),
        "unknown": _cache_text("the provider does not say why, and keeps its cache only briefly"),
    }
    why = reasons[miss.reason]
    if not miss.tokens:
        return _cache_text("The last turn was not in the provider's cache: {0}.").format(why)
    text = _cache_text("About {0} tokens of the last turn were not in the provider's cache: {1}.")
    return text.format(counted(miss.tokens), why)


_flaw_text = partial(QCoreApplication.translate, "Flaw")


def flaw_words(flaw: Flaw) -> str:
    words: dict[Flaw, str] = {
        "calls_at_one_index": _flaw_text("several tool calls under one number"),
        "calls_in_text": _flaw_text("tool calls written as text"),
        "changing_call_id": _flaw_text("a tool call whose ID changed"),
        "control_characters": _flaw_text("unescaped line breaks in arguments"),
        "encoded_twice": _flaw_text("arguments encoded twice"),
        "no_end_event": _flaw_text("an answer without the events that end it"),
        "no_stop_reason": _flaw_text("an answer without a finish reason"),
        "not_utf8": _flaw_text("bytes that are not UTF-8"),
        "other_stop_reason": _flaw_text("tool calls with the wrong finish reason"),
        "thoughts_in_text": _flaw_text("thinking written into the answer"),
        "whole_answer": _flaw_text("an answer that was not streamed"),
        "whole_message": _flaw_text("a complete message in place of stream chunks"),
    }
    return words[flaw]


def counted(tokens: int) -> str:
    return f"{tokens:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def local_now() -> datetime:
    return datetime.now().astimezone()


def short_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    """Return, for example, `14:05`, `Tue`, `12 Nov` or `Nov 2025`. The zone of `now` decides which day is today."""
    moment = moment.astimezone(now.tzinfo)
    days = (now.date() - moment.date()).days
    if days == 0:
        return locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)
    date = QDate(moment.year, moment.month, moment.day)
    if 0 < days < 7:
        return locale.dayName(date.dayOfWeek(), QLocale.FormatType.ShortFormat)
    return locale.toString(date, _date_pattern("d MMM") if moment.year == now.year else _date_pattern("MMM yyyy"))


def long_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    moment = moment.astimezone(now.tzinfo)
    date = locale.toString(QDate(moment.year, moment.month, moment.day), QLocale.FormatType.ShortFormat)
    return f"{date} {locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)}"


def _date_pattern(pattern: str) -> str:
    """Return the pattern with day and month in the order of the user's language."""
    return QCoreApplication.translate("Dates", pattern)


def short_path(folder: str) -> str:
    """Return a path with `~` for the home folder, and with names instead of invisible characters."""
    path, home = Path(folder), Path.home()
    short = f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) and path != home else folder
    return named(short)


def branch_words(status: RepoStatus) -> str:
    """Say what is checked out, and how it stands to its upstream."""
    if not status.branch:
        return _tr_branch("No branch is checked out. You are at the commit {0}.").format(status.commit[:12])
    if not status.upstream:
        return _tr_branch("{0} follows no branch of a remote.").format(status.branch)
    ahead = plural("Branches", status.ahead, "%n commit ahead", "%n commits ahead") if status.ahead else ""
    behind = plural("Branches", status.behind, "%n commit behind", "%n commits behind") if status.behind else ""
    apart = ", ".join(filter(None, (ahead, behind))) or _tr_branch("nothing to push or pull")
    return _tr_branch("{0} follows {1}: {2}").format(status.branch, status.upstream, apart)
