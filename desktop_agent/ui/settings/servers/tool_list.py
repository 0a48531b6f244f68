"""The tools of one server, each with a switch."""

from collections.abc import Callable, Collection

from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.settings.servers.view import ToolView
from desktop_agent.ui.settings.servers.words import cut
from desktop_agent.ui.settings.switch import Switch
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.wording.tooltips import plain_tooltip

_LONGEST = 400


class ToolRow(QWidget):
    """One tool: its name, what it takes of each request, what the server says of it, and whether it is in use."""

    def __init__(self, theme: Theme, tool: ToolView, switch: Callable[[str, bool], None]) -> None:
        super().__init__()
        self._name = tool.name
        self._switch = switch
        self.switch = Switch(theme)
        self.switch.setObjectName("toolSwitch")
        self.switch.setAccessibleName(self.tr("Use the tool {0}").format(cut(tool.name)))
        self.switch.clicked.connect(self._on_switch)
        name = make_label(cut(tool.name), is_plain=True)
        name.setFont(theme.code_font())
        about = ElidedLabel()
        about.setText(cut(tool.about, _LONGEST))
        about.setProperty("role", "secondary")
        about.setToolTip(plain_tooltip(cut(tool.about, _LONGEST)))
        about.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        tokens = make_label(self.tr("{0} tokens").format(f"{tool.tokens:,}"), role="secondary")
        hbox(self.switch, name, (about, 1), tokens, on=self, spacing=Space.S)

    def show_state(self, *, is_enabled: bool, can_switch: bool) -> None:
        """Show whether it is in use. Emits nothing."""
        self.switch.setChecked(is_enabled)
        self.switch.setEnabled(can_switch)

    def _on_switch(self) -> None:
        self._switch(self._name, self.switch.isChecked())


class ToolList(QWidget):
    """All of them, one below the other. Made when they are first shown."""

    def __init__(self, theme: Theme, switch: Callable[[str, bool], None]) -> None:
        """`switch` lets a tool (its name) be used, or not."""
        super().__init__()
        self._theme = theme
        self._switch = switch
        self._tools: tuple[ToolView, ...] = ()
        self._rows: dict[str, ToolRow] = {}
        self._column = vbox(on=self, spacing=2)

    def show_tools(self, tools: tuple[ToolView, ...], disabled: Collection[str], *, can_switch: bool) -> None:
        """Show these tools. Rows stay, with the focus, while the server offers the same."""
        if tools != self._tools:
            for row in self._rows.values():
                self._column.removeWidget(row)
                row.hide()
                row.deleteLater()
            self._tools = tools
            self._rows = {tool.name: ToolRow(self._theme, tool, self._switch) for tool in tools}
            for row in self._rows.values():
                self._column.addWidget(row)
                row.show()
        usable = {tool.name for tool in tools if tool.is_usable}
        for name, row in self._rows.items():
            is_usable = name in usable
            row.show_state(is_enabled=is_usable and name not in disabled, can_switch=is_usable and can_switch)
