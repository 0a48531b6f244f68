"""Levels of effort: how much a model is to think, in the words of its wire format.

Sources: `output_config.effort` of Anthropic's Messages, `reasoning.effort` of OpenAI's Responses, `reasoning_effort` of
Chat Completions, as their SDKs had them in November 2026. Which of them one model takes, its list or the user says.
"""

import re
from collections.abc import Mapping

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.vendors import WireName, vendor_of

OWN = "default"
"""What people write for no level: as much as the model thinks by itself."""

_OPENAI = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LEVELS: Mapping[WireName, tuple[str, ...]] = {
    "anthropic": ("low", "medium", "high", "xhigh", "max"),
    "openai-responses": _OPENAI,
    "openai-chat": _OPENAI,
}
"""Every level that a format has a word for, the lowest first."""


_LEVEL = re.compile(r"[a-z][a-z0-9_-]{0,19}")


def is_level(text: str) -> bool:
    """Whether a text can be the word for a level of effort, which is shown and sent as it is."""
    return bool(_LEVEL.fullmatch(text))


def levels_of(model: KnownModel) -> tuple[str, ...]:
    """Return the levels that may be asked of a model: all of its format where nobody says; none for one without."""
    if model.takes_effort is False:
        return ()
    return model.efforts or LEVELS[vendor_of(model.provider).wire]


def effort_meant(text: str, model: KnownModel) -> str:
    """Return the level that is written; empty is the model's own. Raises `UsageError` that names the known ones."""
    level = text.strip().lower()
    levels = levels_of(model)
    if level in ("", OWN):
        return ""
    if not levels:
        raise UsageError(f"{model.shown} takes no level of effort.", hint=f"Only {OWN} is possible.")
    if level not in levels:
        known = ", ".join((OWN, *levels))
        raise UsageError(f"{model.shown} knows no effort {level!r}.", hint=f"Known are: {known}.")
    return level
