"""What every provider must do, whatever it talks to: one suite, run once per provider.

    class TestMyProvider(ProviderConformance):
        @pytest.fixture
        async def ground(self) -> AsyncGenerator[ProviderGround]:
            ...

A ground brings its provider into each situation. Where a provider cannot be brought into one (a scripted model does not
fail), the ground returns `None` and the test is skipped.
"""

import asyncio
from contextlib import aclosing, suppress
from typing import Protocol

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.events import TextDelta, ThinkingDelta, ToolProgress
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ThinkingBlock, ToolUseBlock
from desktop_agent.core.providers.provider import Completion, Provider, StreamPiece
from tests.harness import PATIENCE_S


class ProviderGround(Protocol):
    """A provider, and requests that bring it into known situations. Each method prepares exactly one answer."""

    @property
    def provider(self) -> Provider: ...

    def will_answer(self) -> ModelRequest: ...

    def will_call_a_tool(self) -> ModelRequest: ...

    def will_fail(self) -> ModelRequest | None:
        """A request that fails in the middle of its answer; None if the provider cannot."""
        ...

    def will_hang(self) -> ModelRequest | None:
        """A request whose answer stops after some text and stays open; None if the provider cannot."""
        ...

    async def was_let_go(self) -> None:
        """Return once the resources of the hanging answer are released."""
        ...


