"""A real server on loopback with a scripted model, and a client with its token."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from msgspec.structs import replace

from desktop_agent.core.providers.scripted import Reply, Script, ScriptedProvider, in_order
from desktop_agent.rest.guard import ServerLimits
from desktop_agent.rest.server import RestServer, ServeOptions
from tests.certificates import Authority
from tests.harness import PATIENCE_S, Ground

NEW = {"provider": "demo", "sandbox": "none"}


@dataclass(frozen=True)
class Block:
    id: int | None
    event: str
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return self.data["type"]


@dataclass
class Served:
    ground: Ground
    server: RestServer
    client: httpx2.AsyncClient
    provider: ScriptedProvider

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.get(path, **options)

    async def post(self, path: str, body: object = None) -> httpx2.Response:
        return await self.client.post(path, json={} if body is None else body)

    async def start(self, **options: Any) -> str:
        answer = await self.post("/v1/sessions", NEW | options)
        assert answer.status_code == 201, answer.text
        return answer.headers["location"]

    async def op(self, session: str, kind: str, **fields: Any) -> httpx2.Response:
        answer = await self.post(f"{session}/ops", {"type": kind, **fields})
        assert answer.status_code == 202, answer.text
        return answer

    async def run(self, session: str, prompt: str = "go") -> list[Block]:
        before = (await self.get(session)).json()["last_seq"]
        async with asyncio.timeout(PATIENCE_S), self.events(session, after=before) as coming:
            await self.post(f"{session}/prompts", {"text": prompt})
            return await up_to(coming, "turn_ended")

    async def until(self, session: str, kind: str, *, after: int = 0) -> list[Block]:
        async with asyncio.timeout(PATIENCE_S):
            answer = await self.get(f"{session}/events", params={"after": after, "until": kind})
        return [block async for block in blocks_of(answer)]

    @asynccontextmanager
    async def events(self, session: str, *, after: int = 0) -> AsyncGenerator[AsyncGenerator[Block]]:
        headers = {"last-event-id": str(after)}
        async with self.client.stream("GET", f"{session}/events", headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            blocks = blocks_of(answer)
            try:
                yield blocks
            finally:
                await blocks.aclose()


async def up_to(coming: AsyncGenerator[Block], kind: str) -> list[Block]:
    """Return the blocks up to the first event of this kind; fail with the blocks received."""
    blocks: list[Block] = []
    async for block in coming:
        blocks.append(block)
        if block.type == kind:
            return blocks
    raise AssertionError(f"no {kind} came, but {[block.type for block in blocks]}")


async def blocks_of(answer: httpx2.Response, most: int | None = None) -> AsyncGenerator[Block]:
    """Yield the blocks of a stream that is cut after `most` characters.

    As the standard says, a cut block does not count.
    """
    rest = ""
    left = most
    async for came in answer.aiter_text():
        text = came[:left]
        left = None if left is None else left - len(text)
        *whole, rest = (rest + text).split("\n\n")
        for part in whole:
            fields = dict(line.split(": ", 1) for line in part.split("\n") if not line.startswith(":"))
            if fields:
                number = int(fields["id"]) if "id" in fields else None
                yield Block(number, fields["event"], json.loads(fields["data"]))
        if left == 0:
            return


@asynccontextmanager
async def serving(
    folder: Path | Ground,
    script: Script | Iterable[Reply] = (),
    *,
    limits: ServerLimits | None = None,
    authority: Authority | None = None,
) -> AsyncGenerator[Served]:
    """Serve on loopback; the model follows `script`. At the end the server is interrupted, and must stop."""
    ground = folder if isinstance(folder, Ground) else Ground(folder)
    provider = ScriptedProvider(script if callable(script) else in_order(script), clock=ground.clock)
    options = ServeOptions(folder=ground.workspace, limits=limits or ServerLimits())
    if authority is not None:
        certificate, key = authority.issue("server")
        options = replace(options, certificate=certificate, key=key)
    server = RestServer(ground.bench(provider), options)
    server.listen()
    running = asyncio.create_task(server.run())
    headers = {"authorization": f"Bearer {server.token}"}
    trusted = (
        ssl.create_default_context(cafile=authority.file) if authority is not None else False
    )  # reading all takes long
    try:
        async with httpx2.AsyncClient(
            base_url=server.url, headers=headers, timeout=PATIENCE_S, trust_env=False, verify=trusted
        ) as client:
            yield Served(ground, server, client, provider)
    finally:
        server.interrupt()
        async with asyncio.timeout(PATIENCE_S):
            await running


@asynccontextmanager
async def raw_connection(server: RestServer) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = int(server.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
