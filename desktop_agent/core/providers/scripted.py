"""The scripted provider: a deterministic model that streams what a script says, for the demo and for tests."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.context.tokens import definition_text
from desktop_agent.core.protocol.events import TextDelta, ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    JsonObject,
    ModelRequest,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.providers.provider import Completion, StreamPiece, writing_call

_CHARS_PER_TOKEN = 4
_CHUNK_CHARS = 12


class Say(Struct, frozen=True):
    text: str


class Think(Struct, frozen=True):
    text: str


class Call(Struct, frozen=True):
    """A step of a script: call a tool. `malformed` is JSON text sent instead of the arguments, as by a broken model."""

    name: str
    arguments: JsonObject = field(default_factory=dict[str, object])
    malformed: str | None = None


class Fail(Struct, frozen=True):
    error: ProviderError


class Crash(Struct, frozen=True):
    """Raise an exception that no provider should raise, to simulate a defect."""

    error: Exception


class Cost(Struct, frozen=True):
    usd: float | None


class Hang(Struct, frozen=True):
    """Send nothing more, until the stream is cancelled."""


class Stop(Struct, frozen=True):
    reason: StopReason
    explanation: str = ""


Step = Say | Think | Call | Fail | Crash | Cost | Hang | Stop
Reply = Sequence[Step]
Script = Callable[[ModelRequest], Reply]


def in_order(replies: Iterable[Reply]) -> Script:
    remaining: Iterator[Reply] = iter(replies)

    def script(_request: ModelRequest) -> Reply:
        return next(remaining, (Say("The script has no more replies."),))

    return script


class ScriptedProvider:
    """Streams a script's replies. `requests` keeps every request for inspection."""

    def __init__(
        self,
        script: Script,
        *,
        label: str = "Scripted",
        pace_s: float = 0.0,
        clock: Clock | None = None,
        cost_usd: float | None = None,
    ) -> None:
        """`pace_s` is the pause between two pieces; `cost_usd` is an answer's cost unless its script states one."""
        self._script = script
        self._label = label
        self._pace_s = pace_s
        self._clock = clock or SystemClock()
        self._cost_usd = cost_usd
        self._calls = 0
        self.requests: list[ModelRequest] = []

    @property
    def label(self) -> str:
        return self._label

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        self.requests.append(request)
        blocks: list[AssistantBlock] = []
        stop: Stop | None = None
        cost_usd = self._cost_usd
        for step in self._script(request):
            match step:
                case Say(text=text):
                    async for piece in self._pieces(text):
                        yield TextDelta(text=piece)
                    blocks.append(TextBlock(text=text))
                case Think(text=text):
                    async for piece in self._pieces(text):
                        yield ThinkingDelta(text=piece)
                    blocks.append(ThinkingBlock(thinking=text, signature="scripted"))
                case Call():
                    block = self._call(step)
                    yield writing_call(block.id, block.name, len(json.dumps(block.arguments)))
                    blocks.append(block)
                case Fail(error=error) | Crash(error=error):
                    raise error
                case Cost(usd=usd):
                    cost_usd = usd
                case Hang():
                    await asyncio.get_running_loop().create_future()
                case Stop():
                    stop = step
        has_calls = any(isinstance(block, ToolUseBlock) for block in blocks)
        tools = sum(len(definition_text(tool)) for tool in request.tools)
        yield Completion(
            message_id=f"msg_scripted_{len(self.requests)}",
            content=tuple(blocks),
            stop_reason=stop.reason if stop else "tool_use" if has_calls else "end_turn",
            explanation=stop.explanation if stop else "",
            usage=Usage(
                input_tokens=(len(request.system) + len(repr(request.messages)) + tools) // _CHARS_PER_TOKEN,
                output_tokens=len(repr(blocks)) // _CHARS_PER_TOKEN,
                cost_usd=cost_usd,
            ),
        )

    async def aclose(self) -> None: ...

    async def _pieces(self, text: str) -> AsyncGenerator[str]:
        for start in range(0, len(text), _CHUNK_CHARS):
            if self._pace_s:
                await self._clock.sleep(self._pace_s)
            yield text[start : start + _CHUNK_CHARS]

    def _call(self, call: Call) -> ToolUseBlock:
        self._calls += 1
        identifier = f"toolu_scripted_{self._calls:04}"
        if call.malformed is not None:
            rejected = f"The arguments were not valid JSON, so nothing was run: {call.malformed[:200]!r}"
            return ToolUseBlock(id=identifier, name=call.name, arguments={}, rejected=rejected)
        return ToolUseBlock(id=identifier, name=call.name, arguments=call.arguments)
