"""The bodies of printed output: the last lines of a command in colour, the first lines of another tool, or what a
sub-agent does and reports.

Tools answer the model in JSON, below notes in brackets. The user sees the text inside the JSON, with control characters
escaped.
"""

import json
from typing import ClassVar, NamedTuple, cast

from desktop_agent.core.base.plain_text import named, without_controls
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import Aborted, Denied, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import (
    SHOWN_LINES,
    Bar,
    Content,
    ContentWriter,
    ToolBody,
    entry_of,
    short_line,
)
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.styles import MUTED_TINT, TextMark
from desktop_agent.ui.terminal.printed_text import MAX_LINE, Tail

_MAX_JSON = 300_000
_NOTES = regex(r"(?:\[[^\n]*\]\n)+(?=\{)")
"""Notes to the model before a command's output; the card says the same."""


class OutputExcerpt(NamedTuple):
    text: str
    hidden_lines: int
    cut_lines: int = 0
    cut_chars: int = 0


def with_controls_named(text: str) -> str:
    return without_controls(text.replace("\r\n", "\n"))


def first_lines(text: str, count: int) -> OutputExcerpt:
    text = text.rstrip("\n")
    head = text.split("\n", count)
    hidden = head[count].count("\n") + 1 if len(head) > count else 0
    lines = [_shortened(line) for line in head[:count]]
    cuts = [cut for _, cut in lines if cut]
    return OutputExcerpt("\n".join(line for line, _ in lines), hidden, len(cuts), sum(cuts))


def _shortened(line: str) -> tuple[str, int]:
    text = with_controls_named(line[:MAX_LINE].removesuffix("\r"))[:MAX_LINE]
    return text, max(0, len(line) - MAX_LINE)


def readable(content: str) -> str:
    if notes := _NOTES.match(content):
        content = content[notes.end() :]
    if not content.startswith(("{", "[")) or len(content) > _MAX_JSON:
        return content
    try:
        answer: object = json.loads(content)
    except ValueError:
        return content
    return "" if _is_silent(answer) else _text_of(answer) or content


def _is_silent(answer: object) -> bool:
    if not isinstance(answer, dict):
        return answer == []
    fields = cast("dict[str, object]", answer)
    return not fields or (fields.get("output") == "" and not fields.get("note"))


