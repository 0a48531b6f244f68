"""The upper part of the review: the baseline, the listed files, and their total line counts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QLabel, QListView, QMenu, QPushButton, QWidget

from desktop_agent.core.base.plain_text import shortened
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.changed_files import (
    LAST_TURN,
    SESSION,
    UNCOMMITTED,
    BaselineKind,
    ChangedFile,
    ReviewBaseline,
)
from desktop_agent.ui.review.diff_source import GitState
from desktop_agent.ui.review.empty_review import header_row
from desktop_agent.ui.review.reviewed_changes import GitListing, Reviewed
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import Picker, make_line
from desktop_agent.ui.widgets.labels import make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, vbox
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex

_MAX_TITLE_CHARS: Final = 40
_MAX_BRANCHES: Final = 20
_OF_TURNS: Final[tuple[BaselineKind, ...]] = ("turn", "since")

_Role = Qt.ItemDataRole
_ANSWERED: Final = frozenset((_Role.DisplayRole, _Role.ToolTipRole, _Role.AccessibleDescriptionRole, _Role.UserRole))


class _Choice(NamedTuple):
    label: str
    baseline: ReviewBaseline | None
    """The baseline; None for a separator between two groups."""
    obstacle: str = ""


_LINE: Final = _Choice("", None)


class BaselineModel(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._few: tuple[_Choice, ...] = ()
        self._turns: tuple[int, ...] = ()
        self._prompts: Mapping[int, str] = {}
        self._words: dict[BaselineKind, tuple[str, str]] = {
            "turn": (self.tr("Turn {0}"), self.tr("Turn {0}: {1}")),
            "since": (self.tr("Since message {0}"), self.tr("Since message {0}: {1}")),
        }

    def set_choices(
        self, turns: Sequence[int], prompts: Mapping[int, str], git: GitState | None, base: str = ""
    ) -> None:
        """Offer these baselines. `turns` come newest first. `base` is the commit that a worktree started from.

        Choices that are already listed stay.
        """
        last = _Choice(self.tr("Last turn ({0})").format(turns[0]) if turns else self.tr("Last turn"), LAST_TURN)
        few, turns = (last, _Choice(self.tr("This session"), SESSION), *self._of_git(git, base)), tuple(turns)
        if (few, turns, prompts) == (self._few, self._turns, self._prompts):
            return
        self.beginResetModel()
        self._few, self._turns, self._prompts = few, turns, prompts
        self.endResetModel()

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
        if role == _Role.UserRole:
            return choice.baseline
        if role == _Role.AccessibleDescriptionRole and choice.baseline is None:
            return "separator"  # marks a separator line in a combo box
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
        title = shortened(self._prompts.get(turn, "").strip().partition("\n")[0], _MAX_TITLE_CHARS)
        plain, titled = self._words[kind]
        return _Choice((titled if title else plain).format(turn, title), ReviewBaseline(kind, turn))

    def _of_git(self, git: GitState | None, base: str) -> list[_Choice]:
        uncommitted, branch = self.tr("Uncommitted"), self.tr("Against a branch")
        if git is None or git.obstacle:
            reasons = {
                "not_a_repository": self.tr("No git repository"),
                "git_missing": self.tr("git is not installed"),
                "too_slow": self.tr("git took too long"),
            }
            why = reasons.get(git.obstacle, self.tr("git failed")) if git is not None else ""
            first, obstacle = f"{uncommitted} ({why.lower()})" if why else uncommitted, why or self.tr("Looking…")
            return [_LINE, _Choice(first, UNCOMMITTED, obstacle), _Choice(branch, ReviewBaseline("branch"), obstacle)]
        against = self.tr("Against {0}")
        named = git.branches[:_MAX_BRANCHES]
        branches = [_Choice(against.format(name), ReviewBaseline("branch", branch=name)) for name in named]
        if base:
            branches.insert(0, _Choice(self.tr("Against the worktree's base"), ReviewBaseline("branch", branch=base)))
        none = _Choice(branch, ReviewBaseline("branch"), self.tr("There is no other branch"))
        return [_LINE, _Choice(uncommitted, UNCOMMITTED), *(branches or [none])]


_FEW_TURNS = 100
"""Up to this many turns, each row of the popup is as high as its text."""


class BaselinePicker(Picker):
    chosen = Signal(object)  # a `ReviewBaseline`
    opened = Signal()  # the user is about to choose

    def __init__(self) -> None:
        super().__init__(min_chars=12)
        set_names(self, "baselinePicker", self.tr("Changes to review"))
        self._baselines = BaselineModel(self)
        self.setModel(self._baselines)
        self.activated.connect(self._on_activated)

    def set_choices(
        self,
        turns: Sequence[int],
        prompts: Mapping[int, str],
        git: GitState | None,
        current: ReviewBaseline,
        base: str = "",
    ) -> None:
        """Offer these baselines. `turns` come newest first. `git` is None until the repository was queried."""
        # Measuring 3,000 rows one by one takes several frames. Separators then take a full row.
        cast("QListView", self.view()).setUniformItemSizes(len(turns) > _FEW_TURNS)
        self._baselines.set_choices(turns, prompts, git, base)
        self.setCurrentIndex(self._baselines.row_of(current))

    def showPopup(self) -> None:
        self.opened.emit()
        super().showPopup()

    def _on_activated(self, index: int) -> None:
        baseline = self.itemData(index)
        if baseline is not None:
            self.chosen.emit(baseline)


AuthorFilter = Literal["", "agent", "shell", "mcp", "person", "unknown"]
StateFilter = Literal["", "undecided", "kept", "undone", "conflict"]


class FileFilter(NamedTuple):
    author: AuthorFilter = ""
    state: StateFilter = ""
    text: str = ""

    def passes(self, file: ChangedFile) -> bool:
        marks = ("pending", "partly", "conflict", "offered") if self.state == "undecided" else (self.state,)
        return (
            (not self.author or self.author in file.authors)
            and (not self.state or file.mark in marks)
            and all(word in f"{file.path}\n{file.moved_from}".lower() for word in self.text.lower().split())
        )


class FilterButton(QPushButton):
    changed = Signal()
    text_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("reviewFilterButton")
        self.setProperty("variant", "flat")
        self.chosen = FileFilter()
        """The chosen author and state. Its `text` stays empty, because that is typed into another field."""
        self._menu = QMenu(self)
        self._authors = self._group({
            "": self.tr("Everyone"),
            "agent": self.tr("Agent"),
            "shell": self.tr("Shell"),
            "mcp": self.tr("MCP"),
            "person": self.tr("Me"),
            "unknown": self.tr("A server, or me"),
        })  # fmt: skip
        self._menu.addSeparator()
        self._states = self._group({
            "": self.tr("In any state"),
            "undecided": self.tr("Undecided"),
            "kept": self.tr("Kept"),
            "undone": self.tr("Undone"),
            "conflict": self.tr("In conflict"),
        })  # fmt: skip
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Filter by path…")).triggered.connect(self.text_requested)
        self.setMenu(self._menu)
        self._show()

    def set_has_authors(self, *, has_authors: bool) -> None:
        """Enable the filter by author, or disable it for git's differences, whose authors are unknown."""
        for action in self._authors.actions()[1:]:
            action.setEnabled(has_authors)
        if not has_authors and self.chosen.author:
            self._authors.actions()[0].trigger()

    def clear(self) -> None:
        for group in (self._authors, self._states):
            group.actions()[0].setChecked(True)
        self._on_chosen()

    def _group(self, words: dict[str, str]) -> QActionGroup:
        group = QActionGroup(self)
        for value, text in words.items():
            action = QAction(text, group)
            action.setData(value)
            action.setCheckable(True)
            action.setChecked(not value)
            self._menu.addAction(action)
        group.triggered.connect(self._on_chosen)
        return group

    def _on_chosen(self) -> None:
        author = cast("AuthorFilter", self._authors.checkedAction().data())
        chosen = FileFilter(author, cast("StateFilter", self._states.checkedAction().data()))
        if chosen != self.chosen:
            self.chosen = chosen
            self._show()
            self.changed.emit()

    def _show(self) -> None:
        author, state = self._authors.checkedAction(), self._states.checkedAction()
        words = [author.text()] if self.chosen.author or not self.chosen.state else []
        words += [state.text()] if self.chosen.state else []
        text = ", ".join(words)
        self.setText(f"{text} ▾")
        self.setAccessibleName(self.tr("Files listed: {0}").format(text))


