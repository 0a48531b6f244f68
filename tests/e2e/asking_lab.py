"""A process that asks the user, and is killed while it waits for the answer.

    python -m tests.e2e.asking_lab FOLDER URL

It prints its session's id once the question is recorded, and waits.
"""

import asyncio
import sys
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import Provider
from tests.harness import FrozenClock, Ground
from tests.providers import anthropic_provider


async def ask(folder: Path, url: str) -> None:
    async def source(_model: ModelRef) -> Provider:
        return anthropic_provider(api_key="key", base_url=url)

    ground = Ground(folder)
    ground.clock = FrozenClock()
    ground.write("a.py", "x = 1\n")
    async with ground.session([], provider_source=source) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        print(s.id, flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(ask(Path(sys.argv[1]), sys.argv[2]))  # noqa: TID251 - the entry point of a process
