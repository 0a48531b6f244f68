"""Which pictures go with a request: the newest ones, and a word in the place of the others.

A picture costs about as many tokens as two pages of text, and is sent again with every request. Old ones are dropped
several at a time, so that the beginning of the conversation stays the same for many requests, which is what a
provider's cache needs.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.context.tokens import pictures_of
from desktop_agent.core.protocol.model import (
    BlobRef,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ToolResultBlock,
    UserMessage,
)
from desktop_agent.core.store.blobs import Blobs

MOST_PICTURES = 8
"""How many pictures a request carries at most."""
MOST_BYTES = 15 * 1024 * 1024
"""What they may have together: 20 MiB as base64, well below the 32 MB that a request may have."""
DROPPED_AT_ONCE = 4

DROPPED = "[An older picture is no longer part of this conversation. View it again if you need it.]"

NOT_TAKEN = "[A picture stands here that you are not shown, because you take none.]"

logger = logging.getLogger(__name__)


def with_newest_pictures(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with the newest pictures only. The same conversation gives the same answer every time."""
    dropped = _number_dropped(list(_pictures(messages)))
    return tuple(messages) if dropped == 0 else _without_first(messages, dropped, DROPPED)


def image_digests(messages: Iterable[Message]) -> frozenset[Digest]:
    """Return which payloads a request with these messages needs in `ModelRequest.images`."""
    return frozenset(picture.blob for picture in _pictures(messages))


def load_pictures(blobs: Blobs, digests: Iterable[Digest]) -> dict[Digest, bytes]:
    """Return the payloads that are there; a missing one is logged, and the model will learn of it. Blocks."""
    loaded: dict[Digest, bytes] = {}
    for digest in digests:
        try:
            loaded[digest] = blobs.get(digest)
        except StorageError as error:
            logger.warning("A picture of the conversation is gone: %s", error.detail)
    return loaded


def without_pictures(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages for a model that takes no pictures, with a word in the place of each."""
    return _without_first(messages, sum(1 for _ in _pictures(messages)), NOT_TAKEN)


async def with_pictures(request: ModelRequest, blobs: Blobs) -> ModelRequest:
    """Return the request with the bytes of every picture that it names and that is there."""
    digests = image_digests(request.messages)
    if not digests:
        return request
    return replace(request, images=await asyncio.to_thread(load_pictures, blobs, digests))


def _pictures(messages: Iterable[Message]) -> Iterable[BlobRef]:
    for message in messages:
        if isinstance(message, UserMessage):
            for block in message.content:
                yield from pictures_of(block)


def _number_dropped(pictures: Sequence[BlobRef]) -> int:
    """Return how many of the oldest pictures are left out. The newest one never is."""
    for dropped in range(0, len(pictures), DROPPED_AT_ONCE):
        kept = pictures[dropped:]
        if len(kept) <= MOST_PICTURES and sum(picture.size for picture in kept) <= MOST_BYTES:
            return dropped
    return max(len(pictures) - 1, 0)


def _without_first(messages: Sequence[Message], number: int, word: str) -> tuple[Message, ...]:
    left = number
    thinned: list[Message] = []
    for message in messages:
        if left and isinstance(message, UserMessage):
            content = list(message.content)
            for index, block in enumerate(content):
                if isinstance(block, ToolResultBlock) and block.images and left:
                    gone = min(left, len(block.images))
                    left -= gone
                    text = "\n".join([block.content, *[word] * gone]).strip()
                    content[index] = replace(block, content=text, images=block.images[gone:])
                elif isinstance(block, ImageBlock) and left:
                    left -= 1
                    content[index] = TextBlock(text=word)
            thinned.append(replace(message, content=tuple(content)))
        else:
            thinned.append(message)
    return tuple(thinned)
