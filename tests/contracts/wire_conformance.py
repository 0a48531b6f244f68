"""What every wire format must do, whichever vendor speaks it: one suite, run once per format against a scripted server.

class TestMyFormat(WireConformance):
    @pytest.fixture
    def wire(self, provider: HttpProvider, server: ModelServer, model_request: ModelRequest) -> WireGround:
        return WireGround(provider, server, model_request)
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.protocol.events import TextDelta, ThinkingDelta
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    ModelRequest,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import Completion, StreamPiece
from tests.harness import PATIENCE_S
from tests.servers import fault
from tests.servers.model_server import ModelServer
from tests.servers.script import Answer, Fault, Reply, Whole, raw_tool_use, reply, text, thinking, tool_use

LONG = reply(
    thinking("Ünïcödé 思考 🧠.", signature="sig", piece=3),
    text("Größe — 寸法 😀 ends here.", piece=5),
    tool_use("edit_file", path="ä.py", text="línea\n" * 3).with_id("call_long"),
)


@dataclass(frozen=True)
class WireGround:
    provider: HttpProvider
    server: ModelServer
    request: ModelRequest

    async def ask(self, *answers: Answer) -> list[StreamPiece]:
        self.server.will(*answers)
        async with asyncio.timeout(PATIENCE_S):
            return [piece async for piece in self.provider.stream(self.request)]

    async def completed(self, answer: Answer) -> Completion:
        last = (await self.ask(answer))[-1]
        assert isinstance(last, Completion)
        return last

    async def failed(self, answer: Answer) -> ProviderError:
        pieces: list[StreamPiece] = []
        self.server.will(answer)

        async def consume() -> None:
            async for piece in self.provider.stream(self.request):
                pieces.append(piece)  # noqa: PERF401 - what came before the failure matters

        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ProviderError) as caught:
                await consume()
        assert not any(isinstance(piece, Completion) for piece in pieces)
        return caught.value


class WireConformance:
    """The suite. Subclasses provide the fixture `wire`."""

    # --- answers --------------------------------------------------------------------------------------------------

    async def test_thinking_and_text_come_as_they_were_said(self, wire: WireGround) -> None:
        pieces = await wire.ask(reply(thinking("Let me see.", signature="sig"), text("I read it.")))
        assert "".join(piece.text for piece in pieces if isinstance(piece, ThinkingDelta)) == "Let me see."
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "I read it."

    async def test_several_calls_come_whole_and_in_their_order(self, wire: WireGround) -> None:
        answer = reply(tool_use("read_file", path="a.py"), tool_use("read_file", path="b.py"), tool_use("edit_file"))
        completion = await wire.completed(answer)
        calls = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        assert [(call.name, call.arguments) for call in calls] == [
            ("read_file", {"path": "a.py"}),
            ("read_file", {"path": "b.py"}),
            ("edit_file", {}),
        ]
        assert len({call.id for call in calls}) == 3
        assert completion.stop_reason == "tool_use"

    async def test_tokens_are_told_apart(self, wire: WireGround) -> None:
        usage = (await wire.completed(reply(text("Hm."), input_tokens=7, output_tokens=9, cache_read=3))).usage
        assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (7, 9, 3)

    async def test_the_same_message_comes_however_the_bytes_are_cut(
        self, wire: WireGround, *, is_nightly: bool
    ) -> None:
        expected = _said((await wire.completed(LONG)).content)
        for size in (1, 2, 3, 7, 64) if is_nightly else (1, 64):  # the first cuts wherever there is something to cut
            assert _said((await wire.completed(LONG.in_chunks(size))).content) == expected

    @pytest.mark.parametrize("arguments", ['{"path": "a', '{"path": }', "[1]", '{"n": NaN}'])
    async def test_arguments_that_cannot_be_trusted_are_rejected(self, wire: WireGround, arguments: str) -> None:
        completion = await wire.completed(reply(raw_tool_use("edit_file", arguments)))
        (call,) = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        assert (call.arguments, bool(call.rejected)) == ({}, True)

    async def test_a_call_in_an_answer_that_was_cut_is_rejected(self, wire: WireGround) -> None:
        answer = reply(tool_use("edit_file", path="a.py"), stop_reason="max_tokens")
        completion = await wire.completed(answer)
        (call,) = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        assert (completion.stop_reason, bool(call.rejected)) == ("max_tokens", True)

    @pytest.mark.parametrize(
        ("sent", "told"),
        [
            ("end_turn", "end_turn"),
            ("max_tokens", "max_tokens"),
            ("refusal", "refusal"),
            ("something_new", "other"),
        ],
    )
    async def test_every_reason_to_stop_is_told_and_one_that_nobody_knows_as_that(
        self, wire: WireGround, sent: str, told: StopReason
    ) -> None:
        assert (await wire.completed(reply(text("Hm."), stop_reason=sent))).stop_reason == told

    @pytest.mark.parametrize("sent", ["refusal", "something_new", "end_turn"])
    async def test_no_call_runs_that_the_answer_did_not_stop_for(self, wire: WireGround, sent: str) -> None:
        completion = await wire.completed(reply(tool_use("edit_file", path="a.py"), stop_reason=sent))
        (call,) = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        assert bool(call.rejected) == (completion.stop_reason != "tool_use")

    async def test_a_refusal_of_the_model_is_told_as_one(self, wire: WireGround) -> None:
        assert (await wire.completed(reply(text("I can't."), stop_reason="refusal"))).stop_reason == "refusal"

    async def test_a_message_goes_back_with_what_came_of_its_calls(self, wire: WireGround) -> None:
        """The server's complaints about the second request fail the test."""
        first = await wire.completed(
            reply(thinking("Both.", signature="sig"), text("Looking."), tool_use("read_file"), tool_use("edit_file"))
        )
        calls = [block for block in first.content if isinstance(block, ToolUseBlock)]
        results = tuple(
            ToolResultBlock(call_id=call.id, content="done", is_error=bool(n)) for n, call in enumerate(calls)
        )
        request = replace(
            wire.request,
            messages=(
                *wire.request.messages,
                AssistantMessage(content=first.content),
                UserMessage(content=(*results, TextBlock(text="And now?"))),
            ),
            pinned="Be brief.",
        )
        assert (await replace_request(wire, request).completed(reply(text("Done.")))).stop_reason == "end_turn"

    # --- refusals -------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("answer", "expected", "title"),
        [
            (fault.unauthorized(), "authentication", ("The key was refused.", "The credentials were refused.")),
            (fault.not_found(), "not_found", "There is no model named “claude-test-large”"),
            (fault.rate_limited(), "rate_limited", "The account's rate limit is reached."),
            (fault.no_credit(), "billing", "The account has no credit"),
            (fault.server_error(), "server", "The model's service had an internal error."),
            (fault.overloaded(), "overloaded", "The model's service is overloaded."),
            (fault.page("Bad gateway", 502), "server", "The model's service had an internal error."),
            (Whole(500, "No.", {"content-type": "text/html; charset=zlib"}), "server", "The model's service had"),
            (fault.page("Not here", 404), "not_found", "http://127.0.0.1:"),
            (fault.page("Elsewhere", 302), "configuration", ""),
        ],
    )
    async def test_every_refusal_is_told_apart(
        self, wire: WireGround, answer: Answer, expected: ProviderFault, title: str | tuple[str, ...]
    ) -> None:
        error = await wire.failed(answer)
        assert error.fault == expected
        assert error.title.startswith(title)
        assert error.hint

    async def test_a_conversation_that_is_too_long_is_a_reason_to_make_room(self, wire: WireGround) -> None:
        """Some vendors only say that the request is invalid; the turn makes room in either case."""
        assert (await wire.failed(fault.too_long())).fault in ("too_large", "invalid_request")

    @pytest.mark.parametrize(("headers", "wait_s"), [({}, None), ({"retry_after": "2"}, 2.0)])
    async def test_the_wait_that_is_asked_for_is_passed_on(
        self, wire: WireGround, headers: dict[str, str], wait_s: float | None
    ) -> None:
        assert (await wire.failed(fault.rate_limited(**headers))).retry_after_s == wait_s
        assert len(wire.server.messages) == 1, "only the turn sends a request again"

    # --- streams that break ---------------------------------------------------------------------------------------

    @pytest.mark.parametrize("at", [fault.drop_after(events=4), fault.close_after(events=4), fault.end_after(events=4)])
    async def test_a_stream_that_ends_early_is_no_message(self, wire: WireGround, at: Fault) -> None:
        assert (await wire.failed(reply(text("Half of this arrives"), at))).fault == "stream"

    @pytest.mark.parametrize("events", range(3))
    async def test_a_stream_that_hardly_began_is_no_message(self, wire: WireGround, events: int) -> None:
        assert (await wire.failed(reply(text("Never"), fault.end_after(events=events)))).fault == "stream"

    async def test_garbage_in_a_stream_is_no_message(self, wire: WireGround) -> None:
        assert (
            await wire.failed(reply(text("Half of"), fault.garbage_after(events=3, data=b'{"ch')))
        ).fault == "stream"

    async def test_an_error_in_a_stream_is_told_as_what_it_is(self, wire: WireGround) -> None:
        error = await wire.failed(reply(text("Half of this"), fault.error_after(events=4)))
        assert error.fault in ("overloaded", "server")

    @pytest.mark.parametrize("events", range(0, 8, 2))
    async def test_cancelling_at_each_stage_closes_the_connection(self, wire: WireGround, events: int) -> None:
        answer: Reply = reply(thinking("Hm.", signature="s"), text("Long text here"), fault.stall_after(events=events))
        wire.server.will(answer)

        async def consume() -> None:
            async for _ in wire.provider.stream(wire.request):
                pass

        task = asyncio.create_task(consume())
        async with asyncio.timeout(PATIENCE_S):
            exchange = await wire.server.request(1)
            await exchange.has_stalled.wait()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await exchange.is_over.wait()
        assert exchange.outcome == "abandoned"

    async def test_the_models_are_listed(self, wire: WireGround) -> None:
        assert all(listed.name for listed in await wire.provider.list_models())
        assert await wire.provider.list_models()


def replace_request(wire: WireGround, request: ModelRequest) -> WireGround:
    return WireGround(wire.provider, wire.server, request)


def _said(content: tuple[AssistantBlock, ...]) -> list[object]:
    """Return a message's content without the ids that the server generates."""
    return [
        (block.name, block.arguments) if isinstance(block, ToolUseBlock) else block
        for block in content
        if isinstance(block, TextBlock | ThinkingBlock | ToolUseBlock)
    ]
