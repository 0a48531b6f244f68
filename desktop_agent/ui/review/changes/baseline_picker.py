"""Which changes to review: of a turn, since a message, of the session, or what git finds different."""

from collections.abc import Mapping, Sequence
from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QListView

from desktop_agent.ui.review.changed_files import ReviewBaseline
from desktop_agent.ui.review.changes.baseline_model import BaselineModel
from desktop_agent.ui.review.source import GitState
from desktop_agent.ui.widgets.picker import Picker

_MIN_CHARS = 12
_POPUP_WIDTH = 300
_MAX_POPUP_ROWS = 18
_FEW_TURNS = 100
"""Up to so many, every row of the list is as high as it wants."""


class BaselinePicker(Picker):
    """Offers the baselines there are. Shows the chosen one also when the others change under it.

    Signals:
        chosen: the user picked a baseline; carries a `ReviewBaseline`.
        opened: the user is about to pick one: a good moment to look what git has.
    """

    chosen = Signal(object)
    opened = Signal()

    def __init__(self) -> None:
        super().__init__(min_chars=_MIN_CHARS)
        self.setObjectName("baselinePicker")
        self.setAccessibleName(self.tr("Changes to review"))
        self._baselines = BaselineModel(self)
        self.setModel(self._baselines)
        self.view().setMinimumWidth(_POPUP_WIDTH)
        self.setMaxVisibleItems(_MAX_POPUP_ROWS)
        # Else the list shows few rows, and is scrolled by hovering.
        self.setStyleSheet("QComboBox { combobox-popup: 0; }")
        self.activated.connect(self._on_activated)

    def set_choices(
        self, turns: Sequence[int], prompts: Mapping[int, str], git: GitState | None, current: ReviewBaseline
    ) -> None:
        """Offer these turns, newest first, and what git can compare with, and show `current` as chosen.

        Without a `git` state the repository was not looked at yet.
        """
        # Measuring 3,000 rows one by one would stop the window for frames. The lines between groups take a row then.
        cast("QListView", self.view()).setUniformItemSizes(len(turns) > _FEW_TURNS)
        self._baselines.set_choices(turns, prompts, git)
        self.setCurrentIndex(self._baselines.row_of(current))

    def showPopup(self) -> None:
        self.opened.emit()
        super().showPopup()

    def _on_activated(self, index: int) -> None:
        baseline = self._baselines.baseline_at(index)
        if baseline is not None:
            self.chosen.emit(baseline)
