"""Anthropic's SDK in its process: how soon a request leaves, and what a piece of the answer costs on its way to us.

The yardstick of the first is `import anthropic` in a process of its own, in turns, in medians: both wait for the disk.
"""

import asyncio
import statistics
import sys
import time
from pathlib import Path

import psutil
from msgspec.structs import replace

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.protocol.events import TextDelta
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, UserMessage
from desktop_agent.core.providers.provider import whole_answer
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential, sdk_connection
from tests.benchmarks.bench_stream import DELTAS, KEY, answer
from tests.benchmarks.paced_server import paced
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.model_server import Exchange
from tests.servers.script import reply, text

MOST_OF_IMPORT = 1.15
MOST_MS = 0.3
REQUEST = ModelRequest(
    model="m", system="", messages=(UserMessage(content=(TextBlock(text="Tell me."),)),), tools=(), max_tokens=9
)


async def test_a_request_leaves_soon_after_the_sdk_is_imported(is_nightly: bool) -> None:
    imported, asked = list[float](), list[float]()

    def note(_: Exchange) -> None:
        asked.append(time.perf_counter() - begun)

    rounds = 15 if is_nightly else 5
    async with AnthropicServer(*(reply(text("Hello.")) for _ in range(rounds)), on_request=note) as server:
        account = replace(usual_account("anthropic"), address=server.url)
        for _ in range(rounds):
            begun = time.perf_counter()
            importing = await asyncio.create_subprocess_exec(sys.executable, "-c", "import anthropic")
            await importing.wait()
            imported.append(time.perf_counter() - begun)
            connection = sdk_connection(account, {})
            provider = account_provider(account, key_credential(account, KEY), sdk=connection)
            begun = time.perf_counter()
            await whole_answer(provider, REQUEST)
            await provider.aclose()
    own, least = statistics.median(asked), statistics.median(imported)
    print(
        f"import anthropic {least * 1000:.0f} ms | the request leaves after {own * 1000:.0f} ms, ratio"
        f" {own / least:.2f} (limit {MOST_OF_IMPORT})"
    )
    assert own / least <= MOST_OF_IMPORT


async def test_a_piece_of_an_answer_costs_little_through_the_pipe(tmp_path: Path, is_nightly: bool) -> None:
    """In processor time of our thread and of all of the SDK's process, the best of the rounds."""
    ours, theirs = list[float](), list[float]()
    with paced(answer(), ANTHROPIC, tmp_path, 0) as url:
        account = replace(usual_account("anthropic"), address=url)
        connection = sdk_connection(account, {})
        provider = account_provider(account, key_credential(account, KEY), sdk=connection)
        await whole_answer(provider, REQUEST)  # imports what the first answer needs
        assert connection.pid is not None
        process = psutil.Process(connection.pid)
        for _ in range(5 if is_nightly else 3):
            before, begun = process.cpu_times(), time.thread_time()
            pieces = [piece async for piece in provider.stream(REQUEST) if isinstance(piece, TextDelta)]
            ours.append((time.thread_time() - begun) * 1000 / DELTAS)
            after = process.cpu_times()
            spent = after.user + after.system - before.user - before.system
            theirs.append(spent * 1000 / DELTAS)
            assert "".join(piece.text for piece in pieces) == "word " * DELTAS
        await provider.aclose()
    print(f"a piece: our thread {min(ours):.3f} ms, the SDK's process {min(theirs):.3f} ms (limit {MOST_MS} in all)")
    assert min(ours) + min(theirs) <= MOST_MS
