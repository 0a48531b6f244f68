"""What a request took and cost, and why its provider's cache was of no use to it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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
    web_searches: int = 0
    """How often the provider searched the web, which it charges for apart."""
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
            web_searches=self.web_searches + sign * other.web_searches,
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


CacheMissReason = Literal["model", "system", "tools", "messages", "compaction", "options", "unknown"]
"""What differed from the request before: the model, the system prompt, the tools, messages in the middle, a summary in
their place, or another option of the request. `unknown` is a miss of which the provider does not say why."""


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request read anew what the provider had kept of the request before."""

    reason: CacheMissReason
    tokens: int = 0
    """About how many could have come from the cache; 0 when that is not known."""
