"""Web pages: one bounded GET, where each redirect is checked like the first address, and HTML as readable text.

A name can lead to this machine or the local network, so the connection uses a checked address. Behind a proxy this is
impossible: only a caller that chose the host may use one (`route`). Charsets follow WHATWG Encoding. HTML is converted
in linear time, even for an unclosed comment or tag.
"""

import asyncio
import codecs
import importlib
import ipaddress
import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError, ToolError
from desktop_agent.core.base.file_types import byte_order_mark
from desktop_agent.core.base.regex import regex
from desktop_agent.core.system.network.connections import IpAddress, Proxy, Resolver, is_public, system_resolver

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

_MOST_TRIED = 4


class AddressBook(Struct, frozen=True, kw_only=True, eq=False):
    resolve: Resolver = system_resolver
    is_allowed: Callable[[IpAddress], bool] = is_public

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses to try, in order. Raises `ToolError` if there are none, or if any is not allowed."""
        try:
            found = await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            text = f"The host {host} could not be found. Check the address, or whether there is a network at all."
            raise ToolError(text, error_type="not_found") from error
        addresses = [ipaddress.ip_address(address) for address in found]
        for address in addresses:
            if not self.is_allowed(address):
                raise ToolError(
                    f"{host} leads to {address}, which is not on the public internet. This tool never connects to "
                    "this machine, the local network or a cloud's own services; use run_terminal_cmd for that.",
                    error_type="permission",
                )
        if not addresses:
            raise ToolError(f"The host {host} has no address.", error_type="not_found")
        return tuple(map(str, addresses[:_MOST_TRIED]))


ClientFactory = Callable[["Proxy | None"], "AsyncClient"]
"""For a proxy, or for direct connections (None); the client must not follow redirects itself."""
Route = Callable[[str], "Proxy | None"]
"""None for a direct connection. Raises `ProviderError` for an unusable proxy."""

MOST_REDIRECTS = 5
LONGEST_URL = 8_000
USER_AGENT = "desktop-agent (+a coding assistant that fetches for one user)"
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5",
    # Only gzip, which is unpacked here piece by piece, so that a small body cannot fill the memory.
    "Accept-Encoding": "gzip",
}


class Download(Struct, frozen=True, kw_only=True):
    """The answer to a request. `body` is decompressed. If `is_cut`, it is only the beginning."""

    url: str
    status: int
    reason: str
    content_type: str
    declared_bytes: int | None
    body: bytes
    is_cut: bool


def clients_with(headers: Mapping[str, str], timeout_s: float) -> ClientFactory:
    return partial(_client, headers, timeout_s)


def _client(headers: Mapping[str, str], timeout_s: float, proxy: Proxy | None) -> "AsyncClient":
    from desktop_agent.core.system.network.http_client import page_client

    return page_client(headers, timeout_s=timeout_s, proxy=proxy)


fetch_client = clients_with(_HEADERS, timeout_s=10.0)


def directly(_url: str) -> None: ...


def _import_library() -> None:
    """The imports take 0.1 to 0.3 s. Call this in a thread."""
    importlib.import_module("httpx2")
    importlib.import_module("anyio._backends._asyncio")


async def _send(client: "AsyncClient", url: "URL", book: AddressBook) -> "Response":
    import httpx2

    host = url.raw_host.decode("ascii")
    addresses = await book.addresses(host, url.port or _PORTS[url.scheme])
    for number, address in enumerate(addresses, 1):
        request = client.build_request(
            "GET",
            url.copy_with(host=address),
            headers={"Host": url.netloc.decode("ascii")},
            extensions=None if _is_address(host) else {"sni_hostname": host},
        )
        try:
            return await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if number == len(addresses):
                raise
    raise AssertionError("a host without an address was let through")


async def download(
    url: str, *, book: AddressBook, factory: ClientFactory, max_bytes: int, route: Route = directly
) -> Download:
    """Follow redirects. Raises `ToolError`. Pass a `route` only if the caller itself chose the host."""
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(_import_library)
        import httpx2

        clients: dict[Proxy | None, AsyncClient] = {}
        proxy = None
        first = place = checked_url(url)
        try:
            for _ in range(MOST_REDIRECTS + 1):
                proxy = await asyncio.to_thread(route, str(place))
                if proxy not in clients:
                    clients[proxy] = await stack.enter_async_context(await asyncio.to_thread(factory, proxy))
                client = clients[proxy]
                if proxy is None:
                    sending = _send(client, place, book)
                else:
                    _require_same_site(place, first)
                    sending = client.send(client.build_request("GET", place), stream=True)
                async with aclosing(await sending) as response:
                    target = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or not target:
                        return await _read(response, str(place), max_bytes)
                place = checked_url(target, base=place)
        except httpx2.TimeoutException as error:
            raise ToolError(f"{place.host} did not answer in time. Try again later, or another source.") from error
        except (httpx2.HTTPError, httpx2.StreamError, zlib.error) as error:
            text = f"{place.host} could not be read: {str(error) or type(error).__name__}."
            way = "directly, without a proxy" if proxy is None else f"through the proxy {proxy.address}"
            raise ToolError(f"{text} This tool connects {way}.") from error
        except ProviderError as error:
            raise ToolError(str(error)) from error
    raise ToolError(f"{url} redirects more than {MOST_REDIRECTS} times; the last stop was {place}.")


def _require_same_site(place: "URL", first: "URL") -> None:
    """Raises `ToolError` unless `place` is the host of `first`, or a sibling (`www.` and `cn.bing.com`)."""
    parent = "" if _is_address(first.host) else first.host.partition(".")[2]
    if place.host != first.host and not ("." in parent and place.host.endswith(f".{parent}")):
        raise ToolError(
            f"{first.host} redirects to {place.host}. Where that leads cannot be judged behind a proxy, so it is not "
            "followed.",
            error_type="permission",
        )


def checked_url(text: str, base: "URL | None" = None) -> "URL":
    import httpx2

    try:
        url = httpx2.URL(text) if base is None else base.join(text)
        host = url.raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise ToolError(f"{text[:200]!r} is not a valid URL: {error}.", error_type="validation") from error
    if url.port is not None and not 0 < url.port < 65_536:
        raise ToolError(f"{text[:200]!r} is not a valid URL: there is no such port.", error_type="validation")
    where = "" if base is None else f" (a redirect of {base})"
    if url.scheme not in ("http", "https") or not host:
        raise ToolError(
            f"Only http:// and https:// URLs can be fetched, not {text[:200]!r}{where}.", error_type="validation"
        )
    if url.userinfo:
        # The message does not repeat it, because it may be a password.
        raise ToolError(f"A URL with a user name or password in it is not fetched{where}.", error_type="validation")
    if len(str(url)) > LONGEST_URL:
        raise ToolError(f"The URL is longer than {LONGEST_URL:,} characters{where}.", error_type="validation")
    return url.copy_with(fragment=None)


async def _read(response: "Response", url: str, max_bytes: int) -> Download:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip"):
        raise ToolError(f"The answer came packed as {coding!r}, which was not asked for and is not unpacked.")
    unpacker = zlib.decompressobj(wbits=31) if coding.endswith("gzip") else None
    body = bytearray()
    async with aclosing(response.aiter_raw(65_536)) as pieces:
        async for piece in pieces:
            room = max_bytes + 1 - len(body)
            body += unpacker.decompress(piece, room) if unpacker is not None else piece[:room]
            if len(body) > max_bytes:
                break
    length = response.headers.get("content-length", "")
    return Download(
        url=url,
        status=response.status_code,
        reason=response.reason_phrase,
        content_type=response.headers.get("content-type", ""),
        declared_bytes=int(length) if length.isascii() and length.isdigit() else None,
        body=bytes(body[:max_bytes]),
        is_cut=len(body) > max_bytes,
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_HEADER = regex(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_IN_BODY = regex(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)|^<\?xml[^>]{0,200}?encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
_BODY_PROBE_BYTES = 4_096
_AS_BROWSERS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_NOT_FOR_TEXT = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined", "mbcs", "oem"}
)


def decoded(body: bytes, content_type: str) -> str:
    mark, encoding = byte_order_mark(body)
    if mark:
        return body[len(mark) :].decode(encoding, "replace")
    named = _HEADER.search(content_type)
    if named is not None and (encoding := _known(named[1])):
        return body.decode(encoding, "replace")
    meta = _IN_BODY.search(body[:_BODY_PROBE_BYTES])
    if meta is not None and (encoding := _known((meta[1] or meta[2]).decode("ascii", "replace"))):
        # A file that names its charset in ASCII cannot be UTF-16.
        return body.decode("utf-8" if encoding.startswith("utf-16") else encoding, "replace")
    return body.decode("utf-8", "replace")


def _known(name: str) -> str | None:
    try:
        encoding = codecs.lookup(name).name
        b"text".decode(encoding, "replace")  # decoding empty bytes would not use the codec
    except (LookupError, ValueError):
        return None
    return None if encoding in _NOT_FOR_TEXT else _AS_BROWSERS.get(encoding, encoding)


_MARKUP = regex(r"<(!--|[!?]|(?:script|style)(?=[\s/>])|/?[a-z][^\s/>]*+)", re.IGNORECASE)
_END_OF = {
    "!--": regex("-->"),
    "!": regex(">"),
    "?": regex(">"),
    "script": regex(r"</script[^>]*+>", re.IGNORECASE),
    "style": regex(r"</style[^>]*+>", re.IGNORECASE),
}
_ATTRIBUTE = regex(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+|=)           # a name, or an equals sign out of place
        (?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]++)?+)?+   # its value""",
    re.VERBOSE,
)
_TAG_END = regex(r"[\s/]*+>")