def _text_of(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        return "\n".join(map(str, items)) if all(isinstance(item, str | int) for item in items) else ""
    if not isinstance(answer, dict):
        return ""
    fields = cast("dict[str, object]", answer)
    for key in ("output", "error", "message", "entries", "note"):
        if key in fields and not isinstance(fields[key], dict) and (text := _text_of(fields[key])):
            return text
    is_count = all(type(value) is int for value in fields.values())
    return "\n".join(f"{name}: {value}" for name, value in fields.items()) if is_count else ""


_FACTS = frozenset({"exit_code", "job_id", "timed_out"})
"""Keys of metadata that only the results of commands have."""


class _Reading(NamedTuple):
    of: object
    chars: int
    tail: Tail


class TerminalBody(ToolBody):
    is_result: ClassVar[bool] = True

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        is_command = bool(entry.output_tail) or entry_words.is_command(entry.call.name)
        return is_command or (entry.result is not None and not _FACTS.isdisjoint(entry.result.metadata))

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        for line in _tail(row).lines():
            for run in line.runs:
                writer.mark(TextMark(writer.at + run.start, run.length, run.look))
            writer.add(line.text)
            writer.end_line()
        return writer.content()

    def bar(self) -> Bar | None:
        entry = entry_of(self.row)
        hidden = _tail(self.row).hidden_lines
        is_cut = entry.output_chars > len(entry.output_tail)
        # Live output is complete or the end of the output. Without it, the card shows the version for the model.
        is_stored = not entry.output_tail and entry.result is not None and entry.result.output is not None
        cut = entry_words.cut_lines(*_tail(self.row).cut)
        if not hidden and not is_cut and not is_stored and not cut:
            return None
        lines = entry_words.counted(hidden, "… %n line before", "… %n lines before")
        text = self.tr("… earlier output") if is_cut else lines
        before = text if hidden or is_cut else ""
        return Bar(" · ".join(filter(None, (before, cut))), self.tr("Show all output"), is_above=True)


def _printed(entry: ToolEntry, result: ToolResult) -> str:
    if "job_id" in result.metadata and entry_words.is_command(entry.call.name):
        return entry_words.say("Started in the background. The list of background work shows it.")
    return readable(result.content).rstrip("\n")


def _tail(row: EntryRow) -> Tail:
    """Return the last lines of an output. If it grows, only the new part is read."""
    entry = entry_of(row)
    known = row.loaded.get("tail")
    reading = known if isinstance(known, _Reading) else None
    if entry.output_tail or entry.result is None:
        added = entry.output_chars - reading.chars if reading is not None and reading.of == "live" else None
        if reading is None or added is None or added > len(entry.output_tail):
            reading, added = _Reading("live", 0, Tail(SHOWN_LINES)), len(entry.output_tail)
        if added:
            reading.tail.feed(entry.output_tail[-added:])
    elif reading is None or reading.of is not entry.result:
        reading = _Reading(entry.result, 0, Tail(SHOWN_LINES))
        if not isinstance(entry.decision, Denied | Aborted):
            reading.tail.feed(_printed(entry, entry.result))
    row.loaded["tail"] = reading._replace(chars=entry.output_chars)
    return _as_the_model_reads_it(row, reading.tail) if reading.of == "live" else reading.tail


def _as_the_model_reads_it(row: EntryRow, seen: Tail) -> Tail:
    """Return the last lines of the live output, or of the model's version if live output is incomplete."""
    entry = entry_of(row)
    if entry.result is None or isinstance(entry.decision, Denied | Aborted) or "job_id" in entry.result.metadata:
        return seen
    known = row.loaded.get("answered")
    if not isinstance(known, _Reading) or known.of is not entry.result:
        known = _Reading(entry.result, 0, Tail(SHOWN_LINES))
        known.tail.feed(_printed(entry, entry.result))
        row.loaded["answered"] = known
    seen_lines, answered = ("\n".join(line.text for line in tail.lines()).rstrip("\n") for tail in (seen, known.tail))
    return seen if not answered or not seen_lines or f"\n{answered}".endswith(f"\n{seen_lines}") else known.tail


class PrintedBody(ToolBody):
    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return True

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        return Content(_excerpt(entry_of(row)).text)

    def bar(self) -> Bar | None:
        entry = entry_of(self.row)
        shown = _excerpt(entry)
        hidden = shown.hidden_lines
        is_stored = entry.result is not None and entry.result.output is not None
        if not hidden and not shown.cut_lines and not is_stored:
            return None
        more = entry_words.counted(hidden, "… %n more line", "… %n more lines") if hidden else ""
        cut = entry_words.cut_lines(shown.cut_lines, shown.cut_chars)
        return Bar(" · ".join(filter(None, (cut, more))), self.tr("Show all output"))


def _excerpt(entry: ToolEntry) -> OutputExcerpt:
    # The result of a refused call tells the model what the card already shows.
    if entry.result is None or isinstance(entry.decision, Denied | Aborted):
        return OutputExcerpt("", 0)
    return first_lines(readable(entry.result.content), SHOWN_LINES)


_MAX_DOING = 300
_MAX_REPORT = 4_000


class SubagentBody(ToolBody):
    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry_words.is_task(entry)

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        entry, writer = entry_of(row), ContentWriter()
        if entry.result is None:
            writer.add(short_line(entry_words.doing_of_subagent(entry), _MAX_DOING), MUTED_TINT)
        else:
            text = entry.result.content
            writer.add(named(text if len(text) <= _MAX_REPORT else f"{text[:_MAX_REPORT]}…"))
        return writer.content("plain")

    @classmethod
    def copied(cls, row: EntryRow) -> str:
        entry = entry_of(row)
        return entry.result.content if entry.result is not None else ""

    def bar(self) -> Bar | None:
        entry = entry_of(self.row)
        if entry.subagent is None:
            return None
        return Bar(entry_words.used_by_subagent(entry), self.tr("Show its conversation"))

    def on_bar_clicked(self) -> None:
        if (subagent := entry_of(self.row).subagent) is not None:
            self.actions.session_requested.emit(subagent.session_id)
