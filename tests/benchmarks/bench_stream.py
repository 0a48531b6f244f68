"""A piece of an answer from the socket to the event for a front end, in each wire format.

The yardstick is the vendor's own SDK on the same stream; the floor is asyncio reading lines and their JSON. The server
is a process of its own. Compared is processor time of the client's thread, the best of the rounds.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from desktop_agent import Agent, ModelRef, events
from tests.benchmarks.paced_server import paced
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import Reply, reply, text

MOST_MS = 0.2
"""For a piece that arrives without waiting."""
MOST_OF_SDK = 1.3
"""For a piece that is waited for, where waking up takes most of the time."""
PIECE = "word "
DELTAS = 1_000
_ONE_PIECE = json.dumps(PIECE).encode()
PACES = {"500 a second": 500, "as fast as they come": 0}
KEY = "sk-test-0123456789abcdef"


@dataclass
class Reading:
    work: list[float] = field(default_factory=list[float])

    def note(self) -> None:
        self.work.append(time.thread_time())

    @property
    def work_ms(self) -> float:
        return (self.work[-1] - self.work[0]) * 1_000 / (len(self.work) - 1)


async def by_session(provider: str, url: str, folder: Path) -> Reading:
    reading = Reading()

    def hear(event: events.Event) -> None:
        if isinstance(event, events.TextDelta):
            reading.note()

    model = ModelRef(provider=provider, model="m", base_url=url)
    async with Agent(folder, model=model, home=folder / "home", on_event=hear) as agent:
        await agent.run("Tell me.")
    return reading


async def by_lines(url: str) -> Reading:
    """The floor: read each piece, and no more."""
    reading, address = Reading(), urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(b"POST / HTTP/1.1\r\n\r\n")
    while (line := await reader.readline()) != b"0\r\n":
        if line.startswith(b"data: ") and _ONE_PIECE in line:
            json.loads(line[6:])
            reading.note()
    writer.close()
    await writer.wait_closed()
    return reading


async def _read(stream: AsyncIterator[Any], is_piece: Callable[[Any], bool]) -> Reading:
    reading = Reading()
    async for event in stream:
        if is_piece(event):
            reading.note()
    return reading


async def by_anthropic(url: str) -> Reading:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(api_key=KEY, base_url=url) as client:
        stream = await client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Tell me."}], stream=True
        )
        return await _read(stream, lambda event: event.type == "content_block_delta")


async def by_responses(url: str) -> Reading:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=KEY, base_url=url) as client:
        stream = await client.responses.create(model="m", input="Tell me.", stream=True)
        return await _read(stream, lambda event: event.type == "response.output_text.delta")


async def by_chat(url: str) -> Reading:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=KEY, base_url=url) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Tell me."}], stream=True
        )
        return await _read(stream, lambda chunk: bool(chunk.choices and chunk.choices[0].delta.content))


SDKS: dict[str, tuple[Dialect, Callable[[str], Awaitable[Reading]]]] = {
    "anthropic": (ANTHROPIC, by_anthropic),
    "openai": (RESPONSES, by_responses),
    "openai-chat": (CHAT, by_chat),
}


def answer() -> Reply:
    return reply(text(PIECE * DELTAS, piece=len(PIECE)))


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("provider", SDKS)
async def test_a_piece_of_an_answer_costs_little_from_the_socket_to_its_event(
    provider: str, pace: str, tmp_path: Path, is_nightly: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    dialect, by_sdk = SDKS[provider]
    floor, theirs, ours = list[Reading](), list[Reading](), list[Reading]()
    with paced(answer(), dialect, tmp_path, PACES[pace]) as url:
        for _ in range(5 if is_nightly else 3):
            floor.append(await by_lines(url))
            theirs.append(await by_sdk(url))
            ours.append(await by_session(provider, url, tmp_path))
    assert {len(reading.work) for reading in (*floor, *theirs, *ours)} == {DELTAS}
    least, sdk, own = (min(reading.work_ms for reading in side) for side in (floor, theirs, ours))
    print(
        f"{provider:12} {pace:20} floor {least:.3f} ms | SDK {sdk:.3f} ms | ours {own:.3f} ms,"
        f" {own / sdk:.2f} times the SDK"
    )
    assert own <= (MOST_OF_SDK * sdk if PACES[pace] else MOST_MS)