class HtmlReader:
    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag. Names are in lower case. A self-closing tag ends right after it."""

    def handle_end(self, tag: str) -> None:
        """Handle an end tag. The tag may never have started."""

    def handle_text(self, text: str) -> None:
        """Handle a text. Character references are resolved."""

    def read(self, html: str) -> None:
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


_RAW = frozenset({"template", "noscript", "svg", "iframe", "object", "select", "canvas"})
_NAVIGATION = frozenset({"nav"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "details", "dd", "div", "dl", "dt", "fieldset", "figcaption"}
    | {"figure", "footer", "form", "header", "html", "legend", "main", "ol", "p", "pre", "section", "summary", "table"}
    | {"ul"}
)
_SPACES = regex(r"[ \t\r\n\f\v]+")


class PageText(Struct, frozen=True):
    title: str
    text: str


def read_page(html: str, url: str) -> PageText:
    reader = _Reader(url, _RAW | _NAVIGATION)
    reader.read(html)
    if reader.skipping or not reader.text():  # an unclosed tag may have hidden the page
        reader = _Reader(url, _RAW)
        reader.read(html)
    return PageText(" ".join(reader.title.split()), reader.text())


class _Reader(HtmlReader):
    def __init__(self, url: str, skipped: frozenset[str]) -> None:
        self.title = ""
        self._url = url
        self._skipped = skipped
        self.skipping: list[str] = []
        self._parts: list[str] = []
        self._breaks = 0
        self._has_space = False
        self._lists: list[int | None] = []
        self._quotes = 0
        self._pre = 0
        self._cells = 0
        self._in_title = False
        self._link: tuple[str, int] | None = None

    def text(self) -> str:
        return "".join(self._parts).strip("\n")

    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in self._skipped:
            self.skipping.append(tag)
        if self.skipping:
            return
        match tag:
            case "title":
                self._in_title = True
            case "br":
                self._owe(1)
            case "hr":
                self._line("---")
            case "img" if attributes.get("alt", "").strip():
                self._word(f"[image: {' '.join(attributes['alt'].split())}]")
            case "a":
                self._end_link()
                self._link = (attributes.get("href", ""), len(self._parts))
            case "code" if not self._pre:
                self._word("`", glue=True)
            case "li":
                self._begin_item()
            case "tr":
                self._owe(1)
                self._cells = 0
            case "td" | "th":
                self._cells += 1
                self._has_space = False
                self._word("| " if self._cells == 1 else " | ", glue=True)
                self._has_space = False
            case _:
                self._begin_block(tag)

    def handle_end(self, tag: str) -> None:
        if self.skipping:
            if tag in self.skipping:
                while self.skipping.pop() != tag:
                    pass
            return
        match tag:
            case "title":
                self._in_title = False
            case "a":
                self._end_link()
            case "code" if not self._pre:
                self._parts.append("`")
            case "tr" if self._cells:
                self._parts.append(" |")
                self._cells = 0
                self._owe(1)
            case _ if tag in _BLOCKS or tag in _HEADINGS:
                self._end_block(tag)
            case _:
                pass

    def handle_text(self, text: str) -> None:
        if self.skipping:
            return
        if self._in_title:
            self.title += text
        elif self._pre:
            self._pay()
            self._parts.append(text)
        else:
            text = _SPACES.sub(" ", text)
            self._has_space = self._has_space or text.startswith(" ")
            if text.strip(" "):
                self._word(text.strip(" "), glue=True)
                self._has_space = text.endswith(" ")

    def _begin_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._line(_HEADINGS[tag] + " ")
        elif tag in ("ul", "ol"):
            self._owe(1 if self._lists else 2)
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "blockquote":
            self._owe(2)
            self._quotes += 1
        elif tag == "pre":
            self._line("```\n")
            self._pre += 1
        elif tag in _BLOCKS:
            self._owe(2)

    def _end_block(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._parts.append("\n```")
        elif tag == "table":
            self._cells = 0
        self._owe(1 if self._lists else 2)

    def _begin_item(self) -> None:
        self._owe(1)
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        mark = "- " if number is None else f"{number + 1}. "
        self._word("  " * max(0, min(len(self._lists), 10) - 1) + mark, glue=True)

    def _end_link(self) -> None:
        if self._link is None:
            return
        href, start = self._link
        self._link = None
        text = "".join(self._parts[start:])
        target = _absolute(self._url, href)
        if not target or not text.strip():
            return
        if "\n" in text.strip():  # a whole block that is a link
            self._parts.append(f" ({target})")
            return
        lead = text[: len(text) - len(text.lstrip())]
        self._parts[start:] = [f"{lead}[{text.strip()}]({target})"]

    def _owe(self, breaks: int) -> None:
        if self._cells:
            self._has_space = True
        else:
            self._breaks = max(self._breaks, breaks)

    def _line(self, text: str) -> None:
        self._owe(2)
        self._word(text, glue=True)
        if text == "---":
            self._owe(2)

    def _word(self, text: str, *, glue: bool = False) -> None:
        self._has_space = self._has_space or not glue
        self._pay()
        self._parts.append(text)
        self._has_space = not glue

    def _pay(self) -> None:
        if self._breaks:
            if self._parts:
                self._parts.append("\n" * self._breaks)
            self._parts.append("> " * min(self._quotes, 5))
        elif self._has_space and self._parts and not self._parts[-1].endswith((" ", "\n")):
            self._parts.append(" ")
        self._breaks = 0
        self._has_space = False


def _absolute(base: str, href: str) -> str:
    if not href.strip() or href.lstrip().startswith("#"):
        return ""
    try:
        target = urljoin(base, href.strip())
    except ValueError:
        return ""
    return target if target.lower().startswith(("http://", "https://")) and " " not in target else ""
