"""The number of tokens in a request: estimated from its size, and corrected by what providers reported for others."""

import json
import re
from collections.abc import Iterable
from typing import cast

from desktop_agent.core.protocol.model import (
    AssistantBlock,
    BlobRef,
    ImageBlock,
    JsonObject,
    Message,
    ModelRef,
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
)

_BYTES_PER_TOKEN = 3.6
"""How many bytes of UTF-8 a token has: fits code and prose in most languages."""
_PICTURE_TOKENS = 1_500
_BLOCK_TOKENS = 6
_WEIGHT = 0.4
"""How much the last report counts, against all earlier ones together."""
_BOUNDS = (0.4, 2.5)
"""A ratio outside these bounds is not a tokenizer's: a gateway reports something else."""


def text_tokens(text: str) -> float:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size / _BYTES_PER_TOKEN


def block_tokens(block: AssistantBlock | UserBlock) -> float:
    match block:  # the most frequent first: a class that does not match costs more than one that does
        case ToolResultBlock(content=content, images=images):
            size = text_tokens(content) + _PICTURE_TOKENS * len(images)
        case ToolUseBlock(name=name, arguments=arguments):
            size = text_tokens(name) + _value_tokens(arguments)
        case TextBlock(text=text):
            size = text_tokens(text)
        case ThinkingBlock(thinking=text, signature=signature):
            size = text_tokens(text) + text_tokens(signature)
        case RedactedThinkingBlock(data=data):
            size = text_tokens(data)
        case OpaqueBlock(payload=payload):
            size = _value_tokens(payload)
        case ImageBlock():
            size = _PICTURE_TOKENS
    return size + _BLOCK_TOKENS


def message_tokens(messages: Iterable[Message]) -> float:
    return sum(block_tokens(block) for message in messages for block in message.content)


def picture_tokens(messages: Iterable[Message]) -> float:
    blocks = (block for message in messages for block in message.content)
    return float(_PICTURE_TOKENS * sum(len(pictures_of(block)) for block in blocks))


def pictures_of(block: AssistantBlock | UserBlock) -> tuple[BlobRef, ...]:
    match block:
        case ToolResultBlock(images=images):
            return images
        case ImageBlock(image=image):
            return (image,)
        case _:
            return ()


def tool_tokens(tools: Iterable[ToolDefinition]) -> float:
    return sum(text_tokens(_heading(tool)) + _schema_tokens(tool.input_schema) for tool in tools)


def definition_text(tool: ToolDefinition) -> str:
    return f"{_heading(tool)}{_schema_text(tool.input_schema)}"


def _heading(tool: ToolDefinition) -> str:
    return f"{tool.name}\n{tool.description}\n"


def _schema_text(schema: JsonObject) -> str:
    return json.dumps(schema, ensure_ascii=False)


_MOST_SIZES = 1_000
_sizes: dict[int, tuple[JsonObject, float]] = {}
"""The sizes of schemas by `id`, which stays theirs while they are kept here. Each request has the same schemas."""


def _schema_tokens(schema: JsonObject) -> float:
    known = _sizes.get(id(schema))
    if known is None:
        if len(_sizes) >= _MOST_SIZES:
            _sizes.clear()
        known = _sizes[id(schema)] = schema, text_tokens(_schema_text(schema))
    return known[1]


def request_tokens(request: ModelRequest) -> float:
    return (
        text_tokens(request.system)
        + text_tokens(request.pinned)
        + tool_tokens(request.tools)
        + message_tokens(request.messages)
    )


class Calibration:
    """How far estimates are off, by provider and model family, and the windows of models. Shared by all sessions."""

    def __init__(self) -> None:
        self._ratios: dict[tuple[str, str], float] = {}
        self.windows: dict[ModelRef, int] = {}
        self.asked: set[ModelRef] = set()
        """The models whose provider is being asked for the window, or has answered."""

    def learn(self, model: ModelRef, *, estimated: float, reported: int) -> None:
        if estimated < 1 or reported < 1:
            return
        low, high = _BOUNDS
        ratio = min(max(reported / estimated, low), high)
        key = model.provider, family(model.model)
        known = self._ratios.get(key)
        self._ratios[key] = ratio if known is None else known + _WEIGHT * (ratio - known)

    def ratio(self, model: ModelRef) -> float:
        """Return the factor that corrects an estimate; 1 while nothing has been learned."""
        return self._ratios.get((model.provider, family(model.model)), 1.0)


def family(model: str) -> str:
    """Return a model's name without its version: `gpt` for `gpt-5.1-mini`. New versions usually keep the tokenizer."""
    return re.split(r"[-_:.@]?\d", model.strip().lower(), maxsplit=1)[0] or model


def _value_tokens(value: object) -> float:
    match value:
        case str():
            return text_tokens(value) + 1
        case dict():
            pairs = cast("dict[object, object]", value)
            return sum(_value_tokens(key) + _value_tokens(item) for key, item in pairs.items()) + 1
        case list():
            return sum(map(_value_tokens, cast("list[object]", value))) + 1
        case _:
            return 2.0
