"""The card of an MCP server: its state, tools, last calls, log, and a sign-in in the browser.

Text from a server is shown on one line, cut, without hidden characters.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, QLocale, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPlainTextEdit, QWidget

from desktop_agent.core.base.plain_text import duration_text, named
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.definition_file import without_secrets
from desktop_agent.core.mcp.server_status import STATE_WORDS, LastCall, unused_line
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.settings.page_parts import Page, Removal, answer_button
from desktop_agent.ui.settings.settings_view import ServerView, ToolView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.account_fields import BrowserWait
from desktop_agent.ui.widgets.buttons import Switch, compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, restyle, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hbox, set_names, vbox
from desktop_agent.ui.wording import long_moment, plain_tooltip

_tr = partial(QCoreApplication.translate, "ServerWords")

_LONGEST = 60
_LONGEST_PROBLEM = 400


def state_line(server: ServerView) -> str:
    if not server.definition.is_enabled:
        return _tr("Switched off. Its tools are not offered to the model.")
    if server.status.needs_sign_in:
        if server.status.state == "ready":
            return _tr("Running. A call needs more permissions: sign in again.")
        return cut(core_words(server.status.problem), _LONGEST_PROBLEM)
    return _tr(STATE_WORDS[server.status.state])


def state_role(server: ServerView) -> str:
    if not server.definition.is_enabled:
        return "secondary"
    if server.status.needs_sign_in:
        return "warning"
    return {"ready": "good", "waiting": "warning", "failed": "error", "resting": "error"}.get(
        server.status.state, "secondary"
    )


def facts_line(server: ServerView) -> str:
    facts = server.status.facts
    if facts is None:
        return ""
    who = cut(" ".join(filter(None, (facts.name, facts.version))))
    era = _tr("with a handshake") if facts.era == "handshake" else _tr("without a handshake")
    protocol = _tr("protocol {0} ({1})").format(cut(facts.protocol), era)
    return " · ".join(filter(None, (who, protocol, tools_line(server), unused_line(server.status).removesuffix("."))))


def tools_line(server: ServerView) -> str:
    if not server.tools:
        return _tools(len(server.status.tools)) if server.status.tools else _tr("no tools")
    disabled = server.definition.disabled_tools
    used = [tool for tool in server.tools if tool.name not in disabled and tool.is_usable]
    count = _tools(len(server.tools))
    if len(used) < len(server.tools):
        count = _tr("{0} of {1}").format(len(used), count)
    one, many = "{0}, about %n token in each request", "{0}, about %n tokens in each request"
    return plural("ServerWords", sum(tool.tokens for tool in used), one, many).format(count)


def _tools(count: int) -> str:
    return plural("ServerWords", count, "%n tool", "%n tools")


def problem_line(server: ServerView) -> str:
    status = server.status
    if status.needs_sign_in:  # the state says this, and the card has a button for it
        return ""
    hint = "" if status.state == "waiting" else status.hint  # the card has a button that leads there
    texts = [named(core_words(text)) for text in (status.problem, hint) if text]
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in texts)


def plain_secrets_line(server: ServerView) -> str:
    _, secrets = without_secrets(server.definition)
    if not secrets or server.definition.defined_by != "user":
        return ""
    text = _tr("In plain text in your settings: {0}. To move it to the keyring, choose “Edit…” and save.")
    return text.format(", ".join(map(cut, secrets)))


def cut(text: str, longest: int = _LONGEST) -> str:
    line = named(text.strip().partition("\n")[0])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


_sign_in_tr = partial(QCoreApplication.translate, "SignInWait")
_log_tr = partial(QCoreApplication.translate, "LogView")

_MOST = 10
_LONGEST_CALL = 400


class UnfoldedRows(QWidget):
    """Rows that are made and updated only while unfolded, a few in each turn of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self._work = GradualWork(self)
        self.hide()

    @property
    def is_unfolded(self) -> bool:
        return not self.isHidden()

    def unfold(self, *, is_unfolded: bool) -> None:
        if is_unfolded:
            self._work.begin(self._show_rows())
        else:
            self._work.stop()
        self.setVisible(is_unfolded)

    def _show_rows(self) -> Iterator[None]:
        raise NotImplementedError


