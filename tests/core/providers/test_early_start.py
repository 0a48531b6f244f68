"""What a model needs to be asked starts when the model is chosen, and ends after the next one has started."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import EarlyStart

ONE, TWO = (ModelRef(provider="bedrock", model=name) for name in ("one", "two"))


class Processes:
    def __init__(self) -> None:
        self.story: list[str] = []
        self.changed = asyncio.Condition()

    @asynccontextmanager
    async def started(self, model: ModelRef) -> AsyncGenerator[None]:
        await self._note(f"{model.model} starts")
        try:
            yield
        finally:
            await self._note(f"{model.model} ends")

    async def until(self, *story: str) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.story == [*story])

    async def _note(self, words: str) -> None:
        async with self.changed:
            self.story.append(words)
            self.changed.notify_all()


async def test_the_next_model_starts_before_the_last_one_ends() -> None:
    processes = Processes()
    early = EarlyStart(processes.started)
    early.follow(ONE)
    await processes.until("one starts")
    early.follow(ModelRef(provider="bedrock", model="one", effort="high"))
    early.follow(TWO)
    await processes.until("one starts", "two starts", "one ends")
    await early.aclose()
    assert processes.story[3:] == ["two ends"]


async def test_models_chosen_in_quick_succession_and_an_end_right_after_leave_nothing() -> None:
    processes = Processes()
    early = EarlyStart(processes.started)
    early.follow(ONE)
    early.follow(TWO)
    early.follow(ONE)
    await processes.until("one starts", "two starts", "one starts", "one ends", "two ends")
    early.follow(TWO)
    await early.aclose()
    starts, ends = (sum(words.endswith(kind) for words in processes.story) for kind in ("starts", "ends"))
    assert starts == ends
