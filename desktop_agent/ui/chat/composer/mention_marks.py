"""Which parts of a message are mentions, as far as the window knows."""

from collections.abc import Callable, Collection

_LONGEST_TEXT = 50_000
"""In a longer one nothing is marked: it is read again with every key."""


def marks_in(text: str, is_path: Callable[[str], bool], sources: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return from where to where they stand, in their order. `sources` are what may stand before a colon."""
    if "@" not in text or len(text) > _LONGEST_TEXT:
        return ()
    from desktop_agent.core.mentions.grammar import mentions_in  # with the first `@`
    from desktop_agent.core.mentions.path_grammar import paths_in

    spans = {
        path.start: path.start + len(path.written) for path in paths_in(text) if path.is_certain or is_path(path.path)
    }
    for mention in mentions_in(text):
        if mention.source in sources:
            spans[mention.start] = mention.start + len(mention.written)
    return tuple(sorted(spans.items()))