_FIELD_FROM_FILES = 9


class ChangeListing(QWidget):
    listed = Signal()

    def __init__(self, theme: Theme, reviewed: Reviewed, git: GitListing, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.picker = BaselinePicker()
        self._button = button = FilterButton()
        self.files = ChangedFileList(theme)
        self._reviewed = reviewed
        self._git = git
        self._field = make_line(
            "reviewFilterEdit", self.tr("Filter the files by path"), self.tr("Filter by path"), is_clearable=True
        )
        self._added, self._removed = QLabel(), QLabel()
        self._note = make_label(role="secondary", object_name="reviewNote", wraps=True)
        self._field.hide()
        self._note.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        totals = hbox(self._added, self._removed, spacing=Space.S)
        header = header_row(self.picker, self._button, STRETCH, totals)
        margins = (Space.S - 1, 0, Space.S - 1, Space.XS)
        vbox(header, vbox(self._field, self.files, self._note, margins=margins, spacing=Space.XS), on=self)
        button.changed.connect(self._list)
        button.text_requested.connect(self._ask_for_text)
        self._field.textChanged.connect(self._list)
        self._note.linkActivated.connect(self.clear_filter)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_reviewed(self) -> None:
        reviewed = self._reviewed
        prompts = dict(reviewed.transcript.turns.prompts)  # a copy, to be compared with the next state
        worktree = reviewed.transcript.session.worktree
        base = worktree.base if worktree is not None else ""
        self.picker.set_choices(reviewed.turns, prompts, self._git.state, reviewed.baseline, base)
        self._button.set_has_authors(has_authors=not reviewed.baseline.is_git)
        self.files.can_revert = not reviewed.transcript.turns.is_working
        self._list()

    @property
    def is_filtered(self) -> bool:
        return self._filter != FileFilter()

    def clear_filter(self) -> None:
        self._button.clear()
        self._field.clear()

    @property
    def _filter(self) -> FileFilter:
        return self._button.chosen._replace(text=self._field.text().strip())

    def _list(self) -> None:
        wanted = self._filter
        files = [file for file in self._reviewed.files if wanted.passes(file)]
        self.files.set_files(files)
        counts = [file.counts for file in files if file.mark != "undone"]
        added, removed = sum(added for added, _ in counts), sum(removed for _, removed in counts)
        self._added.setText(f"+{added}" if added else "")
        self._added.setAccessibleName(plural("ChangeListing", added, "%n line added", "%n lines added"))
        self._removed.setText(f"−{removed}" if removed else "")
        self._removed.setAccessibleName(plural("ChangeListing", removed, "%n line removed", "%n lines removed"))
        show_text(self._note, "" if files else self._empty_words())
        self.files.setVisible(bool(files))
        is_long = len(self._reviewed.files) >= _FIELD_FROM_FILES
        self._field.setVisible(is_long or self._field.hasFocus() or bool(self._field.text()))
        self.listed.emit()

    def _empty_words(self) -> str:
        if self._reviewed.files:
            return self.tr("No changed file matches.") + f' <a href="#all">{self.tr("Show all files")}</a>'
        if not self._reviewed.baseline.is_git:
            return self.tr("Nothing changed here.")
        if self._git.is_loading:
            return self.tr("Looking…")
        return self._git.problem or self.tr("No differences: the files on disk are as committed.")

    def _ask_for_text(self) -> None:
        self._field.show()
        self._field.setFocus()

    def _on_theme_changed(self) -> None:
        for total, role in ((self._added, "added_text"), (self._removed, "removed_text")):
            total.setFont(self._theme.code_font(TypeSize.HEAD))
            total.setStyleSheet(f"color: {getattr(self._theme.colours, role)};")
