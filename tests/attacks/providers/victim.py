"""The client under attack, as a process of its own whose memory can be measured and limited.

Reads one JSON object per line, `{"url": …, "environ": {…}}`, and asks that address. Writes one line for each: the fault
and its words, or the answer, and the peak growth of memory in MiB.
"""

import asyncio
import json
import os
import random
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolUseBlock, UserMessage
from desktop_agent.core.providers.provider import Completion, RetryPolicy
from tests.providers import anthropic_provider

KEY = "sk-ant-test-0123456789abcdef"
PROMPT = "the whole conversation"
SILENCE_S = 2.0
_NET_BYTES = 2 * 2**30
"""The process's limit of further memory; only failing tests reach it."""


def main() -> None:
    with asyncio.Runner() as runner:
        runner.run(_asked("http://127.0.0.1:1", {}))  # imports everything
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + _NET_BYTES, size + _NET_BYTES))
        for line in sys.stdin:
            order = cast("dict[str, object]", json.loads(line))
            environ = cast("dict[str, str]", order.get("environ", {}))
            before = _resident("VmRSS", is_reset=True)
            with _environment(environ):
                outcome = runner.run(_asked(str(order["url"]), order))
            outcome["growth_mib"] = round((_resident("VmHWM") - before) / 1024, 1)
            sys.stdout.write(json.dumps(outcome) + "\n")
            sys.stdout.flush()


async def _asked(url: str, order: dict[str, object]) -> dict[str, object]:
    allows = order.get("allows_readable_proxy") is True
    provider = anthropic_provider(api_key=KEY, base_url=url, silence_s=SILENCE_S, allows_readable_proxy=allows)
    request = ModelRequest(
        model="claude-test",
        system="",
        messages=(UserMessage(content=(TextBlock(text=PROMPT),)),),
        tools=(),
        max_tokens=9,
    )
    try:
        if order.get("lists_models"):
            return {"window": await provider.context_window("claude-test")}
        async for piece in provider.stream(request):
            if isinstance(piece, Completion):
                return _completed(piece)
    except ProviderError as error:
        delay_s = RetryPolicy().delay_s(1, error, random.random) if error.is_transient else None
        return {"fault": error.fault, "words": f"{error} {error.detail}", "delay_s": delay_s}
    finally:
        await provider.aclose()
    return {"fault": "none", "words": "the stream ended without an answer"}


def _completed(answer: Completion) -> dict[str, object]:
    calls = [block for block in answer.content if isinstance(block, ToolUseBlock)]
    usage = answer.usage
    return {
        "calls": [[call.name, bool(call.rejected)] for call in calls],
        "text": "".join(block.text for block in answer.content if isinstance(block, TextBlock)),
        "tokens": [usage.input_tokens, usage.output_tokens],
        "stop_reason": answer.stop_reason,
    }


@contextmanager
def _environment(values: dict[str, str]) -> Generator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _resident(field: str, *, is_reset: bool = False) -> int:
    """Return the memory in use, or its peak since the last reset, in KiB."""
    if is_reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1])


if __name__ == "__main__":
    main()
