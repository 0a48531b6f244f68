"""Which tools of servers a request has: all while they are small, else those that the conversation found or called."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from desktop_agent.core.tools.tool import AnyServerTool

_LEAST_SHARE = 10
"""In percent: so much the tools that were found may take in any case."""


class DefinitionBudget(Struct, frozen=True):
    """How much of a model's window the definitions of servers' tools may take."""

    window: int
    """In tokens."""
    share: int
    """In percent; 0: none, all are left to the search; 100: as much as they want."""

    def is_enough_for(self, tokens: float) -> bool:
        """Whether definitions of so many tokens may all be in a request."""
        return self.share >= 100 or (self.share > 0 and tokens <= self.window * self.share / 100)

    @property
    def for_found(self) -> float:
        """How many tokens those may take that were found."""
        return self.window * max(self.share, _LEAST_SHARE) / 100


class Choice(Struct, frozen=True):
    """The tools of servers, as a request has them."""

    offered: tuple[AnyServerTool, ...]
    deferred: tuple[AnyServerTool, ...] = ()
    """Those that are left to the search; none unless they would take too much."""


def chosen(tools: Sequence[AnyServerTool], budget: DefinitionBudget, loaded: Sequence[str]) -> Choice:
    """Return which of `tools` a request has. `loaded` names those found or called, by where each first was.

    The estimate is not corrected by what a provider counts: it must not change from one answer to the next, because
    other definitions are another prompt to a provider's cache. Where those that were found take more than their budget,
    the first of them are left out again, but never all.
    """
    if budget.is_enough_for(sum(tool.tokens for tool in tools)):
        return Choice(tuple(tools))
    by_name: Mapping[str, AnyServerTool] = {tool.name: tool for tool in tools}
    found = [by_name[name] for name in loaded if name in by_name]
    left = budget.for_found
    offered: list[AnyServerTool] = []
    for tool in reversed(found):
        left -= tool.tokens
        if left < 0 and offered:
            break
        offered.append(tool)
    names = {tool.name for tool in offered}
    return Choice(tuple(reversed(offered)), tuple(tool for tool in tools if tool.name not in names))
