"""What the pages of the settings dialog are made of."""

from collections.abc import Callable, Iterable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFormLayout, QLabel, QScrollArea, QWidget

from desktop_agent.ui.runtime.pacing import GradualWork, in_next_turn
from desktop_agent.ui.settings.settings_view import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import scroll_down, vbox

_NAME_WIDTH = 92


class Page(QScrollArea):
    """One section: a title, and below it what is added. It scrolls where the dialog is small.

    It is built when it is first shown, some of it in each turn of the loop, and to be seen when that is done: what is
    added to a visible page is laid out and painted again with each part.
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self._is_begun = False
        self._is_built = False
        self._when_built: list[Callable[[], object]] = []
        self._building = GradualWork(self)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = QWidget()
        self.column = vbox(on=content, spacing=Space.M, margins=(Space.XL, Space.XL, Space.XL, Space.XL))
        scroll_down(self, content)
        self._content = content
        content.hide()

    def build(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._building.begin(self._steps())

    @property
    def is_built(self) -> bool:
        return self._is_built

    def when_built(self, do: Callable[[], object]) -> None:
        """Build the page, and call this when that is done; at once, if it is."""
        if self._is_built:
            do()
        else:
            self._when_built.append(do)
            self.build()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        in_next_turn(self, self.build)  # the dialog is shown first

    def _steps(self) -> Iterator[None]:
        self.column.insertWidget(0, make_label(self.title, role="title"))
        yield
        yield from self._build()
        self._is_built = True
        self._on_built()
        self._content.show()
        for do in self._when_built:
            do()

    def _build(self) -> Iterator[None]:
        """Add what is on the page, a little in each step."""
        yield from ()

    def _on_built(self) -> None:
        """Show what was to be shown before there was anything to show it with."""

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force, as far as the page is about that. Emits nothing."""


def form() -> QFormLayout:
    layout = QFormLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setHorizontalSpacing(Space.L)
    layout.setVerticalSpacing(Space.M)
    layout.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return layout


def name_of(text: str) -> QLabel:
    """Return the name at the left of a field; all are equally wide, so that the fields of several forms line up."""
    name = QLabel(text)
    name.setMinimumWidth(_NAME_WIDTH)
    return name


def picker(name: str, choices: Iterable[tuple[str, object]]) -> Picker:
    box = Picker()
    box.setAccessibleName(name)
    for words, value in choices:
        box.addItem(words, value)
    return box


def pick(box: Picker, value: object) -> None:
    """Show `value`, adding it if the picker does not have it. Emits nothing."""
    box.blockSignals(True)
    if box.findData(value) < 0:
        box.addItem(str(value), value)
    box.setCurrentIndex(box.findData(value))
    box.blockSignals(False)
