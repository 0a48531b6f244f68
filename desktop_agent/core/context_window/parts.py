"""What the context window of one session is kept up with."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.history import History
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.context_window.summariser import RetryWait
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.settings import Settings
from desktop_agent.core.tools.access import ToolOffer
from desktop_agent.core.transcript import Transcript


class ContextParts(Struct, frozen=True, kw_only=True):
    """What its parts work with."""

    history: History
    transcript: Transcript
    log: EventLog
    clock: Clock
    wait: RetryWait
    """Waits before a summary is asked for again."""
    settings: Callable[[], Settings]
    reader: GuidanceReader
    calibration: Calibration
    system: str
    """The system prompt without the list of tools and without guidance."""
    offer: Callable[[int, Sequence[str]], ToolOffer]
    """Gives the tools for a window of so many tokens, when tools of these names were found or called."""
    make_definitions: Callable[[], None]
    """Makes what the model receives of the tools. Blocks the first time."""
    with_pictures: Callable[[ModelRequest, ModelRef], Awaitable[ModelRequest]]
    """Adds the bytes of the pictures that a request names, or leaves them out for a model that takes none."""
    read_history: Callable[[], Awaitable[None]]
    """Folds in what the history has not, because it was summarised before the session was opened."""
    max_tokens: Callable[[], int]
    """How long an answer may be, now."""
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    """What is known of a model, without asking the network."""
    conversation: str = ""
    """What all requests of the session have in common, for providers' caches: see `ModelRequest`."""
