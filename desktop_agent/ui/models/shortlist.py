"""The models that the user marked, and those that answered last. Kept from one start to the next."""

from collections.abc import Sequence
from typing import Literal, Protocol

from PySide6.QtCore import QObject, Signal

from desktop_agent.ui.models.offers import ModelKey

KeptList = Literal["favourite_models", "recent_models"]
KeptModel = tuple[str, str, str]
"""Provider, account and model."""

_MOST_RECENT = 5


class ModelMemory(Protocol):
    """Where the lists are kept."""

    def models(self, name: KeptList) -> Sequence[KeptModel]:
        """Return a list as it was kept last."""
        ...

    def remember_models(self, name: KeptList, models: Sequence[KeptModel]) -> None:
        """Keep a list."""
        ...


class Shortlist(QObject):
    """Favourites in the order in which they were marked, and recent models, the last one first.

    Signals:
        changed: one of the two is another one now.
    """

    changed = Signal()

    def __init__(self, memory: ModelMemory, parent: QObject) -> None:
        super().__init__(parent)
        self._memory = memory
        self.favourites = tuple(ModelKey(*model) for model in memory.models("favourite_models"))
        self.recent = tuple(ModelKey(*model) for model in memory.models("recent_models"))[:_MOST_RECENT]

    def toggle_favourite(self, key: ModelKey) -> None:
        """Mark a model, or no longer."""
        others = tuple(kept for kept in self.favourites if kept != key)
        self.favourites = others if len(others) < len(self.favourites) else (*others, key)
        self._keep("favourite_models", self.favourites)

    def note_use(self, key: ModelKey) -> None:
        """Remember that a model was asked."""
        if not self.recent or self.recent[0] != key:
            self.recent = (key, *(kept for kept in self.recent if kept != key))[:_MOST_RECENT]
            self._keep("recent_models", self.recent)

    def _keep(self, name: KeptList, keys: Sequence[ModelKey]) -> None:
        self._memory.remember_models(name, [(key.provider, key.account, key.model) for key in keys])
        self.changed.emit()
