"""Notices that a provider's cache of prompts was not used although it should have been."""

from desktop_agent.core.protocol.model import CacheMiss, ModelRef, Usage


class Caching:
    """Compares what one session's requests report, for the life of the process."""

    def __init__(self) -> None:
        self._last: tuple[ModelRef, Usage] | None = None

    def missed(self, model: ModelRef, usage: Usage, told: CacheMiss | None) -> CacheMiss | None:
        """Return why the cache was not used for the request that took `usage`, or `None` if nothing says that.

        What the provider `told` counts. Without that, only this is certain: the same model had kept or read something
        with the request before, and read nothing with this one. Why is then not known.
        """
        last, self._last = self._last, (model, usage)
        if told is not None:
            return told
        if last is None or last[0] != model or usage.cache_read_tokens:
            return None
        kept = last[1].cache_read_tokens + last[1].cache_write_tokens
        # A request that is smaller than what was kept may not have begun with it.
        return CacheMiss(reason="unknown", tokens=kept) if 0 < kept <= usage.all_input_tokens else None
