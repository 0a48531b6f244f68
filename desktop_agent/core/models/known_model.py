"""What is known of a model: how much it reads and writes, what it can do, what it costs. The unknown is `None`."""

import re
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.models.prices import Rates


class ListedModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model as one source has it: the list of an address, the table that ships, or the user."""

    name: str
    """As its provider calls it in requests."""
    label: str = ""
    """What people call it; empty where that is its name."""
    context_tokens: int | None = None
    """How much it reads at once."""
    output_tokens: int | None = None
    """How long one answer may be."""
    takes_images: bool | None = None
    takes_tools: bool | None = None
    thinks: bool | None = None
    """Whether it can think before it answers."""
    efforts: tuple[str, ...] | None = None
    """The levels of effort that may be asked for, the lowest first; none at all where it takes no level."""
    price: Rates | None = None
    """In US dollars for a million tokens, now, for a request of usual size."""


class KnownModel(ListedModel, frozen=True, kw_only=True, omit_defaults=True):
    """A model of one provider, with all that is known of it."""

    provider: str

    @property
    def shown(self) -> str:
        """What people call it."""
        return self.label or self.name

    @property
    def takes_effort(self) -> bool | None:
        """Whether a level of effort may be asked for; `None` where nobody says."""
        if self.efforts is not None:
            return bool(self.efforts)
        return False if self.thinks is False else None


def completed(known: KnownModel, by: ListedModel | None) -> KnownModel:
    """Return `known` with what it leaves open as another source has it."""
    if by is None:
        return known
    more = {name: value for name, value in asdict(by).items() if name != "name" and _is_said(value)}
    return replace(known, **{name: value for name, value in more.items() if not _is_said(getattr(known, name))})


def found(name: str, among: Collection[str]) -> str | None:
    """Return the name under which a list has a model: the same, or for one without a date the newest that has one.

    That is how the APIs read it, and the newest are first in their lists.
    """
    return name if name in among else next((known for known in among if known.startswith(f"{name}-2")), None)


def only_embeds(name: str) -> bool:
    """Whether a model of this name makes vectors of text, so that no conversation is possible with it.

    Most lists give only names. These are what Ollama's library, LM Studio and OpenAI call such models:
    https://ollama.com/search?c=embedding
    """
    return _ONLY_EMBEDS.search(name) is not None


_ONLY_EMBEDS = re.compile(r"embed|(?:^|/)(?:all-minilm|bge-|paraphrase-)", re.IGNORECASE)


def _is_said(value: object) -> bool:
    return value is not None and value != ""
