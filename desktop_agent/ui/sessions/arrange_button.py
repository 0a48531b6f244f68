"""The button that says how the list of sessions is arranged: its groups, and how much a row says."""

from typing import get_args

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from desktop_agent.ui.sessions.groups import Arrangement, Grouping
from desktop_agent.ui.widgets.menu_button import MenuButton


class ArrangeButton(MenuButton):
    """A button with a menu.

    Signals:
        arranged: the user chose another `Arrangement`.
    """

    arranged = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("arrangeSessionsButton")
        self.setProperty("variant", "flat")
        self.setProperty("compact", True)
        self.setText(self.tr("View ▾"))
        self.setAccessibleName(self.tr("How sessions are listed"))
        self.setToolTip(self.accessibleName())
        self._arrangement = Arrangement()
        menu = QMenu(self)
        menu.setObjectName("arrangeSessionsMenu")
        menu.addSection(self.tr("Group by"))
        choices = QActionGroup(menu)
        self._groupings: dict[Grouping, QAction] = {}
        for grouping in get_args(Grouping):
            action = self._groupings[grouping] = choices.addAction(self._words(grouping))
            action.setCheckable(True)
            menu.addAction(action)
        menu.addSeparator()
        self._details = menu.addAction(self.tr("Show turns and cost"))
        self._details.setCheckable(True)
        choices.triggered.connect(self._choose)
        self._details.triggered.connect(self._choose)
        self.setMenu(menu)
        self.show_arrangement(self._arrangement)

    def show_arrangement(self, arrangement: Arrangement) -> None:
        """Tick what holds."""
        self._arrangement = arrangement
        self._groupings[arrangement.grouping].setChecked(True)
        self._details.setChecked(arrangement.is_detailed)

    def _choose(self) -> None:
        grouping = next(name for name, action in self._groupings.items() if action.isChecked())
        arrangement = replace(self._arrangement, grouping=grouping, is_detailed=self._details.isChecked())
        self.show_arrangement(arrangement)
        self.arranged.emit(arrangement)

    def _words(self, grouping: Grouping) -> str:
        match grouping:
            case "nearby":
                return self.tr("This folder first")
            case "folder":
                return self.tr("Folder")
            case "day":
                return self.tr("Time")
            case "state":
                return self.tr("State")
