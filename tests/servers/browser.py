"""The browser of a user who signs in: opens a page, follows redirects, and shows the result."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit


class Shown(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: str


async def ask(address: str, *, method: str = "GET", host: str | None = None, head: bytes | None = None) -> Shown:
    """Send one request to a loopback address and return the response; `head` replaces a well-formed head."""
    parts = urlsplit(address)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
    try:
        writer.write(head or f"{method} {target} HTTP/1.1\r\nHost: {host or parts.netloc}\r\n\r\n".encode())
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        return Shown(int(first.split(" ")[1]), headers, body.decode())
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


class UserInBrowser:
    """Signs in at each opened page while the context is open; leaving it waits for the last page."""

    def __init__(self, *, opens: bool = True, on_the_way: Callable[[str], str] = lambda address: address) -> None:
        """`opens` is whether there is a browser; `on_the_way` may change the service's redirect."""
        self.opened: list[str] = []
        self.shown_by_hand: list[str] = []
        self.pages: list[Shown] = []
        self.sent_to: list[str] = []
        self.is_at_the_user = asyncio.Event()
        """Set when an address was shown to the user."""
        self.has_seen_a_page = asyncio.Event()
        self._opens = opens
        self._on_the_way = on_the_way
        self._visits: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*self._visits, return_exceptions=kind is not None)

    async def open(self, address: str) -> bool:
        self.opened.append(address)
        if self._opens:
            self.visit(address)
        return self._opens

    def show(self, address: str) -> None:
        self.shown_by_hand.append(address)
        self.is_at_the_user.set()

    def visit(self, address: str) -> None:
        self._visits.append(asyncio.ensure_future(self._visit(address)))

    async def _visit(self, address: str) -> None:
        answer = await ask(address)
        if answer.status == 302:
            target = self._on_the_way(answer.headers["location"])
            self.sent_to.append(target)
            self.pages.append(await ask(target))
            self.has_seen_a_page.set()


async def browse(address: str) -> None:
    async with UserInBrowser() as browser:
        await browser.open(address)


class ClosedBrowser(UserInBrowser):
    def __init__(self) -> None:
        super().__init__()
        self.is_open = asyncio.Event()

    async def open(self, address: str) -> bool:
        self.opened.append(address)
        self.is_open.set()
        return True


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        runner.run(browse(sys.argv[1]))
