"""Links from paths in messages and output to existing files of the open folder."""

from collections.abc import Iterable, Iterator, Mapping

from desktop_agent.core.base.regex import regex
from desktop_agent.ui.chat.markdown.parser import CODE, LINK, InlineSpan, RichText
from desktop_agent.ui.wording import utf16_length


class KnownFiles:
    def __init__(self) -> None:
        self._root = ""
        self._paths: frozenset[str] = frozenset()
        self._names: Mapping[str, str] = {}
        self._changed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self._paths or self._changed)

    @property
    def root(self) -> str:
        """The open folder; empty if there is none."""
        return self._root.removesuffix("/")

    def set_files(self, root: str, paths: frozenset[str], names: Mapping[str, str]) -> bool:
        """`names` come from `names_alone`. Return whether the files changed."""
        is_other = (self._root, self._paths) != (f"{root}/", paths)
        self._root, self._paths, self._names = f"{root}/", paths, names
        self._changed = frozenset()
        return is_other

    def set_changed(self, paths: Iterable[str]) -> None:
        """Set the files that the conversation changed, because the listing may lack new ones."""
        self._changed = frozenset(paths)

    def find(self, written: str) -> str:
        """Return the file for a written path or name, relative to the folder; empty if there is none."""
        path = written.removeprefix("./")
        if path.startswith("/"):
            if not path.startswith(self._root):
                return ""
            path = path.removeprefix(self._root)
        if path in self._paths or path in self._changed:
            return path
        return self._names.get(path, "") if "." in path else ""


def names_alone(paths: Iterable[str]) -> dict[str, str]:
    """Map each file name that only one of these paths has to this path. Call this in a thread."""
    found: dict[str, str] = {}
    for path in paths:
        name = path.rpartition("/")[2]
        found[name] = "" if name in found else path
    return {name: path for name, path in found.items() if path}


_PATH = regex(
    r"(?<![\w/\\@:.-])"  # not within a word, an address or another path
    r"(?P<path>/?[\w.@+-]+(?:/[\w.@+\[\]-]+)*)"
    r"(?:(?:\", line |:|#L|\()(?P<line>\d{1,7}))?"
)
_SCHEME = "file:"


def file_links(text: str, known: KnownFiles) -> Iterator[InlineSpan]:
    """Yield the links to files in `text`, in order: a path, and the line number after it if any."""
    if not known or ("." not in text and "/" not in text):
        return
    is_ascii = text.isascii()
    for found in _PATH.finditer(text):
        path, line = found["path"], found["line"]
        end = found.end()
        if line is None and path.endswith("."):
            path = path.rstrip(".")
            end = found.start() + len(path)
        if file := known.find(path):
            start = found.start() if is_ascii else utf16_length(text[: found.start()])
            yield InlineSpan(start, utf16_length(text[found.start() : end]), 0, f"{_SCHEME}{file}:{line or 0}")


def file_of(href: str) -> tuple[str, int] | None:
    """Return the path and the line (0: none) of a link to a file; `None` for other links."""
    if not href.startswith(_SCHEME):
        return None
    path, _, line = href.removeprefix(_SCHEME).rpartition(":")
    return path, int(line)


def with_file_links(rich: RichText, known: KnownFiles) -> RichText:
    """Return a text in which paths link to files. Inline code becomes a link only if all of it is a path."""
    links = list(file_links(rich.text, known))
    if not links:
        return rich
    spans: list[InlineSpan] = []
    at = 0
    for span in (*rich.spans, InlineSpan(utf16_length(rich.text), 0, 0)):
        spans += _linked(at, span.start, 0, links)
        end = span.start + span.length
        if span.href:
            spans.append(span)
        elif span.style & CODE:
            whole = [link for link in links if (link.start, link.length) == (span.start, span.length)]
            spans.append(span._replace(style=span.style | LINK, href=whole[0].href) if whole else span)
        elif span.length:
            spans += _linked(span.start, end, span.style, links)
        at = end
    return RichText(rich.text, tuple(spans))


def _linked(start: int, end: int, style: int, links: list[InlineSpan]) -> Iterator[InlineSpan]:
    for link in links:
        if start <= link.start and link.start + link.length <= end:
            if style and link.start > start:
                yield InlineSpan(start, link.start - start, style)
            yield InlineSpan(link.start, link.length, style | LINK, link.href)
            start = link.start + link.length
    if style and end > start:
        yield InlineSpan(start, end - start, style)
