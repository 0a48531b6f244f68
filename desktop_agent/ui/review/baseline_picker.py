"""The choice of what is reviewed: the last turn, the session, another turn, or what git finds different."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal
from PySide6.QtWidgets import QListView

from desktop_agent.ui.review.changed_files import LAST_TURN, SESSION, UNCOMMITTED, BaselineKind, ReviewBaseline
from desktop_agent.ui.review.diff_source import GitState
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex

_MAX_TITLE_CHARS: Final = 40
_MAX_BRANCHES: Final = 20
_OF_TURNS: Final[tuple[BaselineKind, ...]] = ("turn", "since")
"""The kinds with one row per turn, in the order of the list."""

_Role = Qt.ItemDataRole
_ANSWERED: Final = frozenset((_Role.DisplayRole, _Role.ToolTipRole, _Role.AccessibleDescriptionRole))


class _Choice(NamedTuple):
    label: str
    baseline: ReviewBaseline | None
    """None for a line between two groups."""
    obstacle: str = ""


_LINE: Final = _Choice("", None)


class BaselineModel(QAbstractListModel):
    """Lists the baselines there are: of the session, of git, and two of every turn, whose labels are made when read."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._few: tuple[_Choice, ...] = ()
        self._turns: tuple[int, ...] = ()
        self._prompts: Mapping[int, str] = {}
        self._words: dict[BaselineKind, tuple[str, str]] = {
            "turn": (self.tr("Turn {0}"), self.tr("Turn {0}: {1}")),
            "since": (self.tr("Since message {0}"), self.tr("Since message {0}: {1}")),
        }
        """Looked up once: typing a letter into the list may read all labels."""

    def set_choices(self, turns: Sequence[int], prompts: Mapping[int, str], git: GitState | None) -> None:
        """List these turns, newest first, and what git can compare with. Does nothing when that is what is listed."""
        few, turns = (*self._of_session(turns), *self._of_git(git)), tuple(turns)
        if (few, turns, prompts) == (self._few, self._turns, self._prompts):
            return
        self.beginResetModel()
        self._few, self._turns, self._prompts = few, turns, prompts
        self.endResetModel()

    def baseline_at(self, row: int) -> ReviewBaseline | None:
        return self._choice(row).baseline

    def row_of(self, baseline: ReviewBaseline) -> int:
        if baseline.kind in _OF_TURNS and baseline.turn in self._turns:
            groups = _OF_TURNS.index(baseline.kind)
            return len(self._few) + groups * (len(self._turns) + 1) + 1 + self._turns.index(baseline.turn)
        return next((row for row, choice in enumerate(self._few) if choice.baseline == baseline), 0)

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        if parent.isValid():
            return 0
        return len(self._few) + (len(_OF_TURNS) * (len(self._turns) + 1) if self._turns else 0)

    def data(self, index: AnyIndex, role: int = _Role.DisplayRole) -> Any:
        if role not in _ANSWERED or not index.isValid():
            return None
        choice = self._choice(index.row())
        if role == _Role.DisplayRole:
            return choice.label
        if role == _Role.AccessibleDescriptionRole and choice.baseline is None:
            return "separator"  # how a combo box knows a line
        return choice.obstacle or None

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        choice = self._choice(index.row()) if index.isValid() else _LINE
        if choice.baseline is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsSelectable if choice.obstacle else super().flags(index)

    def _choice(self, row: int) -> _Choice:
        if row < len(self._few):
            return self._few[row]
        group, at = divmod(row - len(self._few), len(self._turns) + 1)
        return self._of_turn(_OF_TURNS[group], self._turns[at - 1]) if at else _LINE

    def _of_turn(self, kind: BaselineKind, turn: int) -> _Choice:
        title = _shortened(self._prompts.get(turn, ""))
        plain, titled = self._words[kind]
        return _Choice((titled if title else plain).format(turn, title), ReviewBaseline(kind, turn))

    def _of_session(self, turns: Sequence[int]) -> list[_Choice]:
        last = self.tr("Last turn ({0})").format(turns[0]) if turns else self.tr("Last turn")
        return [_Choice(last, LAST_TURN), _Choice(self.tr("This session"), SESSION)]

    def _of_git(self, git: GitState | None) -> list[_Choice]:
        uncommitted, branch = self.tr("Uncommitted"), self.tr("Against a branch")
        if git is None or git.obstacle:
            why = self._obstacle_words(git)
            labels = (f"{uncommitted} ({why.lower()})" if why else uncommitted, branch)
            return [
                _LINE,
                _Choice(labels[0], UNCOMMITTED, why or self.tr("Looking…")),
                _Choice(labels[1], ReviewBaseline("branch"), why or self.tr("Looking…")),
            ]
        found = [_LINE, _Choice(uncommitted, UNCOMMITTED)]
        against = self.tr("Against {0}")
        found += [
            _Choice(against.format(name), ReviewBaseline("branch", branch=name))
            for name in git.branches[:_MAX_BRANCHES]
        ]
        if not git.branches:
            found.append(_Choice(branch, ReviewBaseline("branch"), self.tr("There is no other branch")))
        return found

    def _obstacle_words(self, git: GitState | None) -> str:
        if git is None:
            return ""
        return {
            "not_a_repository": self.tr("No git repository"),
            "git_missing": self.tr("git is not installed"),
            "too_slow": self.tr("git took too long"),
        }.get(git.obstacle, self.tr("git failed"))


def _shortened(prompt: str) -> str:
    title = prompt.strip().partition("\n")[0]
    return title if len(title) <= _MAX_TITLE_CHARS else title[: _MAX_TITLE_CHARS - 1].rstrip() + "…"


_MIN_CHARS = 12
_POPUP_WIDTH = 300
_MAX_POPUP_ROWS = 18
_FEW_TURNS = 100
"""Up to this many turns, each row of the popup is as high as its text."""


class BaselinePicker(Picker):
    """Offers the baselines there are. Shows the chosen one also when the others change under it."""

    chosen = Signal(object)  # a `ReviewBaseline`
    opened = Signal()  # the user is about to choose

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
