"""Which changes to review: of a turn, since a message, of the session, or what git finds different."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.picker import Picker
from desktop_agent.ui.review.changed_files import LAST_TURN, SESSION, UNCOMMITTED, Baseline

if TYPE_CHECKING:
    from desktop_agent.ui.review.source import GitState

_MAX_TITLE_CHARS = 40
_MIN_CHARS = 12
_POPUP_WIDTH = 300
_MAX_BRANCHES = 20
_MAX_POPUP_ROWS = 18


class BaselinePicker(Picker):
    """Offers the baselines there are. Shows the chosen one also when the others change under it.

    Signals:
        chosen: the person picked a baseline; carries a `Baseline`.
        opened: the person is about to pick one: a good moment to look what git has.
    """

    chosen = Signal(object)
    opened = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, min_chars=_MIN_CHARS)
        self.setObjectName("baselinePicker")
        self.setAccessibleName(self.tr("Changes to review"))
        self.view().setMinimumWidth(_POPUP_WIDTH)
        self.setMaxVisibleItems(_MAX_POPUP_ROWS)
        self.setStyleSheet(
            "QComboBox { combobox-popup: 0; }"
        )  # else the list shows few rows, and is scrolled by hovering
        self._shown: list[tuple[str, Baseline | None, str]] = []
        self.activated.connect(self._on_activated)

    def set_choices(
        self, turns: Sequence[int], prompts: Mapping[int, str], git: "GitState | None", current: Baseline
    ) -> None:
        """Offer these turns, newest first, and what git can compare with, and show `current` as chosen.

        Without a `git` state nobody has looked yet.
        """
        choices = [*self._of_session(turns), *self._of_git(git), *self._of_turns(turns, prompts)]
        if choices != self._shown:
            self._shown = choices
            self._fill(choices)
        self.setCurrentIndex(next((at for at, (_, found, _) in enumerate(choices) if found == current), 0))

    def showPopup(self) -> None:
        self.opened.emit()
        super().showPopup()

    def _fill(self, choices: "Sequence[tuple[str, Baseline | None, str]]") -> None:
        self.clear()
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        for label, baseline, obstacle in choices:
            if baseline is None:
                self.insertSeparator(self.count())
                continue
            self.addItem(label)
            if obstacle:
                at = self.count() - 1
                model.item(at).setEnabled(False)
                self.setItemData(at, obstacle, Qt.ItemDataRole.ToolTipRole)
                self.setItemData(at, obstacle, Qt.ItemDataRole.AccessibleDescriptionRole)

    def _of_session(self, turns: Sequence[int]) -> "list[tuple[str, Baseline | None, str]]":
        last = self.tr("Last turn ({0})").format(turns[0]) if turns else self.tr("Last turn")
        return [(last, LAST_TURN, ""), (self.tr("This session"), SESSION, "")]

    def _of_git(self, git: "GitState | None") -> "list[tuple[str, Baseline | None, str]]":
        uncommitted, branch = self.tr("Uncommitted"), self.tr("Against a branch")
        if git is None or git.obstacle:
            why = self._obstacle_words(git)
            labels = (f"{uncommitted} ({why.lower()})" if why else uncommitted, branch)
            return [
                ("", None, ""),
                (labels[0], UNCOMMITTED, why or self.tr("Looking…")),
                (labels[1], Baseline("branch"), why or self.tr("Looking…")),
            ]
        found: list[tuple[str, Baseline | None, str]] = [("", None, ""), (uncommitted, UNCOMMITTED, "")]
        against = self.tr("Against {0}")
        found += [(against.format(name), Baseline("branch", branch=name), "") for name in git.branches[:_MAX_BRANCHES]]
        if not git.branches:
            found.append((branch, Baseline("branch"), self.tr("There is no other branch")))
        return found

    def _of_turns(self, turns: Sequence[int], prompts: Mapping[int, str]) -> "list[tuple[str, Baseline | None, str]]":
        found: list[tuple[str, Baseline | None, str]] = []
        for make, plain, titled in (
            (partial(Baseline, "turn"), self.tr("Turn {0}"), self.tr("Turn {0}: {1}")),
            (partial(Baseline, "since"), self.tr("Since message {0}"), self.tr("Since message {0}: {1}")),
        ):
            if turns:
                found.append(("", None, ""))
            for turn in turns:
                title = _shortened(prompts.get(turn, ""))
                found.append((titled.format(turn, title) if title else plain.format(turn), make(turn), ""))
        return found

    def _obstacle_words(self, git: "GitState | None") -> str:
        if git is None:
            return ""
        return {
            "not_a_repository": self.tr("No git repository"),
            "git_missing": self.tr("git is not installed"),
            "too_slow": self.tr("git took too long"),
        }.get(git.obstacle, self.tr("git failed"))

    def _on_activated(self, index: int) -> None:
        baseline = self._shown[index][1]
        if baseline is not None:
            self.chosen.emit(baseline)


def _shortened(prompt: str) -> str:
    title = prompt.strip().partition("\n")[0]
    return title if len(title) <= _MAX_TITLE_CHARS else title[: _MAX_TITLE_CHARS - 1].rstrip() + "…"
