"""Markdown of a model as HTML that can do nothing: text, code in colours, and links of the web. Nothing is fetched."""

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

_MAX_NESTING = 60
_MAX_COLOURED_CHARS = 100_000
"""Longer code is not coloured: a lexer may take seconds for it."""
_MAX_COLOURED_LINE = 5_000


def prose(text: str) -> str:
    """Return `text`, Markdown, as HTML."""
    return _markdown().render(text)


def code(text: str, language: str = "") -> str:
    """Return code as a block, coloured when its language is known."""
    return f'<pre class="code"><code>{_coloured(text, language)}</code></pre>\n'


def is_web_link(url: str) -> bool:
    """Whether `url` is one of the web, and nothing else in its clothes."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc) and not any(c <= " " for c in url)


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    markdown.enable(["table", "strikethrough"])
    markdown.validateLink = is_web_link
    markdown.add_render_rule("image", _picture)
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("code_block", _fence)
    markdown.add_render_rule("link_open", _link)
    for name in ("th_open", "td_open"):
        markdown.add_render_rule(name, _cell)
    return markdown


def _picture(
    _self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: "OptionsDict", _env: "EnvType"
) -> str:
    """A picture from elsewhere is its words: to fetch it would tell others that this was read."""
    return f'<span class="picture">{escape(tokens[at].content or "picture")}</span>'


def _fence(_self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: "OptionsDict", _env: "EnvType") -> str:
    language = (tokens[at].info.split() or [""])[0]
    return code(tokens[at].content.rstrip("\n"), language)


def _link(_self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: "OptionsDict", _env: "EnvType") -> str:
    return f'<a href="{escape(str(tokens[at].attrGet("href") or ""))}" rel="noopener noreferrer nofollow">'


def _cell(_self: "RendererHTML", tokens: "Sequence[Token]", at: int, _options: "OptionsDict", _env: "EnvType") -> str:
    """A cell without its alignment, which would be a style of its own."""
    return f"<{tokens[at].tag}>"


def _coloured(text: str, language: str) -> str:
    if not language or len(text) > _MAX_COLOURED_CHARS or any(len(x) > _MAX_COLOURED_LINE for x in text.split("\n")):
        return escape(text)
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - untyped **options
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return str(highlight(text, lexer, HtmlFormatter[str](nowrap=True)))
