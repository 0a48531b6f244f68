"""Server-sent events: their data come out whatever the lines end with and wherever the bytes are cut, in bounds."""

from collections.abc import AsyncIterator

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.providers.http_provider import MAX_EVENT_BYTES, event_data


async def data_of(sent: bytes, *, size: int = 65_536) -> list[str]:
    """Return the data of the events in these bytes, which come in pieces of a size."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(sent), size):
            yield sent[start : start + size]

    return [data async for data in event_data(pieces())]


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
async def test_events_are_read_however_they_are_written_and_cut(mark: str, end: str, size: int) -> None:
    lines = ["data: ä😀", "", ": comment", "event: x", "id: 7", "data:a", "data: b", "data", "", "", "data: last"]
    sent = (mark + end.join(lines)).encode()
    assert await data_of(sent, size=size) == ["ä😀", "a\nb\n", "last"]


async def test_a_mark_of_the_order_of_bytes_is_one_only_at_the_beginning() -> None:
    assert await data_of("data: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n".encode()) == ["a", "\ufeffc"]


async def test_what_is_no_utf8_or_larger_than_any_event_is_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        await data_of(b"data: \xff\n\n")
    with pytest.raises(ProviderError, match="larger than any"):
        await data_of(b"data: " + b"x" * MAX_EVENT_BYTES + b"\n\n")
