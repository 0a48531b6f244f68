"""A session as one passive, self-contained HTML file: no script, nothing fetched, all text escaped.

Its content security policy allows one style sheet, by its hash, and embedded pictures.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - untyped **options
from pygments.util import ClassNotFound

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_types import PICTURE_TYPES, PictureError, inspect_picture
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.plain_text import cost_text
from desktop_agent.core.export.export_source import ExportSource, Facts, read_facts, read_turns
from desktop_agent.core.export.markdown import (
    MARKS,
    arguments_of,
    call_title,
    damage_lines,
    diff_of,
    explanation_in,
    line_of,
    one_line,
    result_of,
    shown,
    summary_lines,
    when,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import BlobRef
from desktop_agent.core.transcript import CompactionEntry, Entry, NoticeEntry, TextEntry, ToolEntry

_MAX_NESTING = 60
_MAX_COLOURED_CHARS = 100_000
"""How many characters of code are coloured, because a lexer may take seconds for more."""
_MAX_COLOURED_LINE = 5_000


def prose(text: str) -> str:
    return _markdown().render(text)


def code(text: str, language: str = "") -> str:
    return f'<pre class="code"><code>{_coloured(text, language)}</code></pre>\n'


def is_web_link(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc) and not any(c <= " " for c in url)


@cache
def _markdown() -> MarkdownIt:
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


def _picture(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
    """Render an external picture as its description: fetching it would reveal that the document was read."""
    return f'<span class="picture">{escape(tokens[at].content or "picture")}</span>'


def _fence(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
    language = (tokens[at].info.split() or [""])[0]
    return code(tokens[at].content.rstrip("\n"), language)


def _link(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
    return f'<a href="{escape(str(tokens[at].attrGet("href") or ""))}" rel="noopener noreferrer nofollow">'


def _cell(_self: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
    """Render a cell without its alignment, which would need an inline style."""
    return f"<{tokens[at].tag}>"


def _coloured(text: str, language: str) -> str:
    if not language or len(text) > _MAX_COLOURED_CHARS or any(len(x) > _MAX_COLOURED_LINE for x in text.split("\n")):
        return escape(text)
    try:
        lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return str(highlight(text, lexer, HtmlFormatter[str](nowrap=True)))


MAX_PICTURE_BYTES = 4 * 2**20
MAX_PICTURES_BYTES = 64 * 2**20


def export_html(source: ExportSource) -> Iterator[str]:
    facts = read_facts(source)
    page = _Page(source)
    yield _head(facts)
    for entries in read_turns(source, facts):
        yield '<section class="turn">\n'
        for entry in entries:
            yield page.entry(entry)
        yield "</section>\n"
    if facts.turns.plan:
        plan = prose(shown(facts.turns.plan))
        yield f'<section class="turn">\n<h2>Plan</h2>\n<div class="said">{plan}</div>\n</section>\n'
    yield _foot(facts)


def _head(facts: Facts) -> str:
    style = resource_path("export", "page.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    session, usage = facts.session, facts.turns.usage
    title = escape(one_line(session.title)) or "Untitled session"
    rows = {
        "Session": session.session_id,
        "Folder": session.workspace,
        "Model": session.model.name if session.model else "",
        "From": when(session.opened_at),
        "Turns": f"{facts.turns.turn}",
        "Cost": cost_text(usage.cost_usd, is_partial=usage.is_cost_partial),
        "Tokens": f"{usage.context_tokens - usage.output_tokens:,} read, {usage.output_tokens:,} written",
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(one_line(text, 1000))}</dd>\n" for name, text in rows.items() if text)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{title}</h1>\n<dl>\n{listed}</dl>\n</header>\n"
    )


def _foot(facts: Facts) -> str:
    lines = "".join(f'<p class="line warning">{escape(line)}</p>\n' for line in damage_lines(facts.damages))
    heading = "<h2>Records that could not be read</h2>\n" if lines else ""
    return f"{heading}{lines}<footer>Exported from Desktop Agent.</footer>\n</main>\n</body>\n</html>\n"


class _Page(Struct):
    source: ExportSource
    _picture_bytes: int = 0

    def entry(self, entry: Entry) -> str:
        match entry:
            case ev.PromptSubmitted():
                moment = f'<p class="when">Turn {entry.turn} · {when(entry.at)}</p>\n'
                return f'{moment}<div class="prompt">{escape(shown(entry.text))}</div>\n'
            case ev.Steered():
                return f'<div class="prompt">{escape(shown(entry.text))}</div>\n'
            case TextEntry(kind="thinking"):
                body = f"<div>{escape(shown(entry.text).strip())}</div>"
                return f'<details class="thinking"><summary>Thinking</summary>\n{body}\n</details>\n'
            case TextEntry():
                return f'<div class="said">{prose(shown(entry.text))}</div>\n'
            case ToolEntry():
                return self._call(entry)
            case ev.CommandRun():
                said = prose(shown(entry.output))
                line = escape(line_of(entry))
                return f'<p class="line"><code>{line}</code></p>\n<div class="said">{said}</div>\n'
            case CompactionEntry():
                items = "".join(f"<li>{escape(line)}</li>" for line in summary_lines(entry.summary))
                return f'<p class="line">{escape(line_of(entry))}</p>\n<ul class="line">{items}</ul>\n'
            case NoticeEntry(notice=notice):
                return f'<p class="line {notice.level}">{escape(line_of(entry))}</p>\n'
            case _:
                return f'<p class="line">{escape(line_of(entry))}</p>\n'

    def _call(self, entry: ToolEntry) -> str:
        name, _, rest = call_title(entry).partition(" ")
        mark = f'<span class="mark {entry.state}">{MARKS[entry.state]}</span>'
        summary = f'<summary>{mark} <span class="tool">{escape(name)}</span> {escape(rest)}</summary>'
        explained = explanation_in(entry)
        parts = [f'<p class="line">{escape(explained)}</p>\n'] if explained else []
        if entry.changes:
            patch = diff_of(entry.changes, self.source).split("\n")
            lines = "".join(f'<span class="{_class(line)}">{escape(line)}</span>\n' for line in patch)
            parts.append(_labelled("Changes", f'<pre class="diff"><code>{lines}</code></pre>\n'))
        if not entry.changes and entry.call.arguments:
            parts.append(_labelled("Arguments", code(arguments_of(entry), "json")))
        if result := result_of(entry):
            parts.append(_labelled("Result", code(result)))
        if entry.result is not None:
            parts += [self._picture(ref) for ref in entry.result.images]
        return f"<details>{summary}\n{''.join(parts)}</details>\n"

    def _picture(self, ref: BlobRef) -> str:
        if ref.media_type not in PICTURE_TYPES or ref.size > MAX_PICTURE_BYTES:
            return '<p class="line">A picture is not shown: it is too large.</p>\n'
        if self._picture_bytes + ref.size > MAX_PICTURES_BYTES:
            return '<p class="line">A picture is not shown: there are too many.</p>\n'
        try:
            content = self.source.blobs.get(ref.blob, size=ref.size)
            media_type = inspect_picture(content).media_type
        except (StorageError, PictureError):
            return '<p class="line">A picture is not shown: it is no longer there.</p>\n'
        self._picture_bytes += ref.size
        data = b64encode(content).decode()
        return f'<p><img alt="A picture that the call returned" src="data:{media_type};base64,{data}"></p>\n'


def _labelled(label: str, block: str) -> str:
    return f'<p class="label">{label}</p>\n{block}'


def _class(line: str) -> str:
    if line.startswith("@@"):
        return "at"
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ", "similarity", "# ")):
        return "head"
    return {"+": "add", "-": "del"}.get(line[:1], "same")
