"""Servers of models on the user's own machine: what was found where one was looked for, in words for the user."""

from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from desktop_agent.core.models.vendors import LocalSign, vendor_of

ServerState = Literal["running", "starting", "not_running", "locked", "silent", "other"]
"""What was found: the server, the server while it loads its model, nothing, a question for a key, something that says
nothing in time, or something else."""


class LocalServer(Struct, frozen=True, kw_only=True):
    """What was found at one address of this machine."""

    provider: str
    """The vendor that was looked for."""
    address: str
    """Where its API would begin."""
    state: ServerState
    models: tuple[str, ...] = ()
    """The models that it has and that can answer, as it calls them, in its order."""
    instead: str = ""
    """The vendor (its id) whose server answers there in its place, where that is known."""

    @property
    def label(self) -> str:
        """What people call it."""
        return vendor_of(self.provider).label

    @property
    def place(self) -> str:
        """The host and the port."""
        return urlsplit(self.address).netloc

    @property
    def is_usable(self) -> bool:
        """Whether a model can be asked there right now."""
        return self.state == "running" and bool(self.models)

    @property
    def usual_model(self) -> str:
        """The model to begin with; empty when there is none."""
        return next(iter(self.models), "")

    @property
    def title(self) -> str:
        """What was found, in a sentence."""
        match self.state:
            case "running":
                return f"{self.label} runs on {self.place}, {_counted(len(self.models))}."
            case "starting":
                return f"{self.label} on {self.place} is still loading its model."
            case "not_running":
                return f"{self.label} is not running on {self.place}."
            case "locked":
                return f"What runs on {self.place} wants a key."
            case "silent":
                return f"Something runs on {self.place} and does not answer."
            case "other":
                what = vendor_of(self.instead).label if self.instead else "Something else"
                return f"{what} answers on {self.place}, not {self.label}."

    @property
    def hint(self) -> str:
        """What to do about it, in a sentence; empty when there is nothing to do."""
        match self.state:
            case "running":
                return "" if self.models else self._sign.add_model
            case "starting":
                return "Look again in a moment."
            case "not_running":
                return self._sign.start
            case "locked":
                return f"If that is {self.label}, enter its key in Settings."
            case "silent":
                return f"Look again in a moment, or start {self.label} anew."
            case "other":
                return f"If {self.label} runs on another port, add an account with its address in Settings."

    @property
    def words(self) -> str:
        """All of it."""
        return f"{self.title} {self.hint}".strip()

    @property
    def _sign(self) -> LocalSign:
        sign = vendor_of(self.provider).local
        assert sign is not None, "only servers of this machine are looked for"
        return sign


def _counted(models: int) -> str:
    return {0: "without a model", 1: "with one model"}.get(models, f"with {models} models")