class ProviderConformance:
    """The suite. Subclasses provide the fixture `ground`."""

    async def test_it_has_a_name_for_people(self, ground: ProviderGround) -> None:
        assert ground.provider.label.strip()

    async def test_the_completion_comes_last_and_once(self, ground: ProviderGround) -> None:
        pieces = await _pieces(ground.provider, ground.will_answer())
        assert [piece.type for piece in pieces].count("completion") == 1
        assert isinstance(pieces[-1], Completion)

    async def test_the_completion_holds_exactly_what_was_streamed(self, ground: ProviderGround) -> None:
        for request in (ground.will_answer(), ground.will_call_a_tool()):
            pieces = await _pieces(ground.provider, request)
            content = _completion(pieces).content
            streamed_text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
            streamed_thinking = "".join(piece.text for piece in pieces if isinstance(piece, ThinkingDelta))
            assert streamed_text == "".join(block.text for block in content if isinstance(block, TextBlock))
            assert streamed_thinking == "".join(block.thinking for block in content if isinstance(block, ThinkingBlock))

    async def test_no_piece_is_empty(self, ground: ProviderGround) -> None:
        for piece in await _pieces(ground.provider, ground.will_answer()):
            if isinstance(piece, TextDelta | ThinkingDelta):
                assert piece.text

    async def test_an_answer_of_text_ends_the_turn(self, ground: ProviderGround) -> None:
        completion = _completion(await _pieces(ground.provider, ground.will_answer()))
        assert completion.stop_reason == "end_turn"
        assert any(isinstance(block, TextBlock) and block.text for block in completion.content)
        assert not any(isinstance(block, ToolUseBlock) for block in completion.content)

    async def test_a_tool_call_comes_whole_and_may_run(self, ground: ProviderGround) -> None:
        request = ground.will_call_a_tool()
        completion = _completion(await _pieces(ground.provider, request))
        assert completion.stop_reason == "tool_use"
        calls = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        assert calls
        for call in calls:
            assert call.id
            assert call.name in {tool.name for tool in request.tools}
            assert call.arguments
            assert not call.rejected
        assert len({call.id for call in calls}) == len(calls)

    async def test_a_call_that_is_being_written_is_announced_and_grows(self, ground: ProviderGround) -> None:
        pieces = await _pieces(ground.provider, ground.will_call_a_tool())
        calls = {block.id: block for block in _completion(pieces).content if isinstance(block, ToolUseBlock)}
        sizes: dict[str, float] = {}
        for piece in pieces:
            if isinstance(piece, ToolProgress):
                assert calls[piece.call_id].name == piece.name
                size = float(piece.message.partition("(")[2].partition(" ")[0])
                assert size >= sizes.get(piece.call_id, 0)
                sizes[piece.call_id] = size
        assert sizes.keys() <= calls.keys()

    async def test_tokens_are_counted(self, ground: ProviderGround) -> None:
        usage = _completion(await _pieces(ground.provider, ground.will_answer())).usage
        assert usage.context_tokens > 0
        assert usage.output_tokens > 0

    async def test_a_failure_is_a_provider_error_and_never_a_completion(self, ground: ProviderGround) -> None:
        pieces, error = await _failure(ground)
        assert not any(isinstance(piece, Completion) for piece in pieces)
        assert error.title
        assert error.hint

    async def test_the_provider_works_on_after_a_failure(self, ground: ProviderGround) -> None:
        await _failure(ground)
        assert _completion(await _pieces(ground.provider, ground.will_answer()))

    async def test_cancelling_the_consumer_lets_the_answer_go(self, ground: ProviderGround) -> None:
        async with asyncio.timeout(PATIENCE_S):
            task = await _hanging(ground)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ground.was_let_go()

    async def test_a_consumer_cancelled_between_two_pieces_lets_the_answer_go(self, ground: ProviderGround) -> None:
        request = _or_skip(ground.will_hang())
        has_begun = asyncio.Event()

        async def consume() -> None:
            async for _ in ground.provider.stream(request):
                has_begun.set()
                await asyncio.Event().wait()

        async with asyncio.timeout(PATIENCE_S):
            task = asyncio.create_task(consume())
            await has_begun.wait()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await ground.was_let_go()

    async def test_closing_the_stream_lets_the_answer_go(self, ground: ProviderGround) -> None:
        request = _or_skip(ground.will_hang())
        stream = ground.provider.stream(request)
        async with asyncio.timeout(PATIENCE_S):
            async with aclosing(stream):
                await anext(stream)
            await ground.was_let_go()

    async def test_the_provider_works_on_after_a_cancelled_answer(self, ground: ProviderGround) -> None:
        async with asyncio.timeout(PATIENCE_S):
            task = await _hanging(ground)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert _completion(await _pieces(ground.provider, ground.will_answer()))

    async def test_closing_the_provider_twice_is_harmless(self, ground: ProviderGround) -> None:
        await _pieces(ground.provider, ground.will_answer())
        await ground.provider.aclose()
        await ground.provider.aclose()

    async def test_a_provider_that_was_never_used_can_be_closed(self, ground: ProviderGround) -> None:
        await ground.provider.aclose()


async def _pieces(provider: Provider, request: ModelRequest) -> list[StreamPiece]:
    async with asyncio.timeout(PATIENCE_S):
        return [piece async for piece in provider.stream(request)]


def _completion(pieces: list[StreamPiece]) -> Completion:
    last = pieces[-1]
    assert isinstance(last, Completion)
    return last


async def _failure(ground: ProviderGround) -> tuple[list[StreamPiece], ProviderError]:
    request = _or_skip(ground.will_fail())
    pieces: list[StreamPiece] = []

    async def consume() -> None:
        async for piece in ground.provider.stream(request):
            pieces.append(piece)  # noqa: PERF401 - what came before the failure matters

    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(ProviderError) as caught:
            await consume()
    return pieces, caught.value


async def _hanging(ground: ProviderGround) -> "asyncio.Task[None]":
    request = _or_skip(ground.will_hang())
    has_begun = asyncio.Event()

    async def consume() -> None:
        async for _ in ground.provider.stream(request):
            has_begun.set()

    task = asyncio.create_task(consume())
    await has_begun.wait()
    return task


def _or_skip(request: ModelRequest | None) -> ModelRequest:
    if request is None:
        pytest.skip("this provider cannot be brought into this situation")
    return request
