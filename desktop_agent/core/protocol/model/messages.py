"""Messages to and from a model, and what a provider is asked."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.web_address import has_userinfo, without_userinfo
from desktop_agent.core.protocol.model.payloads import BlobRef, JsonObject


class ModelRef(Struct, frozen=True, kw_only=True):
    """Which model answers: a provider id, the provider's own model name, and an address if not the usual one.

    A user name and a password in the address are left out: a reference is written to the journal.
    """

    provider: str
    model: str
    base_url: str | None = None
    account: str = ""
    """The name of the account by which it is asked, at that account's address; empty for the provider's usual one."""

    def __post_init__(self) -> None:
        if self.base_url and has_userinfo(self.base_url):
            force_setattr(self, "base_url", without_userinfo(self.base_url))


class TextBlock(Struct, frozen=True, kw_only=True, tag="text"):
    """Text of a message, markdown when the model wrote it."""

    text: str
    type: ClassVar[Literal["text"]] = "text"


class ThinkingBlock(Struct, frozen=True, kw_only=True, tag="thinking"):
    """The model's visible reasoning. Must go back unmodified: the signature covers the text."""

    thinking: str
    signature: str
    type: ClassVar[Literal["thinking"]] = "thinking"


class RedactedThinkingBlock(Struct, frozen=True, kw_only=True, tag="redacted_thinking"):
    """Reasoning that the provider encrypted. Opaque, and must go back unmodified."""

    data: str
    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"


class ToolUseBlock(Struct, frozen=True, kw_only=True, tag="tool_use"):
    """A tool call as the model wrote it.

    `rejected` is empty for a call that may run. Otherwise it says, for the model, why the call cannot be trusted (cut
    off by the token limit, malformed JSON): such a call is answered with an error and never executed.
    """

    id: CallId
    name: str
    arguments: JsonObject
    rejected: str = ""
    type: ClassVar[Literal["tool_use"]] = "tool_use"


class OpaqueBlock(Struct, frozen=True, kw_only=True, tag="opaque"):
    """A block that this version does not know. Kept so that the message can go back to its provider as it came."""

    payload: JsonObject
    type: ClassVar[Literal["opaque"]] = "opaque"


AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | OpaqueBlock

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "interrupted",
    "other",
]
"""Why the model stopped. A tool runs only on `tool_use`; `interrupted` is ours: the user stopped the answer."""


COST_DIGITS = 12
"""Of a sum of costs: far more than a price has, and fewer than a float, so that 0.1 + 0.2 is 0.3."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one request, or of several, and what they cost.

    The whole input is `input_tokens + cache_read_tokens + cache_write_tokens`. A difference takes away what was once
    added: `(a + b) - a` is `b`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    """US dollars; None when no price is known. Nothing was paid for what a model on this machine answered: 0."""
    unpriced_tokens: int = 0
    """How many tokens of a sum `cost_usd` leaves out, because the price of their request is not known."""

    @property
    def context_tokens(self) -> int:
        """How much of the context window the conversation takes after this request."""
        return self.all_input_tokens + self.output_tokens

    @property
    def all_input_tokens(self) -> int:
        """What was sent, from a cache or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def is_cost_partial(self) -> bool:
        """Whether it cost more than `cost_usd`; how much more is not known."""
        return self.unpriced_tokens > 0

    def __add__(self, other: "Usage") -> "Usage":
        return self._with(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._with(other, -1)

    def _with(self, other: "Usage", sign: int) -> "Usage":
        tokens = Usage(
            input_tokens=self.input_tokens + sign * other.input_tokens,
            output_tokens=self.output_tokens + sign * other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + sign * other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + sign * other.cache_write_tokens,
        )
        if self.cost_usd is None and other.cost_usd is None:
            return tokens
        unpriced = self._left_out + sign * other._left_out
        cost = round((self.cost_usd or 0.0) + sign * (other.cost_usd or 0.0), COST_DIGITS)
        if sign < 0 and not cost and unpriced == tokens.context_tokens:
            return tokens
        return replace(tokens, cost_usd=cost, unpriced_tokens=unpriced)

    def paid_elsewhere(self) -> "Usage":
        """Return the same tokens at no cost: another session sent these requests, or another program."""
        return replace(self, cost_usd=0.0, unpriced_tokens=0)

    @property
    def _left_out(self) -> int:
        return self.context_tokens if self.cost_usd is None else self.unpriced_tokens


class ToolResultBlock(Struct, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to one tool call, as the model reads it."""

    call_id: CallId
    content: str
    is_error: bool = False
    images: tuple[BlobRef, ...] = ()
    type: ClassVar[Literal["tool_result"]] = "tool_result"


class UserMessage(Struct, frozen=True, kw_only=True):
    """One message to the model: tool results first, in call order, then text."""

    content: tuple[TextBlock | ToolResultBlock, ...]
    role: Literal["user"] = "user"


class AssistantMessage(Struct, frozen=True, kw_only=True):
    """One message of the model, as it came.

    `made_by` is whose it is: signed thinking and blocks that are not known go back to no other. `None` is not known.
    """

    content: tuple[AssistantBlock, ...]
    made_by: ModelRef | None = None
    role: Literal["assistant"] = "assistant"


Message = UserMessage | AssistantMessage


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as the model receives it: its name, what it is for, and the JSON schema of its arguments."""

    name: str
    description: str
    input_schema: JsonObject


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything a provider needs for one answer. Roles alternate, and every tool call is answered.

    `stable_messages` is how many leading messages were already part of the previous request: a provider that caches
    prompts puts a breakpoint behind them. `images` has the bytes of every picture the messages refer to. `pinned` goes
    to the very end of the last message, behind everything that may be cached: it may change with every request.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    max_tokens: int
    stable_messages: int = 0
    pinned: str = ""
    images: Mapping[Digest, bytes] = field(default_factory=dict[Digest, bytes])
