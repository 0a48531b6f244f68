"""Lexers for code in answers. The first of a language takes tens of milliseconds to make, so a thread makes it."""

from functools import partial

from desktop_agent.ui.chat.markdown.highlight import Lexer
from desktop_agent.ui.runtime.background_call import BackgroundCall


class Lexers:
    """Hands out lexers by the name a fence gives its language."""

    def __init__(self) -> None:
        self._searches: dict[str, BackgroundCall[Lexer | None]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a lexer is being made."""
        return not all(search.is_done for search in self._searches.values())

    def is_known(self, language: str) -> bool:
        """Whether it is clear by now which lexer a language has. If not, finding out begins."""
        search = self._searches.get(language)
        if search is None:
            search = self._searches[language] = BackgroundCall(partial(lexer_for_language, language), None)
            search.start()
        return search.is_done

    def get(self, language: str) -> Lexer | None:
        """Return the lexer of a known language, or `None` if there is none."""
        return self._searches[language].result


def lexer_for_language(language: str) -> Lexer | None:
    """Return a new lexer for a language, or `None` for unknown names. Not for the window's thread."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - untyped **options
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
