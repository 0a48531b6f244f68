"""What the pages of the settings dialog are made of."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QFrame, QLabel, QScrollArea, QWidget

from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox
from desktop_agent.ui.widgets.note import Note
from desktop_agent.ui.widgets.picker import Picker

_NAME_WIDTH = 92


class Page(QScrollArea):
    """One section: a title, and below it whatever is added. It scrolls where the dialog is small."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self._is_built = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = QWidget()
        margins = (Space.XL, Space.XL, Space.XL, Space.XL)
        self.column = vbox(make_label(title, role="title"), on=content, spacing=Space.M, margins=margins)
        self.setWidget(content)
        # The dialog's own ground shows through: pages have none.
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)

    def build(self) -> None:
        """Build what is needed only when the page is shown, if that has not been done yet."""
        if not self._is_built:
            self._is_built = True
            self._build()

    def _build(self) -> None:
        """Build it. Pages that have nothing to wait with leave this as it is."""

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force, as far as the page is about that. Emits nothing."""


def form() -> QFormLayout:
    """Return an empty form: names at the left, fields as wide as there is room."""
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


def note(text: str, role: str = "secondary") -> Note:
    """Return a line or two that explain something."""
    return Note(text, role)


def say(note: QLabel, text: str, role: str = "secondary") -> None:
    """Give a note another text and role."""
    note.setText(text)
    note.setProperty("role", role)
    note.style().unpolish(note)
    note.style().polish(note)


def picker(name: str, choices: Iterable[tuple[str, object]]) -> Picker:
    """Return a picker of labels, each standing for a value."""
    box = Picker()
    box.setAccessibleName(name)
    for words, value in choices:
        box.addItem(words, value)
    return box


def pick(box: Picker, value: object) -> None:
    """Show `value`, adding it when it is none of the usual ones. Emits nothing."""
    box.blockSignals(True)
    if box.findData(value) < 0:
        box.addItem(str(value), value)
    box.setCurrentIndex(box.findData(value))
    box.blockSignals(False)
