"""A session as one Markdown document, with harmless Markdown: no HTML, external pictures or non-web links."""

import re
from collections.abc import Iterator

from desktop_agent.core.base.plain_text import cost_text, number_of
from desktop_agent.core.export import document_words
from desktop_agent.core.export.document_words import one_line, shown
from desktop_agent.core.export.export_source import ExportSource, read_facts, read_turns
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.transcript import CompactionEntry, Entry, TextEntry, ToolEntry

_FENCE = re.compile(r"\s*(?:>\s*)*(?P<fence>`{3,}|~{3,})")
_TAG = re.compile(r"<(?=[a-zA-Z/!?])(?!https?://)")
_LINK_END = re.compile(r"\](?=\(\s*<?\s*(?!https?://|#|mailto:)[^)\s])")
_DEFINITION = re.compile(r"^(\s{0,3})\[(?=[^\]]+\]:\s*(?!https?://))", re.MULTILINE)
_CODE_SPAN = re.compile(r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")


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
    yield f"- From {document_words.when(session.opened_at)}, {turns}, {written} written by the model{paid}\n\n"
    for entries in read_turns(source, facts):
        for entry in entries:
            yield _entry(entry, source)
    if facts.turns.plan:
        yield f"## Plan\n\n{harmless(shown(facts.turns.plan)).strip()}\n\n"
    if facts.damages:
        lines = "".join(f"- {_inline(line)}\n" for line in document_words.damage_lines(facts.damages))
        yield f"## Left out\n\nThese records of the session could not be read.\n\n{lines}"


def _entry(entry: Entry, source: ExportSource) -> str:
    match entry:
        case ev.PromptSubmitted():
            return f"## Turn {entry.turn} · {document_words.when(entry.at)}\n\n{_quoted(entry.text)}\n\n"
        case ev.Steered():
            return f"{_quoted(entry.text)}\n\n"
        case TextEntry(kind="thinking"):
            return _folded("Thinking", harmless(shown(entry.text)))
        case TextEntry():
            return f"{harmless(shown(entry.text)).strip()}\n\n"
        case ToolEntry():
            return _folded(
                f"{document_words.MARKS[entry.state]} {_inline(document_words.call_title(entry))}", _call(entry, source)
            )
        case ev.CommandRun():
            return f"`{_code(document_words.line_of(entry))}`\n\n{harmless(shown(entry.output)).strip()}\n\n"
        case CompactionEntry():
            items = "\n".join(f"- {_inline(line)}" for line in document_words.summary_lines(entry.summary))
            return f"*{document_words.line_of(entry)}*\n\n{items}\n\n"
        case _:
            return f"*{_inline(document_words.line_of(entry))}*\n\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in harmless(shown(text)).split("\n"))


def _call(entry: ToolEntry, source: ExportSource) -> str:
    explained = document_words.explanation_in(entry)
    parts = [f"*{_inline(explained)}*"] if explained else []
    if entry.changes:
        parts.append(_fenced(document_words.diff_of(entry.changes, source), "diff"))
    else:
        parts.append(_fenced(document_words.arguments_of(entry), "json"))
    if result := document_words.result_of(entry):
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
