"""Reads mentions in a prompt: `@source:target`, where the source is the name of an MCP server, or `session`.

    @docs:readme                    a resource by its name
    @docs:note://one                by its address
    @docs:"Release notes"           quoted, for blanks; inside, `\\"` and `\\\\` stand for what follows the backslash

The `@` stands at the beginning, or behind a blank, an opening bracket or a quotation mark: so `me@example.org:8080` is
none. Without quotes a mention ends at a blank, and punctuation at its end belongs to the sentence. Nothing in
backquotes or in a fenced block is a mention. Files are mentioned without a source: `path_grammar.py` reads those.
Pure; whether a source exists is for the caller to know.
"""

import re

from msgspec import Struct

BEFORE = r"(?<![^\s(\[{\"'“‘«])"
"""What an `@` stands behind that begins a mention."""

_SOURCE = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
_MENTION = re.compile(
    rf"{BEFORE}@(?P<source>{_SOURCE}):"
    r'(?:"(?P<quoted>(?:[^"\\\n]|\\[^\n])+)"|(?P<bare>[^\s"]\S*))'
)
_TYPED = re.compile(
    rf"{BEFORE}@(?:(?P<source>{_SOURCE}):"
    r'(?:"(?P<quoted>(?:[^"\\\n]|\\[^\n])*)|(?P<bare>(?:[^\s"]\S*)?))'
    r'|"(?P<quoted_path>(?:[^"\\\n]|\\[^\n])*)|(?P<path>[^\s"`@:]*))$'
)
_CODE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)|(`+)(?!`)[^\n]*?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE)
_ESCAPED = re.compile(r"\\(.)")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_AT_END = frozenset(".,;:!?…'\"”’»。、，；：！？")
_LONGEST_TYPED = 300
"""How far before the cursor a mention that is being typed may begin, in characters."""


class Mention(Struct, frozen=True):
    """One mention, as it stands in a text."""

    source: str
    target: str
    written: str
    """With the `@`, and the quotation marks if there are some."""
    start: int


class TypedMention(Struct, frozen=True):
    """The beginning of a mention before the cursor."""

    start: int
    source: str
    """Empty while no colon stands there; then `target` is a part of a path, or the beginning of a source."""
    target: str


def mentions_in(text: str) -> tuple[Mention, ...]:
    """Return the mentions in `text`, in their order."""
    if "@" not in text:
        return ()
    code = code_in(text)
    found: list[Mention] = []
    for match in _MENTION.finditer(text):
        if any(start <= match.start() < end for start, end in code):
            continue
        quoted, bare = match["quoted"], without_punctuation(match["bare"] or "")
        target = unescaped(quoted) if quoted is not None else bare
        end = match.end() if quoted is not None else match.start("bare") + len(bare)
        if target:
            found.append(Mention(match["source"], target, text[match.start() : end], match.start()))
    return tuple(found)


def typed_before(text: str, cursor: int) -> TypedMention | None:
    """Return the mention that is being typed before the cursor, if there is one. Looks at one line."""
    line = text.rfind("\n", 0, cursor) + 1
    begin = max(line, cursor - _LONGEST_TYPED)
    match = _TYPED.search(text[begin:cursor])
    if match is None or (begin > line and match.start() == 0):
        return None
    start = begin + match.start()
    if any(first <= start < last for first, last in code_in(text[:cursor])):
        return None
    if match["source"] is None:
        path = match["path"]
        return TypedMention(start, "", path if path is not None else unescaped(match["quoted_path"]))
    target = match["bare"] if match["quoted"] is None else unescaped(match["quoted"])
    return TypedMention(start, match["source"], target)


def written(source: str, target: str) -> str:
    """Return the mention of `target`, in quotes where it needs them. A line feed cannot be written."""
    bare = f"@{source}:{target}"
    found = mentions_in(bare)
    if len(found) == 1 and found[0].target == target and found[0].written == bare and "`" not in target:
        return bare
    return f"@{source}:{quoted(target)}"


def quoted(target: str) -> str:
    """Return `target` in quotation marks."""
    escaped = target.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def unescaped(text: str) -> str:
    """Return what the text between quotation marks stands for."""
    return _ESCAPED.sub(r"\1", text)


def code_in(text: str) -> list[tuple[int, int]]:
    """Return where backquotes and fenced blocks are: nothing in there is a mention."""
    return [match.span() for match in _CODE.finditer(text)]


def without_punctuation(target: str) -> str:
    """Return what belongs to the mention: a closing bracket only if it was opened there."""
    while target:
        last = target[-1]
        opening = _BRACKETS.get(last)
        is_sentence = last in _AT_END or (opening is not None and target.count(opening) < target.count(last))
        if not is_sentence:
            break
        target = target[:-1]
    return target
