"""How hard a model shall think: one segment for each level that it has."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.models.known_model import OWN
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox


class EffortChoice(QWidget):
    """Levels side by side, the one in force marked; words in their place for a model that has none.

    Signals:
        chosen: the user wants this level; empty is what the model does by itself.
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("effortChoice")
        self.setAccessibleName(self.tr("Effort"))
        self._levels: tuple[str, ...] = ()
        self._buttons: list[QPushButton] = []
        self._none = make_label(role="secondary")
        self._row = hbox(spacing=Space.XS)
        label = make_label(self.tr("Effort"), role="secondary")
        hbox(label, self._row, self._none, STRETCH, on=self, margins=(Space.S, 0, 0, 0), spacing=Space.S)
        self.setFixedHeight(Height.SMALL_BUTTON)

    def show_levels(self, levels: Sequence[str], level: str, why_none: str = "") -> None:
        """Show these, the least first, and which of them is in force; empty is what the model does by itself.

        `why_none` stands in the place of no levels.
        """
        if tuple(levels) != self._levels:
            self._levels = tuple(levels)
            self._build()
        self._none.setText("" if levels else why_none)
        for button in self._buttons:
            is_chosen = button.property("level") == level
            button.setChecked(is_chosen)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_chosen else Qt.FocusPolicy.ClickFocus)

    @property
    def tab_stop(self) -> QWidget | None:
        """What Tab leads to: the level in force, from which the arrow keys lead to the others."""
        return next((button for button in self._buttons if button.isChecked()), None)

    def _build(self) -> None:
        for button in self._buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        self._buttons = [self._segment(level) for level in ("", *self._levels)] if self._levels else []
        for button in self._buttons:
            self._row.addWidget(button)

    def _segment(self, level: str) -> QPushButton:
        button = make_button(level or OWN, clicked=self._on_clicked, is_compact=True, parent=self)
        button.setCheckable(True)
        button.installEventFilter(self)
        button.setProperty("level", level)
        words = self.tr("{0} effort").format(level) if level else self.tr("As much as the model thinks right")
        button.setAccessibleName(words)
        button.setToolTip(words)
        return button

    def _on_clicked(self) -> None:
        button = self.sender()
        assert isinstance(button, QPushButton)
        button.setChecked(True)  # a second click takes nothing back
        self.chosen.emit(button.property("level"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go from level to level by the arrow keys; Enter takes one, as Space does."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent) or watched not in self._buttons:
            return super().eventFilter(watched, event)
        at = next(place for place, button in enumerate(self._buttons) if button is watched)
        match event.key():
            case Qt.Key.Key_Left | Qt.Key.Key_Right as key:
                to = (at + (1 if key == Qt.Key.Key_Right else -1)) % len(self._buttons)
                self._buttons[to].setFocus(Qt.FocusReason.TabFocusReason)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._buttons[at].click()
            case _:
                return super().eventFilter(watched, event)
        return True
