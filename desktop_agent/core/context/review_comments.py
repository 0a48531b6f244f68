"""Review comments as the text of a prompt, and read back from it: the journal has the text only."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import LineComment

_QUOTED_LINES = 20
THE_PLAN = "the plan"
"""Stands for the path of a comment on the plan, which has none."""
_REMARK = regex(
    r"(?:\A|(?<=\n\n))(?P<path>[^\n]+?), (?:line (?P<line>\d+)|lines (?P<first>\d+) to (?P<last>\d+))"
    r"(?P<old> before your change)?:\n(?P<quote>(?:>(?: [^\n]*)?\n)+|(?=\n))"
)


class SentComment(Struct, frozen=True):
    """One comment in the text of a prompt. Lines count from 1; the last line of a comment on the whole file is 0."""

    path: str
    first: int
    last: int
    is_before: bool
    quote: str
    text: str
    start: int
    text_start: int
    end: int
    """Offsets in the prompt: the beginning of the comment, the beginning of the user's words, and the end of both."""


def prompt_of_comments(text: str, comments: Sequence[LineComment]) -> str:
    opening = text.strip() or "Please address these review comments."
    opening += " Write the whole plan again." if not text.strip() and any(one.path == "" for one in comments) else ""
    ordered = sorted(comments, key=lambda comment: (comment.path, comment.start))
    remarks: list[str] = []
    for comment in ordered:
        first, last = comment.start + 1, comment.end
        lines = f"line {first}" if last <= first else f"lines {first} to {last}"
        place = f"{comment.path or THE_PLAN}, {lines}{' before your change' if comment.side == 'old' else ''}"
        remarks.append(f"{place}:\n{_quoted(comment.quote)}\n{comment.text.strip()}")
    return "\n\n".join((opening, *remarks))


def comments_in(prompt: str) -> Iterator[SentComment]:
    """Yield the comments in a text that `prompt_of_comments` made, whatever the user wrote before them."""
    found = [each for each in _REMARK.finditer(prompt) if each["quote"] or each["line"] == "1"]
    ends = [*(each.start() for each in found[1:]), len(prompt)]
    for remark, end in zip(found, ends, strict=False):
        text = prompt[remark.end() : end]
        first = int(remark["line"] or remark["first"])
        yield SentComment(
            path=remark["path"],
            first=first,
            last=int(remark["last"] or first) if remark["quote"] else 0,
            is_before=bool(remark["old"]),
            quote="\n".join(line[2:] for line in remark["quote"].removesuffix("\n").split("\n")),
            text=text.strip("\n"),
            start=remark.start(),
            text_start=remark.end() + len(text) - len(text.lstrip("\n")),
            end=remark.end() + len(text.rstrip("\n")),
        )


def _quoted(quote: str) -> str:
    lines = quote.splitlines()
    shown = [f"> {line}" for line in lines[:_QUOTED_LINES]]
    if len(lines) > _QUOTED_LINES:
        shown.append(f"> … {len(lines) - _QUOTED_LINES} more lines")
    return "\n".join(shown)
