"""Which changes to review: those of the last turn, of the whole session, or of one turn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.picker import Picker

if TYPE_CHECKING:
    from desktop_agent.ui.review.changed_files import Baseline

_MAX_TITLE_CHARS = 40
_MIN_CHARS = 12
_POPUP_WIDTH = 280


class BaselinePicker(Picker):
    """Offers the baselines there are. Shows the chosen one also when the turns change under it.

    Signals:
        chosen: the person picked a baseline; carries a `Baseline`.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, min_chars=_MIN_CHARS)
        self.setObjectName("baselinePicker")
        self.setAccessibleName(self.tr("Changes to review"))
        self.view().setMinimumWidth(_POPUP_WIDTH)
        self._baselines: list[Baseline] = []
        self.activated.connect(self._on_activated)

    def set_turns(self, turns: Sequence[int], prompts: Mapping[int, str], current: "Baseline") -> None:
        """Offer these turns, newest first, and show `current` as chosen."""
        labels = [self.tr("Last turn ({0})").format(turns[0]) if turns else self.tr("Last turn")]
        labels.append(self.tr("This session"))
        labels += [self._turn_label(turn, prompts.get(turn, "")) for turn in turns]
        self._baselines = ["last_turn", "session", *turns]
        if labels != [self.itemText(index) for index in range(self.count())]:
            self.clear()
            self.addItems(labels)
        self.setCurrentIndex(self._baselines.index(current))

    def _turn_label(self, turn: int, prompt: str) -> str:
        title = prompt.strip().partition("\n")[0]
        if len(title) > _MAX_TITLE_CHARS:
            title = title[: _MAX_TITLE_CHARS - 1].rstrip() + "…"
        return self.tr("Turn {0}: {1}").format(turn, title) if title else self.tr("Turn {0}").format(turn)

    def _on_activated(self, index: int) -> None:
        self.chosen.emit(self._baselines[index])