class CallList(UnfoldedRows):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._calls: tuple[LastCall, ...] = ()
        self._shown: tuple[LastCall, ...] = ()
        self._rows: list[tuple[QLabel, QLabel, QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, Space.S, 0, 0)
        self._grid.setHorizontalSpacing(Space.L)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(2, 1)

    def show_calls(self, calls: tuple[LastCall, ...]) -> None:
        self._calls = calls
        if self.is_unfolded and calls != self._shown:
            self._work.begin(self._show_rows())

    def _show_rows(self) -> Iterator[None]:
        newest = self._calls[: -_MOST - 1 : -1]
        for number, call in enumerate(newest):
            if number == len(self._rows):
                self._rows.append(self._make_row(number))
            self._show(self._rows[number], call)
            yield
        for row in self._rows[len(newest) :]:
            for label in row:
                label.hide()
        self._shown = self._calls

    def _make_row(self, number: int) -> tuple[QLabel, QLabel, QLabel, QLabel]:
        when = make_label("", role="secondary")
        tool = make_label("", is_plain=True)
        tool.setFont(self._theme.code_font())
        result = ElidedLabel(takes_room=True)
        took = make_label("", role="secondary")
        took.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = (when, tool, result, took)
        for column, label in enumerate(row):
            self._grid.addWidget(label, number, column)
        return row

    def _show(self, row: tuple[QLabel, QLabel, QLabel, QLabel], call: LastCall) -> None:
        when, tool, result, took = row
        when.setText(long_moment(call.at, call.at.astimezone(), QLocale()))
        tool.setText(cut(call.tool))
        words = cut(call.problem, _LONGEST_CALL) or self.tr("Answered")
        result.setText(words)
        result.setToolTip(plain_tooltip(words) if call.problem else "")
        restyle(result, "role", "error" if call.problem else "secondary")
        took.setText(duration_text(call.duration_s))
        for label in row:
            label.show()


_LONGEST_ABOUT = 400
_SPACING = 2
_SLICE_S = 0.0015
"""How many seconds rows are built at once: few, because the page then lays out and paints all its content, too."""


class ToolRow(QWidget):
    def __init__(self, theme: Theme, name: str, switch: Callable[[str, bool], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._name = name
        self._switch = switch
        self._tool: ToolView | None = None
        self.switch = Switch(theme)
        set_names(self.switch, "toolSwitch", self.tr("Use the tool {0}").format(cut(name)))
        self.switch.clicked.connect(self._on_switch)
        label = make_label(cut(name), is_plain=True)
        label.setFont(theme.code_font())
        self._about = ElidedLabel(role="secondary", takes_room=True)
        self._tokens = make_label("", role="secondary")
        hbox(self.switch, label, (self._about, 1), self._tokens, on=self, spacing=Space.S)

    def show_tool(self, tool: ToolView, *, is_enabled: bool, can_switch: bool) -> None:
        if tool != self._tool:
            self._tool = tool
            about = cut(tool.about, _LONGEST_ABOUT)
            self._about.setText(about)
            self._about.setToolTip(plain_tooltip(about))
            self._tokens.setText(plural("ToolRow", tool.tokens, "%n token", "%n tokens"))
        self.switch.setChecked(is_enabled)
        self.switch.setEnabled(can_switch)

    def _on_switch(self) -> None:
        self._switch(self._name, self.switch.isChecked())


class ServerToolList(UnfoldedRows):
    def __init__(self, theme: Theme, switch: Callable[[str, bool], None]) -> None:
        super().__init__()
        self._work = GradualWork(self, _SLICE_S)
        self._theme = theme
        self._switch = switch
        self._tools: tuple[ToolView, ...] = ()
        self._disabled: Collection[str] = ()
        self._can_switch = False
        self._rows: dict[str, ToolRow] = {}

    def show_tools(self, tools: tuple[ToolView, ...], disabled: Collection[str], *, can_switch: bool) -> None:
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
        names = {tool.name for tool in self._tools}
        for name in [name for name in self._rows if name not in names]:
            row = self._rows.pop(name)
            discard(row)
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


class ServerCard(QFrame):
    def __init__(self, theme: Theme, server: ServerView, page: Page, edit: Callable[[ServerDefinition], None]) -> None:
        super().__init__()
        self.setObjectName("serverCard")
        self.setProperty("role", "surface")
        self._server = server
        self._is_shown = False
        self._theme = theme
        self._page = page
        actions = self._actions = page.settings_actions.servers
        self._edit_server = edit
        self._switch = Switch(theme)
        set_names(self._switch, "serverSwitch", self.tr("Use the server {0}").format(server.name))
        self._switch.clicked.connect(self._on_switch)
        self._where = ElidedLabel(takes_room=True)
        self._where.setFont(theme.code_font())
        self._state, self._facts, self._problem = Note(""), Note(""), Note("", "error")
        self._plain_secrets = Note("", "warning", object_name="serverPlainSecrets")
        self._confinement = Note("", object_name="serverConfinement")
        self._state.setObjectName("serverState")
        self._tools = ServerToolList(theme, partial(actions.switch_tool, server.name))
        self._calls = CallList(theme)
        self._sign_in_wait: QWidget | None = None
        self._log: QPlainTextEdit | None = None
        self._build_buttons()
        head = hbox(make_label(self._server.name, role="strong"), (self._where, 1), self._switch, spacing=Space.M)
        usual = (self._answer, self._sign_in, self._restart, self._edit)
        unfolding = (self._show_tools, self._show_calls, self._show_log)
        row = hbox(*usual, *unfolding, *self._removal.parts, STRETCH, spacing=Space.S)
        words = (self._state, self._facts, self._problem, self._plain_secrets, self._confinement)
        margins = (0, Space.S, 0, Space.S)
        unfolded = (self._tools, self._calls)
        self._column = vbox(head, *words, Space.XS, row, *unfolded, on=self, spacing=Space.XS, margins=margins)
        self._removal.ask(is_asking=False)
        self.show_server(server)

    def show_server(self, server: ServerView) -> None:
        """Show a server. Emits no signal. Unfolded parts stay unfolded."""
        if server == self._server and self._is_shown:
            return
        is_news = server.is_unsure and not (self._is_shown and self._server.is_unsure)
        self._server, self._is_shown = server, True
        is_mine = server.definition.defined_by == "user"
        self._switch.setChecked(server.definition.is_enabled)
        self._switch.setEnabled(is_mine)
        self._switch.setToolTip("" if is_mine else self.tr("The project's file defines it"))
        self._where.setText(server.definition.where)
        self._where.setToolTip(plain_tooltip(server.definition.where))
        self._state.say(state_line(server), state_role(server))
        restyle(self._problem, "role", "warning" if server.status.state == "waiting" else "error")
        self._state.setAccessibleName(f"{server.name}: {state_line(server)}")
        for label, text in (
            (self._facts, facts_line(server)),
            (self._problem, problem_line(server)),
            (self._plain_secrets, plain_secrets_line(server)),
            (self._confinement, core_words(server.definition.confinement)),
        ):
            show_text(label, text)
        self._tools.show_tools(server.tools, server.definition.disabled_tools, can_switch=is_mine)
        if self._tools.is_unfolded and not server.tools:
            self._tools.unfold(is_unfolded=False)
        self._calls.show_calls(server.status.last_calls)
        self._refresh_log()
        self._show_sign_in()
        self._update_buttons()
        if is_news:
            question = self.tr("The test failed. Remove {0} from your settings?")
            self._removal.question.setText(question.format(server.name))
            self._removal.ask(is_asking=True)

    def _build_buttons(self) -> None:
        name = self._server.name
        self._answer = answer_button(name, self._on_answer)
        self._sign_in = compact_button(
            self.tr("Sign in…"),
            "serverSignInButton",
            accessible_name=self.tr("Sign in with the server {0}").format(name),
            clicked=partial(self._actions.sign_in, name),
            variant="primary",
        )
        self._show_calls = compact_button(object_name="serverCallsButton", clicked=self._on_calls)
        self._show_tools = compact_button(object_name="serverToolsButton", clicked=self._on_tools)
        self._show_log = compact_button(object_name="serverLogButton", clicked=self._on_log)
        restart = partial(self._actions.restart, name)
        self._restart = compact_button(object_name="restartServerButton", clicked=restart)
        self._edit = compact_button(
            self.tr("Edit…"),
            "editServerButton",
            accessible_name=self.tr("Edit the server {0}").format(name),
            clicked=self._on_edit,
        )
        self._removal = Removal(
            "removeServerButton",
            "reallyRemoveServerButton",
            "keepServerButton",
            remove=partial(self._actions.remove, name),
            changed=self._update_buttons,
            accessible_name=self.tr("Remove the server {0}").format(name),
            question=self.tr("Remove {0} from your settings?").format(name),
        )
        self._removal.keep.clicked.connect(self._on_keep)

    @property
    def _is_log_unfolded(self) -> bool:
        return self._log is not None and not self._log.isHidden()

    def _show_sign_in(self) -> None:
        progress = self._server.sign_in
        if progress is None:
            if self._sign_in_wait is not None:
                self._sign_in_wait.hide()
            return
        if self._sign_in_wait is None:
            self._sign_in_wait = self._build_sign_in_wait()
        self._preparing.setVisible(not progress.address)
        self._browser_wait.setVisible(bool(progress.address))
        if progress.address:
            self._browser_wait.show_address(progress.address, is_open=progress.is_open)
        self._sign_in_wait.show()

    def _build_sign_in_wait(self) -> QWidget:
        name, wait = self._server.name, QWidget()
        self._preparing = Note(_sign_in_tr("Preparing the sign-in…"))
        self._browser_wait = BrowserWait()
        stop = compact_button(
            _sign_in_tr("Cancel"),
            "cancelServerSignInButton",
            accessible_name=_sign_in_tr("Cancel the sign-in with {0}").format(name),
            clicked=partial(self._actions.cancel_sign_in, name),
        )
        parts = (self._preparing, self._browser_wait, hbox(stop, STRETCH))
        vbox(*parts, on=wait, spacing=Space.S, margins=(0, Space.S, 0, 0))
        self._column.insertWidget(self._column.indexOf(self._tools), wait)
        return wait

    def _refresh_log(self) -> None:
        if (log := self._log) is not None and log.toPlainText() != self._server.log:
            log.setPlainText(self._server.log)
            log.verticalScrollBar().setValue(log.verticalScrollBar().maximum())

    def _update_buttons(self) -> None:
        server, status = self._server, self._server.status
        is_asking = self._removal.is_asking
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
        if not is_asking:
            self._removal.question.setText(self.tr("Remove {0} from your settings?").format(server.name))
        self._restart.setVisible(not is_asking)
        self._edit.setVisible(not is_asking and server.definition.defined_by == "user")
        self._answer.setVisible(not is_asking and status.state == "waiting")
        self._sign_in.setVisible(not is_asking and status.needs_sign_in and server.sign_in is None)
        self._show_calls.setVisible(not is_asking and bool(status.last_calls))
        self._show_tools.setVisible(not is_asking and bool(server.tools))
        self._show_log.setVisible(not is_asking and bool(server.log))
        self._removal.button.setVisible(not is_asking and server.definition.defined_by == "user")

    def _on_answer(self) -> None:
        self._page.section_wanted.emit("plugins" if self._server.definition.defined_by == "plugin" else "project")

    def _on_switch(self) -> None:
        self._actions.switch(self._server.name, self._switch.isChecked())

    def _on_keep(self) -> None:
        if self._server.is_unsure:
            self._actions.keep(self._server.name)

    def _on_edit(self) -> None:
        self._edit_server(self._server.definition)

    def _on_calls(self) -> None:
        self._calls.show_calls(self._server.status.last_calls)
        self._calls.unfold(is_unfolded=not self._calls.is_unfolded)
        self._update_buttons()

    def _on_tools(self) -> None:
        self._tools.unfold(is_unfolded=not self._tools.is_unfolded)
        self._update_buttons()

    def _on_log(self) -> None:
        if self._log is None:
            log = self._log = QPlainTextEdit(readOnly=True, tabChangesFocus=True)
            set_names(log, "serverLog", _log_tr("Recent output of {0}").format(self._server.name))
            log.setFont(self._theme.code_font())
            log.setFixedHeight(132)
            self._column.addWidget(log)
        else:
            self._log.setVisible(not self._is_log_unfolded)
        self._refresh_log()
        self._update_buttons()
