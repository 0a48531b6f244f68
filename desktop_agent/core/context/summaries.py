"""Conversations as text, summaries as text, and summaries parsed from a model's answer or made without a model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import cast

from desktop_agent.core.base.plain_text import number_of, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    Summary,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserMessage,
)

_as_json = json.JSONEncoder(ensure_ascii=False).encode


def conversation_text(messages: Iterable[Message], *, longest_part: int | None = None) -> str:
    """Return the messages as text; results and arguments are cut to about `longest_part` characters."""
    return "\n\n".join(
        part
        for message in messages
        for block in message.content
        if (part := _block_text(block, is_user=message.role == "user", longest=longest_part))
    )


def fitted(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = longest // 4
    tail = longest - head
    return f"{text[:head]}\n[… {len(text) - longest} characters left out …]\n{text[-tail:]}"


def _block_text(block: AssistantBlock | UserBlock, *, is_user: bool, longest: int | None) -> str:
    match block:  # the most frequent first, as in `tokens.block_tokens`
        case ToolResultBlock(content=content, is_error=is_error, images=images):
            pictures = f"\n[{number_of(len(images), 'picture')}]" if images else ""
            return f"Result{' (an error)' if is_error else ''}:\n{_short(content, longest)}{pictures}"
        case ToolUseBlock(name=name, arguments=arguments):
            return f"Call of {name}:\n{_short(_as_json(arguments), longest)}"
        case TextBlock(text=text):
            return f"{'User' if is_user else 'Assistant'}:\n{text}"
        case ThinkingBlock(thinking=text):
            return "" if longest is not None else f"Assistant, thinking:\n{text}"
        case OpaqueBlock(call=call) if call is not None:
            found = "\n".join(f"{page.title} {page.url}".strip() for page in call.pages)
            return _short(f"Call of {call.tool} at the provider:\n{call.query}\n{found}{call.error}".rstrip(), longest)
        case ImageBlock():
            return "User:\n[1 picture]"
        case RedactedThinkingBlock() | OpaqueBlock():
            return ""


def _short(text: str, longest: int | None) -> str:
    return text if longest is None else fitted(text, longest)


SUMMARISED = (
    "[The conversation up to here was summarised to make room. This is what it came to; read a file again before "
    "relying on details of it.]"
)

SECTIONS: Mapping[str, str] = {
    "goals": "Goals", "decisions": "Decisions", "constraints": "Constraints", "files": "Files",
    "apis": "APIs and names", "todos": "To do",
}  # fmt: skip

_MAX_ITEMS = 60
_MAX_ITEM_CHARS = 1_000
_MAX_EXTRACTED = 20
_MAX_EXTRACTED_CHARS = 400
_MAX_ANSWER_CHARS = 100_000
_MAX_OBJECTS = 200
"""How many places of an answer are tried as the beginning of a JSON object."""
# These get stripped lines, and never go over a character twice: the answer may be hostile.
_BULLET = regex(r"(?:[-*•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")
_HEADING = regex(r"[A-Za-z][A-Za-z \-/,]*")
_OBJECT = regex(r"\{")
_FIELD_OF_WORD = {
    "goal": "goals", "decision": "decisions", "constraint": "constraints", "file": "files", "api": "apis",
    "todo": "todos", "to-do": "todos", "to do": "todos",
}  # fmt: skip
_PATH_KEYS = ("path", "file_path", "source_path", "dest_path")


def summary_text(summary: Summary) -> str:
    """Return a summary as headings and bullets, for a user to read and edit. Empty parts are omitted."""
    parts = [
        "\n".join([f"## {title}", *(f"- {item}" for item in items)])
        for name, title in SECTIONS.items()
        if (items := cast("tuple[str, ...]", getattr(summary, name)))
    ]
    return "\n\n".join(parts)


def rendered(summary: Summary) -> str:
    return f"{SUMMARISED}\n\n{summary_text(summary)}".strip()


def parsed(answer: str) -> Summary | None:
    answer = answer[:_MAX_ANSWER_CHARS]
    return _from_json(answer) or from_headings(answer)


def from_headings(text: str) -> Summary | None:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        plain = line.strip()
        if current is not None and (bullet := _BULLET.match(plain)):
            current.append(bullet[1])
        elif name := _heading(plain):
            current = found.setdefault(name, [])
        elif current and plain and line[:1].isspace() and len(current[-1]) < _MAX_ITEM_CHARS:
            current[-1] = f"{current[-1]} {plain}"
    return _summary(found)


def _heading(line: str) -> str | None:
    words = line.lstrip("#").strip().removeprefix("**").rstrip(":* \t")
    return _field_of(words) if _HEADING.fullmatch(words) else None


def extracted(messages: Sequence[Message], before: Summary | None, todos: Iterable[str]) -> Summary:
    """Make a summary without a model: the user's prompts, the files, and the summary made `before`."""
    before = before or Summary()
    asked = [
        shortened(block.text.strip().partition("\n")[0], _MAX_EXTRACTED_CHARS)
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, TextBlock) and not block.text.startswith("[")
    ]
    calls = (b for message in messages for b in message.content if isinstance(b, ToolUseBlock))
    named = (call.arguments.get(key) for call in calls for key in _PATH_KEYS)
    paths = [shortened(value, _MAX_EXTRACTED_CHARS) for value in named if isinstance(value, str)]
    return Summary(
        goals=_distinct((*before.goals, *asked))[-_MAX_EXTRACTED:],
        decisions=before.decisions,
        constraints=before.constraints,
        files=_distinct((*before.files, *paths))[-_MAX_EXTRACTED:],
        apis=before.apis,
        todos=_distinct(shortened(text, _MAX_EXTRACTED_CHARS) for text in todos) or before.todos,
    )


def _from_json(answer: str) -> Summary | None:
    decoder = json.JSONDecoder()
    for start in (match.start() for match in islice(_OBJECT.finditer(answer), _MAX_OBJECTS)):
        try:
            value, _ = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (summary := _summary(cast("dict[str, object]", value))):
            return summary
    return None


def _summary(found: Mapping[str, object]) -> Summary | None:
    usable: dict[str, tuple[str, ...]] = {}
    for key, value in found.items():
        name = _field_of(key)
        items = [value] if isinstance(value, str) else value
        if name is None or not isinstance(items, list):
            continue
        all_items = cast("list[object]", items)
        texts = (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in all_items)
        short = (" ".join(text.split())[:_MAX_ITEM_CHARS] for text in texts)
        usable[name] = _distinct(text for text in short if text)[:_MAX_ITEMS]
    return Summary(**usable) if any(usable.values()) else None


def _field_of(word: str) -> str | None:
    """Return the field of a summary that a heading or key means: `Goals`, `to-dos`, `APIs and names` …"""
    plain = word.strip().lower().replace("_", " ")
    if plain in (names := Summary.__struct_fields__):
        return plain
    known = next((name for start, name in _FIELD_OF_WORD.items() if plain.startswith(start)), None)
    return known if known in names else None


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))
