"""The user's remarks on a diff as a prompt: where each stands, what it is about, what it says."""

from collections.abc import Sequence

from desktop_agent.core.protocol.model import LineComment

_QUOTED_LINES = 20


def prompt_of_comments(text: str, comments: Sequence[LineComment]) -> str:
    """Return one prompt for all `comments`, file by file, with `text` in front."""
    opening = text.strip() or "Please address these review comments."
    ordered = sorted(comments, key=lambda comment: (comment.path, comment.start))
    remarks = (f"{_place(comment)}:\n{_quoted(comment.quote)}\n{comment.text.strip()}" for comment in ordered)
    return "\n\n".join((opening, *remarks))


def _place(comment: LineComment) -> str:
    first, last = comment.start + 1, comment.end
    lines = f"line {first}" if last <= first else f"lines {first} to {last}"
    return f"{comment.path}, {lines}{' before your change' if comment.side == 'old' else ''}"


def _quoted(quote: str) -> str:
    lines = quote.splitlines()
    shown = [f"> {line}" for line in lines[:_QUOTED_LINES]]
    if len(lines) > _QUOTED_LINES:
        shown.append(f"> … {len(lines) - _QUOTED_LINES} more lines")
    return "\n".join(shown)
