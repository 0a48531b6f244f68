"""The parts of the settings pages."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFormLayout, QLabel, QPushButton, QScrollArea, QWidget

from desktop_agent.ui.runtime.pacing import GradualWork, in_next_turn
from desktop_agent.ui.settings.settings_view import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import Note, make_label
from desktop_agent.ui.widgets.layouts import scroll_down, vbox

_NAME_WIDTH = 92


class Page(QScrollArea):
    """One section: a title, and below it the added parts. It scrolls in a small dialog.

    It is built when it is first shown, a part in each turn of the loop, and becomes visible when complete: a visible
    page would be laid out and painted again with each part.
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.view: SettingsView | None = None
        self._is_begun = False
        self.is_built = False
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

    def when_built(self, do: Callable[[], object]) -> None:
        """Call `do` once the page is built; builds it if necessary."""
        if self.is_built:
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
        self.is_built = True
        if self.view is not None:
            self._show(self.view)
        self._on_built()
        self._content.show()
        for do in self._when_built:
            do()

    def _build(self) -> Iterator[None]:
        """Add the content, a little in each step."""
        yield from ()

    def _on_built(self) -> None:
        """Show what else arrived before the page was built."""

    def show_view(self, view: SettingsView) -> None:
        """Show the settings in force, as far as they are on this page. Emits nothing."""
        self.view = view
        if self.is_built:
            self._show(view)

    def _show(self, view: SettingsView) -> None:
        """Show the settings; called only once the page is built."""


def form() -> QFormLayout:
    layout = QFormLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setHorizontalSpacing(Space.L)
    layout.setVerticalSpacing(Space.M)
    layout.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return layout


def name_of(text: str) -> QLabel:
    """Return the name at the left of a field; all have one width, so that forms line up."""
    name = QLabel(text)
    name.setMinimumWidth(_NAME_WIDTH)
    return name


def pick(box: Picker, value: object) -> None:
    """Show `value`, adding it if it is missing. Emits nothing."""
    with QSignalBlocker(box):
        if box.findData(value) < 0:
            box.addItem(str(value), value)
        box.setCurrentIndex(box.findData(value))


class AddingForm(QWidget):
    """Asks for something to add. Escape closes the form, not the dialog around it."""

    cancelled = Signal()

    def __init__(self, problem_name: str = "") -> None:
        super().__init__()
        self.problem = Note("", "error", object_name=problem_name)
        self.problem.hide()

    def say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)


class Removal(QObject):
    """A button that removes something, and the two that stand beside it until the user confirms or keeps it."""

    def __init__(
        self,
        button: QPushButton,
        confirm: QPushButton,
        keep_name: str,
        *,
        remove: Callable[[], None],
        changed: Callable[[], None],
        is_compact: bool = False,
    ) -> None:
        """`changed` updates what depends on `is_asking`, including `button`."""
        super().__init__(button)
        self.is_asking = False
        self.button = button
        self.confirm = confirm
        self.keep = make_button(self.tr("Keep it"), keep_name, clicked=self._on_keep, is_compact=is_compact)
        self._remove = remove
        self._changed = changed
        button.clicked.connect(self._on_remove)
        confirm.clicked.connect(self._on_confirmed)

    def ask(self, *, is_asking: bool) -> None:
        """Show or hide the confirmation; call it when the buttons are in their layout."""
        self.is_asking = is_asking
        self.confirm.setVisible(is_asking)
        self.keep.setVisible(is_asking)
        self._changed()

    def _on_remove(self) -> None:
        self.ask(is_asking=True)
        self.keep.setFocus()

    def _on_keep(self) -> None:
        self.ask(is_asking=False)
        self.button.setFocus()

    def _on_confirmed(self) -> None:
        self.ask(is_asking=False)
        self._remove()
