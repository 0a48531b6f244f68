"""One step of the welcome: a title, what it asks, and the button that leads on."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox


class Step(QWidget):
    """One step. The dialog puts its button into the foot.

    Signals:
        changed: the button that leads on may be another one.
        leads_on: the user wants the step of this name next.
    """

    changed = Signal()
    leads_on = Signal(str)

    def __init__(self, title: str, explanation: str) -> None:
        super().__init__()
        self.title = title
        self._title = make_label(title, role="title", wraps=True)
        self._explanation = make_label(explanation, role="secondary", wraps=True, is_plain=True)
        self.column: QVBoxLayout = vbox(self._title, self._explanation, Space.S, on=self, spacing=Space.XS)

    @property
    def primary(self) -> QPushButton | None:
        """The button that leads on; `None` where there is nothing to lead on to."""
        return None

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """Every button that may lead on."""
        return (self.primary,) if self.primary is not None else ()

    def begin(self) -> None:
        """Get ready to be shown."""
        self.take_focus()

    def take_focus(self) -> None:
        """Put the keyboard where the user begins."""

    def forget(self) -> None:
        """Forget secrets that were typed."""

    def explain(self, title: str, explanation: str) -> None:
        """Say something else above."""
        self.title = title
        self._title.setText(title)
        self._explanation.setText(explanation)


def primary_button(text: str, object_name: str) -> QPushButton:
    """Return a button that leads on."""
    return make_button(text, object_name=object_name, variant="primary")


def form() -> QFormLayout:
    """Return an empty form: names at the left, fields as wide as there is room, below their names if there is none."""
    fields = QFormLayout()
    fields.setHorizontalSpacing(Space.L)
    fields.setVerticalSpacing(Space.M)
    fields.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    fields.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return fields
