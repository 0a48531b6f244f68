"""One MCP server: how it is, what it offers and said, and what can be done with it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QSizePolicy

from desktop_agent.ui.settings.parts import note, say
from desktop_agent.ui.settings.servers.call_list import CallList
from desktop_agent.ui.settings.servers.log_view import LogView
from desktop_agent.ui.settings.servers.sign_in_wait import SignInWait
from desktop_agent.ui.settings.servers.tool_list import ServerToolList
from desktop_agent.ui.settings.servers.view import ServerActions, ServerView
from desktop_agent.ui.settings.servers.words import facts_line, problem_line, state_line, state_role
from desktop_agent.ui.settings.switch import Switch
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording.tooltips import plain_tooltip


class ServerCard(QFrame):
    """Shows a server and says what the user wants of it; asks before it is removed."""

    def __init__(self, theme: Theme, server: ServerView, actions: ServerActions) -> None:
        super().__init__()
        self.setObjectName("serverCard")
        self.setProperty("role", "surface")
        self._server = server
        self._is_shown = False
        self._theme = theme
        self._actions = actions
        self._switch = Switch(theme)
        self._switch.setObjectName("serverSwitch")
        self._switch.setAccessibleName(self.tr("Use the server {0}").format(server.name))
        self._switch.clicked.connect(self._on_switch)
        self._where = ElidedLabel(Qt.TextElideMode.ElideRight)
        self._where.setFont(theme.code_font())
        self._where.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._state, self._facts, self._problem = note(""), note(""), note("", "error")
        self._confinement = note("")
        self._confinement.setObjectName("serverConfinement")
        self._state.setObjectName("serverState")
        self._tools = ServerToolList(theme, self._on_tool)
        self._calls = CallList(theme)
        self._wait: SignInWait | None = None
        """Made with the first sign-in."""
        self._log: LogView | None = None
        """Made when it is first unfolded."""
        self._build_buttons()
        self._lay_out()
        self._ask_to_remove(is_asking=False)
        self.show_server(server)

    def show_server(self, server: ServerView) -> None:
        """Show how it is now. Emits nothing; what is unfolded stays so."""
        if server == self._server and self._is_shown:
            return
        self._server, self._is_shown = server, True
        is_mine = server.definition.defined_by == "user"
        self._switch.setChecked(server.definition.is_enabled)
        self._switch.setEnabled(is_mine)
        self._switch.setToolTip("" if is_mine else self.tr("The project's file defines it"))
        self._where.setText(server.definition.where)
        self._where.setToolTip(plain_tooltip(server.definition.where))
        say(self._state, state_line(server), state_role(server))
        self._state.setAccessibleName(f"{server.name}: {state_line(server)}")
        for label, text in (
            (self._facts, facts_line(server)),
            (self._problem, problem_line(server)),
            (self._confinement, server.definition.confinement),
        ):
            label.setText(text)
            label.setVisible(bool(text))
        self._tools.show_tools(server.tools, server.definition.disabled_tools, can_switch=is_mine)
        if self._tools.is_unfolded and not server.tools:
            self._tools.unfold(is_unfolded=False)
        self._calls.show_calls(server.status.last_calls)
        if self._log is not None:
            self._log.show_log(server.log)
        self._show_sign_in()
        self._update_buttons()

    def _build_buttons(self) -> None:
        name = self._server.name
        self._sign_in = make_button(
            self.tr("Sign in…"),
            object_name="serverSignInButton",
            accessible_name=self.tr("Sign in with the server {0}").format(name),
            clicked=self._on_sign_in,
            variant="primary",
            is_compact=True,
        )
        self._show_calls = make_button(object_name="serverCallsButton", clicked=self._on_calls, is_compact=True)
        self._show_tools = make_button(object_name="serverToolsButton", clicked=self._on_tools, is_compact=True)
        self._show_log = make_button(object_name="serverLogButton", clicked=self._on_log, is_compact=True)
        self._restart = make_button(object_name="restartServerButton", clicked=self._on_restart, is_compact=True)
        self._remove = make_button(
            self.tr("Remove"),
            object_name="removeServerButton",
            accessible_name=self.tr("Remove the server {0}").format(name),
            clicked=self._on_remove,
            variant="destructive",
            is_compact=True,
        )
        self._question = make_label(self.tr("Remove {0} from your settings?").format(name), is_plain=True)
        self._really_remove = make_button(
            self.tr("Remove it"),
            object_name="reallyRemoveServerButton",
            clicked=self._on_really_remove,
            variant="destructive",
            is_compact=True,
        )
        self._keep = make_button(
            self.tr("Keep it"), object_name="keepServerButton", clicked=self._on_keep, is_compact=True
        )

    def _lay_out(self) -> None:
        head = hbox(make_label(self._server.name, role="strong"), (self._where, 1), self._switch, spacing=Space.M)
        usual = (self._sign_in, self._restart, self._show_tools, self._show_calls, self._show_log, self._remove)
        asking = (self._question, self._really_remove, self._keep)
        row = hbox(*usual, *asking, STRETCH, spacing=Space.S)
        self._column = vbox(
            head,
            self._state,
            self._facts,
            self._problem,
            self._confinement,
            Space.XS,
            row,
            self._tools,
            self._calls,
            on=self,
            spacing=Space.XS,
            margins=(0, Space.S, 0, Space.S),
        )

    @property
    def _is_log_unfolded(self) -> bool:
        return self._log is not None and not self._log.isHidden()

    def _show_sign_in(self) -> None:
        progress = self._server.sign_in
        if progress is None:
            if self._wait is not None:
                self._wait.hide()
            return
        if self._wait is None:
            self._wait = SignInWait(self._server.name, self._on_cancel_sign_in)
            self._column.insertWidget(self._column.indexOf(self._tools), self._wait)
        self._wait.show_progress(progress)
        self._wait.show()

    def _update_buttons(self) -> None:
        server, status = self._server, self._server.status
        is_asking = self._question.isVisibleTo(self)
        is_starting = status.state == "starting"
        is_new = status.facts is None and not status.problem
        restart = self.tr("Starting…") if is_starting else self.tr("Test") if is_new else self.tr("Restart")
        tools = self.tr("Hide tools") if self._tools.is_unfolded else self.tr("Tools")
        log = self.tr("Hide log") if self._is_log_unfolded else self.tr("Log")
        calls = self.tr("Hide calls") if self._calls.is_unfolded else self.tr("Calls")
        words = ((self._restart, restart), (self._show_tools, tools), (self._show_calls, calls), (self._show_log, log))
        for button, text in words:
            button.setText(text)
            button.setAccessibleName(f"{text}: {server.name}")
        self._restart.setEnabled(not is_starting)
        self._restart.setVisible(not is_asking)
        self._sign_in.setVisible(not is_asking and status.needs_sign_in and server.sign_in is None)
        self._show_calls.setVisible(not is_asking and bool(status.last_calls))
        self._show_tools.setVisible(not is_asking and bool(server.tools))
        self._show_log.setVisible(not is_asking and bool(server.log))
        self._remove.setVisible(not is_asking and server.definition.defined_by == "user")

    # --- what the user does -------------------------------------------------------------------------------------

    def _on_switch(self) -> None:
        self._actions.switch(self._server.name, self._switch.isChecked())

    def _on_tool(self, tool: str, is_enabled: bool) -> None:
        self._actions.switch_tool(self._server.name, tool, is_enabled)

    def _on_restart(self) -> None:
        self._actions.restart(self._server.name)

    def _on_sign_in(self) -> None:
        self._actions.sign_in(self._server.name)

    def _on_cancel_sign_in(self) -> None:
        self._actions.cancel_sign_in(self._server.name)

    def _on_calls(self) -> None:
        self._calls.show_calls(self._server.status.last_calls)
        self._calls.unfold(is_unfolded=not self._calls.is_unfolded)
        self._update_buttons()

    def _on_tools(self) -> None:
        self._tools.unfold(is_unfolded=not self._tools.is_unfolded)
        self._update_buttons()

    def _on_log(self) -> None:
        if self._log is None:
            self._log = LogView(self._theme, self._server.name)
            self._column.addWidget(self._log)
        else:
            self._log.setVisible(not self._is_log_unfolded)
        self._log.show_log(self._server.log)
        self._update_buttons()

    def _on_remove(self) -> None:
        self._ask_to_remove(is_asking=True)
        self._keep.setFocus()

    def _on_keep(self) -> None:
        self._ask_to_remove(is_asking=False)
        self._remove.setFocus()

    def _on_really_remove(self) -> None:
        self._ask_to_remove(is_asking=False)
        self._actions.remove(self._server.name)

    def _ask_to_remove(self, *, is_asking: bool) -> None:
        for widget in (self._question, self._really_remove, self._keep):
            widget.setVisible(is_asking)
        self._update_buttons()
