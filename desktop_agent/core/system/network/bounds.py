"""How much an answer may be, whatever address gives it. Far above what any model says."""

from desktop_agent.core.base.errors import ProviderError

MAX_CHARS = 4_000_000
"""How much text, thinking and arguments of calls one answer may have together."""
MAX_BLOCKS = 1_000
"""How many parts one answer may have."""
MAX_CALLS = 200
"""How many of them may be calls."""
MAX_NAME_CHARS = 1_000
"""The longest name or id of a call; APIs take 128."""
MAX_STREAM_BYTES = 64 * 2**20
"""The longest streamed answer: a million tokens, one event each, come to less."""
MAX_BODY_BYTES = 4 * 2**20
"""The longest answer that is read as a whole, such as a list of models."""
MAX_ERROR_BYTES = 64 * 2**10
"""How much is read of an answer that refuses; a page of a proxy may be longer, and its beginning is enough."""
MAX_STREAM_S = 3600.0
"""The longest time that an answer may take."""


def oversized(detail: str) -> ProviderError:
    """The answer is beyond every bound."""
    return ProviderError(
        "The answer was broken off: it is larger than any model's answer.",
        fault="unacceptable",
        hint="Check the model's address, or use another model. Nothing of the answer was acted on.",
        detail=detail,
    )
