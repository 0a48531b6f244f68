"""The tools of one server, each with a switch."""

from collections.abc import Callable, Collection, Iterator

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.ui.runtime.gradual import GradualWork
from desktop_agent.ui.settings.servers.view import ToolView
from desktop_agent.ui.settings.servers.words import cut
from desktop_agent.ui.settings.switch import Switch
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.wording.tooltips import plain_tooltip

_LONGEST = 400
_SPACING = 2
_SLICE_S = 0.0015
"""All that is in the page is laid out and painted beside the rows, which takes most of a turn."""


class ToolRow(QWidget):
    """One tool: its name, what it takes of each request, what the server says of it, and whether it is in use."""

    def __init__(self, theme: Theme, name: str, switch: Callable[[str, bool], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._name = name
        self._switch = switch
        self._tool: ToolView | None = None
        self.switch = Switch(theme)
        self.switch.setObjectName("toolSwitch")
        self.switch.setAccessibleName(self.tr("Use the tool {0}").format(cut(name)))
        self.switch.clicked.connect(self._on_switch)
        label = make_label(cut(name), is_plain=True)
        label.setFont(theme.code_font())
        self._about = ElidedLabel()
        self._about.setProperty("role", "secondary")
        self._about.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._tokens = make_label("", role="secondary")
        hbox(self.switch, label, (self._about, 1), self._tokens, on=self, spacing=Space.S)

    def show_tool(self, tool: ToolView, *, is_enabled: bool, can_switch: bool) -> None:
        """Show what the server says of it, and whether it is in use. Emits nothing."""
        if tool != self._tool:
            self._tool = tool
            about = cut(tool.about, _LONGEST)
            self._about.setText(about)
            self._about.setToolTip(plain_tooltip(about))
            self._tokens.setText(plural("ToolRow", tool.tokens, "%n token", "%n tokens"))
        self.switch.setChecked(is_enabled)
        self.switch.setEnabled(can_switch)

    def _on_switch(self) -> None:
        self._switch(self._name, self.switch.isChecked())


class ServerToolList(QWidget):
    """All of them, one below the other. Rows are made when it is unfolded, some in each turn of the loop.

    All rows are equally high, so it has its height before they are made, and nothing around it is laid out anew for
    each of them.
    """

    def __init__(self, theme: Theme, switch: Callable[[str, bool], None]) -> None:
        """`switch` lets a tool (its name) be used, or not."""
        super().__init__()
        self._theme = theme
        self._switch = switch
        self._tools: tuple[ToolView, ...] = ()
        self._disabled: Collection[str] = ()
        self._can_switch = False
        self._rows: dict[str, ToolRow] = {}
        self._work = GradualWork(self, _SLICE_S)
        self.hide()

    @property
    def is_unfolded(self) -> bool:
        """Whether the rows are shown."""
        return not self.isHidden()

    def unfold(self, *, is_unfolded: bool) -> None:
        """Show the rows, or hide them."""
        if is_unfolded:
            self._work.begin(self._show_rows())
        else:
            self._work.stop()
        self.setVisible(is_unfolded)

    def show_tools(self, tools: tuple[ToolView, ...], disabled: Collection[str], *, can_switch: bool) -> None:
        """Show these tools, if it is unfolded. The row of a tool stays, with the focus, while the server offers it."""
        self._tools, self._disabled, self._can_switch = tools, disabled, can_switch
        if self.is_unfolded:
            self._work.begin(self._show_rows())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            for row in self._rows.values():
                row.resize(self.width(), row.height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and self.is_unfolded:
            self._work.begin(self._show_rows())

    def _show_rows(self) -> Iterator[None]:
        """Bring the rows up to date, one in each step."""
        names = {tool.name for tool in self._tools}
        for name in [name for name in self._rows if name not in names]:
            row = self._rows.pop(name)
            row.hide()
            row.deleteLater()
            yield
        last: QWidget | None = None
        for place, tool in enumerate(self._tools):
            row = self._rows.get(tool.name)
            if row is None:
                row = self._rows[tool.name] = ToolRow(self._theme, tool.name, self._switch, self)
            is_enabled = tool.is_usable and tool.name not in self._disabled
            row.show_tool(tool, is_enabled=is_enabled, can_switch=tool.is_usable and self._can_switch)
            if last is not None:
                self.setTabOrder(last, row.switch)
            last = row.switch
            height = row.sizeHint().height()
            if place == 0:
                self.setFixedHeight(len(self._tools) * (height + _SPACING) - _SPACING)
            row.setGeometry(0, place * (height + _SPACING), self.width(), height)
            row.show()
            yield
