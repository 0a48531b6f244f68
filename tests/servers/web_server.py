"""A small web on loopback: canned pages, recorded requests, and pages that never end."""

import asyncio
import ssl
from dataclasses import dataclass, field
from http import HTTPStatus

from desktop_agent.core.system.network.connections import IpAddress, is_public
from desktop_agent.core.tools.web import AddressBook
from tests.servers.http1 import HttpRequest, LoopbackServer, read_request

HTML = "text/html; charset=utf-8"


def loopback_too(address: IpAddress) -> bool:
    return address.is_loopback or is_public(address)


LOOPBACK_BOOK = AddressBook(is_allowed=loopback_too)


@dataclass(frozen=True)
class Canned:
    body: bytes | str = b""
    content_type: str = HTML
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    stalls: bool = False


def redirect(target: str, status: int = 302) -> Canned:
    return Canned(b"elsewhere", status=status, headers={"location": target})


class WebServer(LoopbackServer):
    """Every answer ends its connection."""

    def __init__(self, pages: dict[str, Canned] | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self.pages = dict(pages or {})
        self.requests: list[HttpRequest] = []
        self.has_stalled = asyncio.Event()
        self.was_left = asyncio.Event()

    @property
    def paths(self) -> list[str]:
        return [request.path.partition("?")[0] for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if request is not None:
            self.requests.append(request)
            await self._answer(request, reader, writer)

    async def _answer(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        page = self.pages.get(request.path.partition("?")[0], Canned("nothing here", status=404))
        body = page.body.encode() if isinstance(page.body, str) else page.body
        announced = len(body) + (1_000 if page.stalls else 0)
        head = {"content-length": str(announced), "connection": "close"} | page.headers
        head |= {"content-type": page.content_type} if page.content_type else {}
        lines = [f"HTTP/1.1 {page.status} {HTTPStatus(page.status).phrase}", *(f"{k}: {v}" for k, v in head.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        await writer.drain()
        if page.stalls:
            self.has_stalled.set()
            await reader.read()
            self.was_left.set()
