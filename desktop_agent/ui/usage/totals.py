"""The sums at the top of the page: cost, tokens, time and calls."""

from collections.abc import Sequence

from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.usage.shown import Total
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_COUNT = 4


class Totals(QWidget):
    """Large figures with what they are below."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("usageTotals")
        self._labels = [(_label("title"), _label("secondary")) for _ in range(_COUNT)]
        cells = (vbox(value, name, STRETCH, spacing=2) for value, name in self._labels)
        hbox(*((cell, 1) for cell in cells), on=self, spacing=Space.L)

    def show_totals(self, totals: Sequence[Total]) -> None:
        """Show these; nothing for none."""
        for number, (value, name) in enumerate(self._labels):
            total = totals[number] if number < len(totals) else Total("", "")
            value.setText(total.value)
            name.setText(total.name)
        self.setAccessibleName(", ".join(f"{total.value} {total.name}" for total in totals))


def _label(role: str) -> QLabel:
    label = make_label(role=role, is_plain=True, is_selectable=True, wraps=role == "secondary")
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label
