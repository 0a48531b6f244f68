"""Tags and text of an HTML page, in time that grows with its length only.

Python's own parser takes quadratic time for a comment or tag that is never closed, which is hours for two megabytes
that an attacker wrote for that purpose. This one knows less, as much as reading a page takes: it drops scripts, styles,
comments and declarations, and what is never closed ends the page, as in the HTML standard.
"""

import re
from html import unescape

_MARKUP = re.compile(r"<(!--|[!?]|(?:script|style)(?=[\s/>])|/?[a-z][^\s/>]*+)", re.IGNORECASE)
_END_OF = {
    "!--": re.compile("-->"),
    "!": re.compile(">"),
    "?": re.compile(">"),
    "script": re.compile(r"</script[^>]*+>", re.IGNORECASE),
    "style": re.compile(r"</style[^>]*+>", re.IGNORECASE),
}
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+|=)           # a name, or an equals sign out of place
        (?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]++)?+)?+   # its value""",
    re.VERBOSE,
)
_TAG_END = re.compile(r"[\s/]*+>")


class HtmlReader:
    """Base of readers: calls one method for every tag and text, in order."""

    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        """A tag begins; names are in lower case, and a tag that closes itself ends right away."""

    def handle_end(self, tag: str) -> None:
        """A tag ends. It need not have begun."""

    def handle_text(self, text: str) -> None:
        """Text between two tags, with its character references resolved."""

    def read(self, html: str) -> None:
        """Go through a whole page."""
        position = 0
        while (found := _MARKUP.search(html, position)) is not None:
            if found.start() > position:
                self.handle_text(unescape(html[position : found.start()]))
            end = self._behind(html, found, found[1].lower())
            if end is None:
                return
            position = end
        if position < len(html):
            self.handle_text(unescape(html[position:]))

    def _behind(self, html: str, found: re.Match[str], name: str) -> int | None:
        """Take up one piece of markup and return where it ends; None when it never does."""
        if (ending := _END_OF.get(name)) is not None:
            closed = ending.search(html, found.start() + 2)
            return closed.end() if closed is not None else None
        attributes, end = _attributes(html, found.end())
        if end is None:
            return None
        if name.startswith("/"):
            self.handle_end(name[1:])
            return end
        self.handle_start(name, attributes)
        if html[end - 2] == "/":
            self.handle_end(name)
        return end


def _attributes(html: str, position: int) -> tuple[dict[str, str], int | None]:
    """Return a tag's attributes, of equal ones the first, and where the tag ends."""
    attributes: dict[str, str] = {}
    while (closed := _TAG_END.match(html, position)) is None:
        found = _ATTRIBUTE.match(html, position)
        if found is None:
            return attributes, None
        value = found[2] or ""
        if value[:1] in ("'", '"') and len(value) > 1 and value[-1] == value[0]:
            value = value[1:-1]
        attributes.setdefault(found[1].lower(), unescape(value))
        position = found.end()
    return attributes, closed.end()
