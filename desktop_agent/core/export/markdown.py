"""A session as one Markdown document, with harmless Markdown: no HTML, external pictures or non-web links.

How its entries are described, in words, is shared with the HTML export.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.plain_text import TURNING, cost_text, name_of, number_of, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.changes.net import net_of_call
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.export.export_source import MAX_FILE_BYTES, ExportSource, read_facts, read_turns
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, Summary
from desktop_agent.core.providers.strict_json import repaired
from desktop_agent.core.store.journal.journal_reader import Damage
from desktop_agent.core.terminal.printout import plain_text
from desktop_agent.core.transcript import (
    CompactionEntry,
    Entry,
    HookEntry,
    NoticeEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    UndoEntry,
    explanation_of,
    hook_line,
    how_it_ended,
    spending_line,
)

MAX_CHARS = 200_000

_UNSAFE = regex(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{TURNING}\u061c\u200e\u200f\u2028\u2029\ufeff\ufffe\uffff]")
"""Fewer than `plain_text.HIDING`, because quoted prose may have no-break spaces and emoji."""


def shown(text: str) -> str:
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n[{len(text) - MAX_CHARS:,} more characters are left out here]"
    # Masked twice: a colour may separate a key from a word, and a backspace may complete one.
    return visible(mask(repaired(plain_text(mask(text).replace("\0", name_of("\0"))))))


def visible(text: str) -> str:
    return _UNSAFE.sub(lambda match: _sign(match.group()), text)


def _sign(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return name_of(char)
    return "\ufffd" if code < 0xA0 or code > 0xFFFD else f"[U+{code:04X}]"


def one_line(text: str, limit: int = 200) -> str:
    return shortened(" ".join(shown(text[: limit * 4]).split()), limit)


MARKS = {"started": "…", "completed": "✓", "failed": "✗"}
_MAX_DAMAGES = 20


def when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def line_of(entry: Entry) -> str:
    match entry:
        case NoticeEntry(notice=notice):
            return one_line(f"{notice.title} {notice.hint}", 600)
        case HookEntry():
            return one_line(f"Hooks. {hook_line(entry)}", 600)
        case SpendingEntry():
            return one_line(spending_line(entry), 600)
        case UndoEntry(purpose=purpose, outcomes=outcomes, brings_back=brings_back):
            verb = "Taken back" if purpose == "undo" else "Brought back" if brings_back else "Applied again"
            files = (f"{name_on_a_line(one.path)} ({'removed' if one.is_removed else one.state})" for one in outcomes)
            return one_line(f"{verb}: {', '.join(files)}", 600)
        case ev.ChangesCommitted():
            return one_line(f"Committed {entry.commit[:12]}: {entry.subject}", 600)
        case ev.CommitUndone(commit=commit):
            return f"The commit {commit[:12]} was undone."
        case ev.Rewound(turn=turn, scope=scope):
            return f"Back to before turn {turn} ({scope}). The model does not see what came after it."
        case CompactionEntry(event=event, is_undone=is_undone):
            return f"Summarised for the model up to turn {event.through_turn}{', and undone' if is_undone else ''}."
        case ev.SessionForked(source=source, title=title):
            return one_line(f"A copy of {source} “{title}” up to here.")
        case ev.TurnEnded(turn=turn):
            return f"Turn {turn} ended: {how_it_ended(entry)}."
        case ev.CommandRun(text=text):
            return one_line(text)
        case _:
            return ""


def summary_lines(summary: Summary) -> list[str]:
    parts = (
        ("Goal", summary.goals), ("Decision", summary.decisions), ("Constraint", summary.constraints),
        ("File", summary.files), ("API", summary.apis), ("To do", summary.todos),
    )  # fmt: skip
    return [f"{name}: {shown(item)}" for name, items in parts for item in items]


def call_title(entry: ToolEntry) -> str:
    title = "" if entry.title == entry.call.name else one_line(entry.title)
    counts = (
        f" +{sum(c.added for c in entry.changes)} −{sum(c.removed for c in entry.changes)}" if entry.changes else ""
    )
    return f"{one_line(entry.call.name)} {title}{counts}".strip()


def explanation_in(entry: ToolEntry) -> str:
    return one_line(explanation_of(entry.call), 600)


def arguments_of(entry: ToolEntry) -> str:
    return shown(json.dumps(entry.call.arguments, ensure_ascii=False, indent=2))


def result_of(entry: ToolEntry) -> str:
    text = shown(entry.result.content).rstrip() if entry.result is not None else "(no result)"
    if entry.subagent is not None:
        text += f"\n[the session of the sub-agent: {entry.subagent.session_id}]"
    if entry.result is None:
        return text
    if entry.result.output is not None:
        text += f"\n[the whole output has {entry.result.output.size:,} bytes]"
    return text


def diff_of(changes: Sequence[FileChange], source: ExportSource) -> str:
    """Return a call's changes as a patch for reading. Files that are gone or too large are only named."""
    files: list[PatchFile] = []
    notes: list[str] = []
    held = source.blobs.of_file
    for change in net_of_call(changes):
        sizes = [image.size for image in (change.before, change.after) if image is not None]
        if change.is_binary or sum(sizes) > MAX_FILE_BYTES:
            notes.append(
                f"# {name_on_a_line(change.path)}: {'binary' if change.is_binary else 'too large to be shown'}"
            )
            continue
        try:
            files.append(PatchFile(change, held(change.before), held(change.after)))
        except StorageError:
            notes.append(f"# {name_on_a_line(change.path)}: the content is no longer on disk")
    patch = make_patch(files, is_for_reading=True).decode("utf-8", "replace")
    return shown("\n".join([*notes, patch]).strip("\n"))


