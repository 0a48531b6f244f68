"""The requests of a turn, as the loop sees them being made."""

import threading

import pytest

from desktop_agent.core.context_window.meter import Caching
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import CacheMiss, ModelRef, ToolDefinition, ToolResult, Usage
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext
from tests.harness import Ground

MODEL = ModelRef(provider="anthropic", model="m")
OTHER = ModelRef(provider="anthropic", model="n")


def test_what_the_provider_tells_counts() -> None:
    told = CacheMiss(reason="tools", tokens=9)
    assert Caching().missed(MODEL, Usage(input_tokens=100), told) == told


@pytest.mark.parametrize(
    ("before", "now", "missed"),
    [
        (Usage(cache_write_tokens=90), Usage(input_tokens=100), CacheMiss(reason="unknown", tokens=90)),
        (
            Usage(cache_read_tokens=60, cache_write_tokens=30),
            Usage(cache_write_tokens=100),
            CacheMiss(reason="unknown", tokens=90),
        ),
        (Usage(cache_write_tokens=90), Usage(cache_read_tokens=90, input_tokens=9), None),
        (Usage(input_tokens=90), Usage(input_tokens=100), None),
        (Usage(cache_write_tokens=90), Usage(input_tokens=50), None),
    ],
    ids=["read anew", "kept anew", "found", "nothing was kept", "a smaller request"],
)
def test_a_miss_that_only_the_counts_show_has_no_reason(before: Usage, now: Usage, missed: CacheMiss | None) -> None:
    caching = Caching()
    assert caching.missed(MODEL, before, None) is None
    assert caching.missed(MODEL, now, None) == missed


def test_another_models_cache_is_not_missed() -> None:
    caching = Caching()
    caching.missed(MODEL, Usage(cache_write_tokens=90), None)
    assert caching.missed(OTHER, Usage(input_tokens=100), None) is None


async def test_requests_of_a_session_say_whose_they_are_and_what_they_follow(ground: Ground) -> None:
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt("a")
        await s.prompt("b")
        [first, second] = s.provider.requests
        answer = s.rx.all(ev.MessageDone)[0].message_id
        assert answer
        assert (first.follows, second.follows) == ("", answer)
        assert first.conversation == second.conversation
        assert len(first.conversation) == 32
        assert s.id not in first.conversation
    async with ground.session([[Say("one")]]) as other:
        await other.prompt("a")
        assert other.last_request.conversation not in ("", first.conversation)


class Slow(ReadTool[ToolArguments]):
    """Notes the threads in which its definition is asked for."""

    name = "slow"
    description = "Do nothing."
    capabilities = ()
    arguments_type = ToolArguments

    def __init__(self) -> None:
        self.threads: list[str] = []

    def definition(self) -> ToolDefinition:
        self.threads.append(threading.current_thread().name)
        return super().definition()

    def title(self, arguments: ToolArguments) -> str:
        return ""

    async def run(self, arguments: ToolArguments, context: ToolContext) -> ToolResult:
        raise NotImplementedError


async def test_the_first_definition_of_a_tool_is_made_off_the_loops_thread(ground: Ground) -> None:
    tool = Slow()
    ground.extra_tools = (tool,)
    async with ground.session([[Say("yes")]]) as s:
        await s.prompt()
        assert "slow" in [definition.name for definition in s.last_request.tools]
    assert tool.threads[0] != threading.current_thread().name
