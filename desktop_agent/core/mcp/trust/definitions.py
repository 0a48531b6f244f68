"""A tool's definition as one thing: what it is known by, and how people see it and what changed of it. Pure.

Two definitions are the same when the server says the same of the tool, in whatever order the keys of its JSON come.
All texts are the server's: for people, what cannot be seen or reorders what stands beside it is there by name.
"""

import json
from collections.abc import Callable, Iterator

import msgspec

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import CONTEXT_LINES, group
from desktop_agent.core.mcp.offers import OfferedTool
from desktop_agent.core.system.files import digest_of

MOST_SHOWN_CHARS = 60_000
"""Of one definition. Of what is behind, its length and digest are shown, so that a change there is seen as one."""


MOST_INTRODUCED_CHARS = 8_000
"""Of a definition that is shown for the first time."""


def introduced(text: str) -> str:
    """Return a definition in lines as far as it is shown when the user is asked about the tool for the first time."""
    if len(text) <= MOST_INTRODUCED_CHARS:
        return text.removesuffix("\n")
    left = len(text) - MOST_INTRODUCED_CHARS
    return f"{text[:MOST_INTRODUCED_CHARS]}\n… {left:,} more characters that are not shown"


def definition_digest(tool: OfferedTool) -> Digest:
    """Return what is the same for two definitions only if they say the same."""
    return digest_of(json.dumps(msgspec.to_builtins(tool), sort_keys=True).encode())


def is_same_definition(one: OfferedTool, other: OfferedTool) -> bool:
    """Whether a server says the same of a tool in both."""
    return definition_digest(one) == definition_digest(other)


def definition_texts(before: OfferedTool | None, after: OfferedTool) -> tuple[str, str]:
    """Return two definitions in lines for people. Where they differ, the texts do, too."""
    old, new = _text(before, named) if before is not None else "", _text(after, named)
    if before is not None and old == new and not is_same_definition(before, after):
        # One has a character, and the other the name that it is shown by.
        return _text(before, json.dumps), _text(after, json.dumps)
    return old, new


def diff_of_texts(before: str, after: str) -> str:
    """Return what differs between two texts, in lines that begin with `-`, `+` or a blank, with some context."""
    old, new = before.splitlines(), after.splitlines()
    edits = find_edits(before.encode(), after.encode())
    lines: list[str] = []
    for hunk in group(edits, old_count=len(old), context=CONTEXT_LINES):
        lines += ["…"] if hunk.old_start else []
        at = hunk.old_start
        for edit in hunk.edits:
            lines += [f"  {line}" for line in old[at : edit.old_start]]
            lines += [f"- {line}" for line in old[edit.old_start : edit.old_end]]
            lines += [f"+ {line}" for line in new[edit.new_start : edit.new_end]]
            at = edit.old_end
        lines += [f"  {line}" for line in old[at : hunk.old_end]]
    return "\n".join(lines)


def _text(tool: OfferedTool, shown: Callable[[str], str]) -> str:
    text = "".join(f"{line}\n" for line in _lines(tool, shown))
    if len(text) <= MOST_SHOWN_CHARS:
        return text
    rest = text[MOST_SHOWN_CHARS:]
    digest = digest_of(rest.encode())[:16]
    return f"{text[:MOST_SHOWN_CHARS]}\n… {len(rest):,} more characters that are not shown (digest {digest})\n"


def _lines(tool: OfferedTool, shown: Callable[[str], str]) -> Iterator[str]:
    yield f"Name: {shown(tool.name)}"
    if tool.title:
        yield f"Title: {shown(tool.title)}"
    yield "Description:"
    yield from (f"  {shown(line)}" for line in tool.description.split("\n"))
    if tool.annotations:
        yield "Annotations:"
        yield from _json_lines(tool.annotations, shown)
    if tool.view:
        yield f"Interactive view: {shown(tool.view)}"
    if tool.unusable:
        yield f"Not usable: {tool.unusable}"
    yield "Input schema:"
    yield from _json_lines(tool.input_schema, shown)


def _json_lines(value: object, shown: Callable[[str], str]) -> Iterator[str]:
    pretty = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    yield from (f"  {shown(line)}" for line in pretty.split("\n"))
