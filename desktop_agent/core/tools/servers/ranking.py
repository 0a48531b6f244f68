"""Finds tools by words: BM25 over their names, servers, descriptions and arguments, without a model or a network.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with a weight for each field,
as its BM25F. A word also finds those that begin with it, at less than the whole. The same tools and the same words
always come to the same order.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from msgspec import Struct

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.tool import AnyServerTool

_WORD: Final = re.compile(r"[^\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+")
"""The words in `listPullRequests2`."""
_NAME, _SERVER, _DESCRIPTION, _ARGUMENT = 4.0, 2.0, 1.0, 0.5
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_PREFIX: Final = 0.5
"""What a word counts that only begins with the one looked for."""
_LEAST_PREFIX: Final = 3
_MOST_WORDS: Final = 32
"""Of a query."""
_LONGEST_TEXT: Final = 4_000
"""Characters of a description that are looked at: it comes from a server."""


class ToolIndex(Struct, frozen=True):
    """Some tools, ready to be searched."""

    tools: tuple[AnyServerTool, ...]
    words: tuple[str, ...]
    """All that occur, sorted."""
    places: Mapping[str, tuple[tuple[int, float], ...]]
    """In which tools a word occurs, by their numbers, and how much it counts there."""

    def search(self, query: str, limit: int) -> tuple[AnyServerTool, ...]:
        """Return the tools that fit best, the best first; those that fit alike by their names."""
        scores: dict[int, float] = {}
        for word in tuple(dict.fromkeys(words_in(query)))[:_MOST_WORDS]:
            best: dict[int, float] = {}
            for found, share in self._like(word):
                places = self.places[found]
                rarity = math.log(1 + (len(self.tools) - len(places) + 0.5) / (len(places) + 0.5))
                for number, weight in places:
                    best[number] = max(best.get(number, 0.0), share * rarity * weight)
            for number, score in best.items():
                scores[number] = scores.get(number, 0.0) + score
        wanted = query.strip().lower()
        for number, tool in enumerate(self.tools):
            if wanted in (tool.name.lower(), tool.shown_name.lower()):
                scores[number] = math.inf
        ranked = sorted(scores, key=lambda number: (-scores[number], self.tools[number].name))
        return tuple(self.tools[number] for number in ranked[:limit])

    def _like(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield the words that occur and are this one, or begin with it."""
        if word in self.places:
            yield word, 1.0
        if len(word) < _LEAST_PREFIX:
            return
        for found in self.words[bisect_left(self.words, word) :]:
            if not found.startswith(word):
                return
            if found != word:
                yield found, _PREFIX


def index_of(tools: Sequence[AnyServerTool]) -> ToolIndex:
    """Return an index of these tools. Takes milliseconds for hundreds: call it from a thread."""
    counts = [_counts(tool) for tool in tools]
    lengths = [sum(each.values()) for each in counts]
    usual = sum(lengths) / len(lengths) if lengths else 1.0
    places: dict[str, list[tuple[int, float]]] = {}
    for number, (each, length) in enumerate(zip(counts, lengths, strict=True)):
        slack = _SATURATION * (1 - _LENGTH + _LENGTH * length / usual)
        for word, count in each.items():
            places.setdefault(word, []).append((number, count * (_SATURATION + 1) / (count + slack)))
    return ToolIndex(tuple(tools), tuple(sorted(places)), {word: tuple(found) for word, found in places.items()})


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text in small letters and without the ending of the plural; also those within a name."""
    for whole in _WORD.findall(text):
        parts = _PARTS.findall(whole)
        for word in parts if len(parts) < 2 else (whole, *parts):
            yield _singular(word.lower())


def _counts(tool: AnyServerTool) -> dict[str, float]:
    counts: dict[str, float] = {}
    name = tool.shown_name.removeprefix(f"{tool.server}/")
    fields = (
        (name, _NAME),
        (tool.server, _SERVER),
        (tool.description[:_LONGEST_TEXT], _DESCRIPTION),
        (" ".join(_argument_texts(tool.definition().input_schema)), _ARGUMENT),
    )
    for text, weight in fields:
        for word in words_in(text):
            counts[word] = counts.get(word, 0.0) + weight
    return counts


def _argument_texts(schema: JsonObject) -> Iterable[str]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, about in cast("dict[str, object]", properties).items():
            yield name
            if isinstance(about, dict) and isinstance(text := cast("JsonObject", about).get("description"), str):
                yield text[:_LONGEST_TEXT]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
