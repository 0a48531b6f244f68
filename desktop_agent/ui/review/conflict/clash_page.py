"""One text file whose undo or redo clashes: three columns, a choice for each clash, and the result."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSplitter, QWidget

from desktop_agent.core.merge.three_way import Choice, ThreeWay
from desktop_agent.ui.review.conflict.clash_words import Names
from desktop_agent.ui.review.conflict.columns import ThreeColumns
from desktop_agent.ui.review.conflict.resolution import Purpose
from desktop_agent.ui.review.conflict.result_editor import ResultEditor
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox


class ClashPage(QWidget):
    """Lets the user go from clash to clash and decide.

    Keys, also beside it in its dialog: F7 and Shift+F7 go from clash to clash; Alt+1, Alt+2 and Alt+3 choose.

    Signals:
        decided: something was chosen or edited.
    """

    decided = Signal()

    def __init__(self, theme: Theme, path: str, three: ThreeWay, purpose: Purpose, names: Names) -> None:
        """The file's `path` tells its language. `names` say whose each version is."""
        super().__init__()
        self._three = three
        self._current = 0
        is_undo = purpose == "undo"
        self._columns = ThreeColumns(theme, (names.base, names.wanted, names.there))
        self._columns.setObjectName("clashColumns")
        self._columns.setAccessibleName(self.tr("The three versions"))
        self.editor = ResultEditor(theme)
        """The result."""
        self.editor.setObjectName("clashResultEdit")
        self.editor.setAccessibleName(self.tr("The result that can be written"))
        self._previous = _button("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "previousClashButton", self.go_back)
        self._previous.setAccessibleName(self.tr("Previous clash"))
        self._previous.setToolTip(self.tr("Previous clash (Shift+F7)"))
        self._next = _button("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", "nextClashButton", self.go_on)
        self._next.setAccessibleName(self.tr("Next clash"))
        self._next.setToolTip(self.tr("Next clash (F7)"))
        self._where = make_label(role="secondary")
        take = self.tr("Take the undo") if is_undo else self.tr("Take the redo")
        self._buttons: dict[Choice, QPushButton] = {
            "wanted": _button(take, "takeWantedButton"),
            "yours": _button(names.keep, "keepYoursButton"),
            "both": _button(names.both, "takeBothButton"),
        }
        self._group = QButtonGroup(self)
        self._lay_out()
        self._connect()
        self._columns.show_three(three, path)
        self.editor.show_three(three, path)
        self.go_to(0)

    @property
    def current(self) -> int:
        """The clash that a choice is about, from 0."""
        return self._current

    @property
    def merged_count(self) -> int:
        """How many places change without a question."""
        return self._three.merged_count

    @property
    def decided_and_all(self) -> tuple[int, int]:
        """How many clashes are decided, and how many there are."""
        count = len(self.editor.choices)
        return count - len(self.editor.undecided), count

    def choose(self, choice: Choice) -> None:
        """Decide about the current clash."""
        self.editor.choose(self._current, choice)

    def go_on(self) -> None:
        """Go to the next clash, and from the last to the first."""
        self.go_to((self._current + 1) % len(self._three.clashes))

    def go_back(self) -> None:
        """Go to the clash before this one."""
        self.go_to((self._current - 1) % len(self._three.clashes))

    def go_to(self, number: int) -> None:
        """Go to this clash, from 0."""
        self._current = number
        self.editor.show_clash(number)
        self._columns.scroll_to_clash(number)
        self._show_decisions()

    def _on_clash_clicked(self, number: int) -> None:
        self._current = number
        self.editor.show_clash(number)
        self._show_decisions()

    def _show_decisions(self) -> None:
        edited = self.editor.edited
        chosen = self.editor.choices[self._current]
        self._group.setExclusive(False)
        for choice, button in self._buttons.items():
            button.setChecked(choice == chosen and self._current not in edited)
        self._group.setExclusive(True)
        self._columns.show_decisions(self.editor.choices, edited, self._current)
        count = len(self._three.clashes)
        words = self.tr("Clash {0} of {1}").format(self._current + 1, count)
        state = self.tr("edited by hand") if self._current in edited else ""
        self._where.setText(f"{words} · {state}" if state else words)
        self._columns.setAccessibleDescription(self._where.text())
        for button in (self._previous, self._next):
            button.setEnabled(count > 1)

    def _on_decided(self) -> None:
        self._show_decisions()
        self.decided.emit()

    def _on_chosen(self, pressed: QPushButton) -> None:
        self.choose(next(choice for choice, button in self._buttons.items() if button is pressed))

    def _connect(self) -> None:
        self._columns.clash_clicked.connect(self._on_clash_clicked)
        self.editor.decided.connect(self._on_decided)
        self._group.buttonClicked.connect(self._on_chosen)
        choices = [(f"Alt+{number}", each.click) for number, each in enumerate(self._buttons.values(), 1)]
        for keys, slot in (("F7", self.go_on), ("Shift+F7", self.go_back), *choices):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)  # wherever the focus is in the dialog

    def _lay_out(self) -> None:
        for number, button in enumerate(self._buttons.values(), 1):
            button.setCheckable(True)
            button.setToolTip(f"Alt+{number}")
            self._group.addButton(button)
        margins = (Space.XL, Space.S, Space.XL, Space.S)
        choices = hbox(
            self._previous, self._next, self._where, STRETCH, *self._buttons.values(), margins=margins, spacing=Space.S
        )
        head = make_label(self.tr("Result, as it can be written"), role="heading")
        head.setContentsMargins(Space.XL, Space.S, Space.XL, Space.XS)
        below = QWidget()
        vbox(choices, hairline(), head, hairline(), (self.editor, 1), on=below)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self._columns)
        split.addWidget(below)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        vbox(split, on=self)


def _button(text: str, name: str, clicked: Slot | None = None) -> QPushButton:
    """A button that Enter presses when it has the focus, rather than the dialog's default."""
    button = make_button(text, object_name=name, clicked=clicked)
    button.setAutoDefault(True)
    return button