def damage_lines(damages: Sequence[Damage]) -> list[str]:
    lines = [f"Line {damage.line}: {one_line(damage.reason)}" for damage in damages[:_MAX_DAMAGES]]
    more = len(damages) - len(lines)
    return [*lines, f"{more} more"] if more > 0 else lines


_FENCE = regex(r"\s*(?:>\s*)*(?P<fence>`{3,}|~{3,})")
_TAG = regex(r"<(?=[a-zA-Z/!?])(?!https?://)")
_LINK_END = regex(r"\](?=\(\s*<?\s*(?!https?://|#|mailto:)[^)\s])")
_DEFINITION = regex(r"^(\s{0,3})\[(?=[^\]]+\]:\s*(?!https?://))", re.MULTILINE)
_CODE_SPAN = regex(r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")


def export_markdown(source: ExportSource) -> Iterator[str]:
    """Yield the document in pieces. Raises `StorageError`."""
    facts = read_facts(source)
    session = facts.session
    yield f"# {_inline(session.title) or 'Untitled session'}\n\n"
    yield f"- Session: `{_code(session.session_id)}`\n- Folder: `{_code(session.workspace)}`\n"
    if session.model is not None:
        yield f"- {'Agent' if session.model.is_agent else 'Model'}: `{_code(session.model.name)}`\n"
    tokens = facts.turns.usage
    turns, written = number_of(facts.turns.turn, "turn"), number_of(tokens.output_tokens, "token")
    cost = cost_text(tokens.cost_usd, is_partial=tokens.is_cost_partial)
    paid = f", {cost}" if cost else ""
    yield f"- From {when(session.opened_at)}, {turns}, {written} written by the model{paid}\n\n"
    for entries in read_turns(source, facts):
        for entry in entries:
            yield _entry(entry, source)
    if facts.turns.plan:
        yield f"## Plan\n\n{harmless(shown(facts.turns.plan)).strip()}\n\n"
    if facts.damages:
        lines = "".join(f"- {_inline(line)}\n" for line in damage_lines(facts.damages))
        yield f"## Left out\n\nThese records of the session could not be read.\n\n{lines}"


def _entry(entry: Entry, source: ExportSource) -> str:
    match entry:
        case ev.PromptSubmitted():
            return f"## Turn {entry.turn} · {when(entry.at)}\n\n{_quoted(entry.text)}\n\n"
        case ev.Steered():
            return f"{_quoted(entry.text)}\n\n"
        case TextEntry(kind="thinking"):
            return _folded("Thinking", harmless(shown(entry.text)))
        case TextEntry():
            return f"{harmless(shown(entry.text)).strip()}\n\n"
        case ToolEntry():
            return _folded(f"{MARKS[entry.state]} {_inline(call_title(entry))}", _call(entry, source))
        case ev.CommandRun():
            return f"`{_code(line_of(entry))}`\n\n{harmless(shown(entry.output)).strip()}\n\n"
        case CompactionEntry():
            items = "\n".join(f"- {_inline(line)}" for line in summary_lines(entry.summary))
            return f"*{line_of(entry)}*\n\n{items}\n\n"
        case _:
            return f"*{_inline(line_of(entry))}*\n\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in harmless(shown(text)).split("\n"))


def _call(entry: ToolEntry, source: ExportSource) -> str:
    explained = explanation_in(entry)
    parts = [f"*{_inline(explained)}*"] if explained else []
    if entry.changes:
        parts.append(_fenced(diff_of(entry.changes, source), "diff"))
    else:
        parts.append(_fenced(arguments_of(entry), "json"))
    if result := result_of(entry):
        parts.append(_fenced(result, ""))
    if entry.result is not None and entry.result.images:
        parts.append(f"*{len(entry.result.images)} pictures are not shown here.*")
    return "\n\n".join(parts)


def _folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>\n\n"


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _inline(text: str) -> str:
    escaped = one_line(text, 600).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]!|])", r"\\\1", escaped)


def _code(text: str) -> str:
    return one_line(text, 600).replace("`", "'")


def harmless(text: str) -> str:
    """Return Markdown that others wrote, reduced to formatting. Code stays unchanged; an open fence is closed."""
    lines: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            lines.append(line)
            if match and match["fence"].startswith(fence) and not line.strip().strip("`~> "):
                fence = ""
        elif match:
            lines += [_harmless_prose("\n".join(prose))] if prose else []
            prose = []
            fence = match["fence"]
            lines.append(line)
        else:
            prose.append(line)
    lines += [_harmless_prose("\n".join(prose))] if prose else []
    return "\n".join([*lines, fence] if fence else lines)


def _harmless_prose(text: str) -> str:
    parts: list[str] = []
    done = 0
    for span in _CODE_SPAN.finditer(text):
        parts += [_without_effects(text[done : span.start()]), span.group()]
        done = span.end()
    return "".join([*parts, _without_effects(text[done:])])


def _without_effects(text: str) -> str:
    text = _TAG.sub("&lt;", text)
    text = _LINK_END.sub(r"\\]", text)
    text = _DEFINITION.sub(r"\1\\[", text)
    return text.replace("![", "\\![")
