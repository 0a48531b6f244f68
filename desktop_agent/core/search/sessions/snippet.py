"""The line of a text where it matches, short enough for a list, and where in it the matches are."""

import re
from functools import lru_cache

from desktop_agent.core.search.sessions.question import SessionQuestion

_BEFORE = 48
_AFTER = 132
_BLANK = re.compile(r"\s+")


def snippet_of(text: str, question: SessionQuestion) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return one line around the first match, and the begin and end of every match in it.

    The index ignores accents; where a text has some in a word that matches, the snippet is its beginning, unmarked.
    """
    pattern = _pattern(question)
    first = pattern.search(text) if pattern is not None else None
    at = first.start() if first is not None else 0
    begin = max(text.rfind("\n", 0, at) + 1, at - _BEFORE)
    end = min(len(text), begin + _BEFORE + _AFTER)
    if begin and text[begin - 1] != "\n" and (blank := text.find(" ", begin, at)) >= 0:
        begin = blank + 1
    is_cut_before = bool(text[:begin].strip())
    shown = _BLANK.sub(" ", text[begin:end]).strip()
    shown = f"{'… ' if is_cut_before else ''}{shown}{' …' if text[end:].strip() else ''}"
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in shown)
    marks = tuple(match.span() for match in pattern.finditer(shown)) if pattern is not None else ()
    return shown, marks


@lru_cache(maxsize=8)
def _pattern(question: SessionQuestion) -> re.Pattern[str] | None:
    """Return what finds any phrase as the index does: words of letters and digits, whatever signs are between."""
    parts: list[str] = []
    for number, phrase in enumerate(question.phrases):
        is_open = question.is_open and number == len(question.phrases) - 1
        words = r"[\W_]+".join(map(re.escape, phrase))
        parts.append(rf"(?<![^\W_]){words}" + (r"[^\W_]*" if is_open else r"(?![^\W_])"))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
