"""The providers of one session: each is built once, and what is to be said of its address is said first."""

from collections.abc import Awaitable, Callable

from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.base import Provider, ProviderSource


class ProviderPool:
    """Builds providers as they are needed, and closes them."""

    def __init__(self, source: ProviderSource, on_first: Callable[[ModelRef], Awaitable[None]]) -> None:
        """`on_first` is awaited for each model, once, before its provider is given out."""
        self._source = source
        self._on_first = on_first
        self._built: dict[ModelRef, Provider] = {}
        self._met: set[ModelRef] = set()

    async def get(self, model: ModelRef) -> Provider:
        """Return the provider of `model`, the same for every effort. Raises what its source raises."""
        model = model.bare
        if model not in self._built:
            self._built[model] = await self._source(model)
        if model not in self._met:
            self._met.add(model)
            await self._on_first(model)
        return self._built[model]

    def built(self, model: ModelRef) -> Provider | None:
        """Return the provider of `model` if there is one already."""
        return self._built.get(model.bare)

    async def forget(self, model: ModelRef) -> None:
        """Build it anew the next time: the user may give it another key or address meanwhile."""
        if (provider := self._built.pop(model.bare, None)) is not None:
            await provider.aclose()

    def closers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Return what closes each of them."""
        return tuple(provider.aclose for provider in self._built.values())
