"""Which pictures a request carries, and what stands in the place of the others."""

from itertools import pairwise
from pathlib import Path

import pytest

from desktop_agent.core.context.history import History
from desktop_agent.core.context.packing import (
    DROPPED,
    DROPPED_AT_ONCE,
    MOST_BYTES,
    MOST_PICTURES,
    image_digests,
    load_pictures,
    pack,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    BlobRef,
    Message,
    ModelRef,
    ModelRequest,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.store.blobs import Blobs
from tests.pictures import png

MODEL = ModelRef(provider="demo", model="demo")


def picture(number: int, size: int = 100) -> BlobRef:
    return BlobRef(blob=f"{number:064x}", size=size, media_type="image/png")


def packed(*results: ToolResult) -> ModelRequest:
    """The request of a conversation in which every call came to one of these."""
    history = History()
    history.fold.apply(ev.PromptSubmitted(turn=1, prompt_id="p", text="Look."))
    for number, result in enumerate(results):
        call = ToolUseBlock(id=f"c{number}", name="view_image", arguments={})
        history.fold.apply(
            ev.MessageDone(turn=1, message_id=f"m{number}", model=MODEL, content=(call,), stop_reason="tool_use")
        )
        history.fold.apply(ev.ToolCallFinished(turn=1, call_id=call.id, state="completed", result=result, duration_s=0))
    return pack(history, model=ModelRef(provider="demo", model="m"), system="", tools=(), max_tokens=1)


def viewed(*numbers: int, size: int = 100) -> list[ToolResult]:
    return [ToolResult(content=f"[{number}]", images=(picture(number, size),)) for number in numbers]


def results_of(messages: tuple[Message, ...]) -> list[ToolResultBlock]:
    blocks = [block for message in messages if isinstance(message, UserMessage) for block in message.content]
    return [block for block in blocks if isinstance(block, ToolResultBlock)]


def shown(request: ModelRequest) -> list[int]:
    return [int(image.blob, 16) for block in results_of(request.messages) for image in block.images]


def test_a_result_brings_its_pictures_to_the_model() -> None:
    """T-110."""
    request = packed(ToolResult(content="two", images=(picture(1), picture(2))))
    assert shown(request) == [1, 2]
    assert image_digests(request.messages) == {picture(1).blob, picture(2).blob}
    assert request.images == {}


def test_an_error_has_no_pictures() -> None:
    assert shown(packed(ToolResult(content="no", is_error=True, images=(picture(1),)))) == []


def test_the_newest_pictures_stay_and_older_ones_leave_a_word() -> None:
    request = packed(*viewed(*range(MOST_PICTURES + 1)))
    assert shown(request) == list(range(DROPPED_AT_ONCE, MOST_PICTURES + 1))
    contents = [block.content for block in results_of(request.messages)]
    assert contents[:DROPPED_AT_ONCE] == [f"[{number}]\n{DROPPED}" for number in range(DROPPED_AT_ONCE)]
    assert contents[DROPPED_AT_ONCE] == f"[{DROPPED_AT_ONCE}]"


def test_the_beginning_of_the_conversation_seldom_changes() -> None:
    """A provider's cache holds only what is the same again: pictures leave several at a time."""
    beginnings = [packed(*viewed(*range(count))).messages[:8] for count in range(MOST_PICTURES, MOST_PICTURES + 9)]
    changes = sum(before != after for before, after in pairwise(beginnings))
    assert changes == 1


@pytest.mark.parametrize("count", range(30))
def test_there_are_never_more_than_fit(count: int) -> None:
    size = 3_932_160
    large, small = packed(*viewed(*range(count), size=size)), packed(*viewed(*range(count)))
    assert len(shown(large)) * size <= MOST_BYTES
    assert len(shown(small)) <= MOST_PICTURES
    assert not count or shown(large)[-1] == shown(small)[-1] == count - 1


def test_one_result_with_many_pictures_keeps_its_last_ones() -> None:
    request = packed(ToolResult(content="many", images=tuple(picture(number) for number in range(10))))
    assert shown(request) == list(range(4, 10))
    assert results_of(request.messages)[0].content.count(DROPPED) == 4


def test_a_missing_payload_is_left_out_and_logged(tmp_path: Path, expected_logs: list[str]) -> None:
    expected_logs.append("A picture of the conversation is gone")
    blobs = Blobs(tmp_path)
    kept = blobs.put(png())
    assert load_pictures(blobs, [kept, "0" * 64]) == {kept: png()}
