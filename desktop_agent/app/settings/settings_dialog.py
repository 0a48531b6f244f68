"""Opens the settings dialog, carries out its requests, and keeps it up to date."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Signal

from desktop_agent.app.connections import Answer, WindowBrowser, ask, keep_key, key_of, local_server, signed_in
from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.app.file_opening import open_in_editor
from desktop_agent.app.settings.agent_control import AgentControl
from desktop_agent.app.settings.plugin_control import PluginControl
from desktop_agent.app.settings.server_control import ServerControl
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.diagnostics.lsp_connection import ServerState
from desktop_agent.core.extensions.hook_runs import HookBook, Standing
from desktop_agent.core.extensions.language_servers import StandingServer
from desktop_agent.core.extensions.skills_in_force import Skills, offered
from desktop_agent.core.models.account import Account, is_same_name, named, usual_account
from desktop_agent.core.models.vendors import DEMO, SignInWay, known_vendor, vendor_of
from desktop_agent.core.protocol.model import AGENTS, ModelRef, Rule
from desktop_agent.core.providers.auth.keys import entry_of, in_daemon_thread
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.model_choice import left_behind
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.runtime.pacing import open_next_turn
from desktop_agent.ui.settings.accounts import KeyEditor, KeyStatus
from desktop_agent.ui.settings.settings_view import (
    AccountsView,
    ExtensionKind,
    ExtensionState,
    ExtensionsView,
    ExtensionView,
    SettingsActions,
    SettingsView,
)
from desktop_agent.ui.translation import core_words, error_words
from desktop_agent.ui.wording import short_path

if TYPE_CHECKING:
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog


_tr = partial(QCoreApplication.translate, "LanguageServers")
_STATES = ("changed", "waiting", "failed", "on", "off", "unusable")
"""The states of skills, hooks and language servers in the order in which they are listed."""


class AccountActions(Controller):
    """Manages accounts and shows results in an open dialog. Never blocks, because a keyring may ask the user first."""

    def __init__(self, context: WindowContext, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context)
        self._fail = fail
        self._sign_in_work = OneAtATime(self._launch, self._show_sign_in_failure)
        self.dialog: SettingsDialog | None = None
        self.sign_in = in_background(self._sign_in_work.begin, self._sign_in)
        self.check_sign_in = in_background(self._sign_in_work.begin, self._check_sign_in)

    async def refresh(self) -> None:
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        problem = self.tr("No account can be used until this is fixed: {0}").format(
            "; ".join(map(str, loaded.problems))
        )
        if self.dialog is not None:
            shown = AccountsView(added=loaded.added, is_known=True, problem=problem if loaded.problems else "")
            self.dialog.model.show_accounts(shown)

    async def add(self, account: Account) -> None:
        try:
            await asyncio.to_thread(self._bench.accounts.put, account)
            await self.refresh()
            await self._bench.live.change("model.account", account.name)
        except AgentError as error:
            self._fail(error)

    async def change(self, account: Account) -> None:
        try:
            await asyncio.to_thread(self._bench.accounts.put, account)
        except AgentError as error:
            self._fail(error)
        await self.refresh()

    async def remove(self, account: Account) -> None:
        try:
            await self._bench.sign_ins.sign_out(account)
            chosen = self._bench.live.current.model
            if chosen.provider == account.provider and is_same_name(named(chosen.account), account.name):
                await self._bench.live.reset("model.account")
        except AgentError as error:
            self._fail(error)
        await self.refresh()

    async def save_key(self, account: Account, key: str) -> None:
        self._show_busy(account, self.tr("Saving the key…"))
        if problem := await keep_key(self._bench, account, key):
            self._show_result(account, problem, is_good=False)
        else:
            self._show_result(account, self.tr("The key is kept in the system keyring."), is_good=True)
        if account.kind == "key":
            await self.show_key(account)
        else:  # a local server needs no key
            await asyncio.to_thread(self._bench.accounts.put, replace(account, kind="key"))
            await self.refresh()

    async def remove_key(self, account: Account) -> None:
        self._show_busy(account, self.tr("Removing the key…"))
        try:
            await in_daemon_thread(lambda: self._bench.keys.delete(entry_of(account)))
        except CredentialsError as error:
            self._show_result(account, error_words(error), is_good=False)
        else:
            self._show_result(account, self.tr("The key was removed."), is_good=True)
        if vendor_of(account.provider).needs_key:
            await self.show_key(account)
            return
        keyless = replace(account, kind="none")
        is_as_usual = keyless == usual_account(account.provider)
        file = self._bench.accounts
        await asyncio.to_thread(file.remove if is_as_usual else file.put, keyless)
        await self.refresh()

    async def check_key(self, account: Account, typed: str) -> None:
        """Test the typed key of an account. If it is empty, test the account's current key."""
        label = account.full_label
        self._show_busy(account, self.tr("Asking {0}…").format(label))
        try:
            answer = await ask(self._bench, account, typed)
        except AgentError as error:
            self._show_result(account, error_words(error), is_good=False)
        else:
            has_key = typed or account.kind == "key"
            words = self.tr("The key works.") if has_key else self.tr("{0} answers.").format(label)
            self._show_result(account, _cloud_words(answer) or words, is_good=True)

    async def show_key(self, account: Account) -> None:
        await idle()  # the first access imports the keyring, which would slow down showing the dialog
        keys = self._bench.keys
        try:
            match (await key_of(self._bench, account)).source:
                case "environment":
                    status = KeyStatus(source="environment", place=vendor_of(account.provider).key_variable)
                case "keyring":
                    status = KeyStatus(source="keyring", place=await in_daemon_thread(keys.name))
                case "run":
                    status = KeyStatus(source="run")
                case None if account.kind == "none":
                    status = KeyStatus()
                case None:  # check only now whether a key could be stored
                    report = await in_daemon_thread(keys.probe)
                    problem = f"{core_words(report.problem)} {core_words(report.hint)}".strip()
                    status = KeyStatus(place=report.backend, problem=problem)
        except CredentialsError as error:
            status = KeyStatus(problem=error_words(error))
        if (editor := self._editor_of(account)) is not None:
            editor.show_status(status)

    def _editor_of(self, account: Account) -> KeyEditor | None:
        return self.dialog.key if self.dialog is not None and self.dialog.key.account == account else None

    def _show_busy(self, account: Account, words: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_busy(words)

    def _show_result(self, account: Account, words: str, *, is_good: bool) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_result(words, is_good=is_good)

    def cancel_sign_in(self) -> None:
        self._sign_in_work.cancel()

    async def _sign_in(self, way: SignInWay, name: str) -> None:
        self._show_sign_in(self.tr("Preparing the sign-in…"))
        account = await signed_in(self._bench, way, name, WindowBrowser(self._show_waiting))
        live = self._bench.live
        chosen = live.current.model
        if chosen.provider == account.provider and not is_same_name(named(chosen.account), account.name):
            if account.name:
                await live.change("model.account", account.name)
            else:
                await live.reset("model.account")
        await self.refresh()
        await self._check_sign_in(account)

    async def _check_sign_in(self, account: Account) -> None:
        self._show_sign_in(self.tr("Asking {0}…").format(account.full_label))
        answer = await ask(self._bench, account)
        if self.dialog is not None:
            words = self.tr("You are signed in, and {0} answers.").format(account.full_label)
            self.dialog.sign_in.show_result(_cloud_words(answer) or words, is_good=True)

    def _show_sign_in(self, words: str) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_busy(words)

    def _show_waiting(self, address: str, is_open: bool) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_waiting(address, is_open=is_open)

    def _show_sign_in_failure(self, error: AgentError) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_result(error_words(error), is_good=False)


def _cloud_words(answer: Answer) -> str:
    nothing = QCoreApplication.translate("AccountActions", "No model has been asked yet.")
    return f"{answer.who} {nothing}" if answer.who else ""


def _skills_view(skills: Skills, room: int) -> ExtensionsView:
    """Return what the page shows of the skills. Blocks."""
    skills.settings.look()
    views = [
        ExtensionView(
            name=str(each.skill.path),
            key=each.skill.name,
            title=each.skill.name,
            about=each.skill.description,
            place=each.skill.place,
            path=str(each.skill.path),
            tokens=each.skill.tokens,
            state=each.state,
            reason=each.reason,
            can_switch=each.state == "on" or (each.state == "off" and not each.reason),
            is_for_model=each.skill.is_for_model,
            is_for_user=each.skill.is_for_user,
        )
        for each in skills.look()
        if not each.skill.is_ours
    ]
    told = offered(skills.for_model, room, skills.uses.newest()) if skills.for_model else ""
    return ExtensionsView(items=_in_order(views), tokens=round(text_tokens(told)))


def _hooks_view(book: HookBook) -> ExtensionsView:
    """Return what the page shows of the hooks. Blocks."""
    book.workspace.look()
    found, problems = book.read()
    views: dict[str, ExtensionView] = {}
    for one in found:
        states: dict[Standing, ExtensionState] = {"in force": "on", "waiting": "waiting", "off": "off"}
        state, path = states[one.standing], one.hook.path
        if state == "waiting":
            state = "changed" if one.trust == "changed" and one.hook.plugin is None else "waiting"
        views[one.digest] = ExtensionView(
            name=one.digest,
            key=one.digest,
            title=one.hook.name,
            about=f"{one.hook.line} # if {one.hook.condition}" if one.hook.condition else one.hook.line,
            place=str(path.relative_to(book.root)) if one.hook.scope == "project" else short_path(str(path)),
            path=str(path),
            state=state,
            reason=one.reason,
            can_switch=one.standing == "in force" or (one.standing == "off" and not one.reason),
            is_of_plugin=one.hook.plugin is not None,
        )
    return ExtensionsView(items=_in_order(views.values()), problems=tuple(map(str, problems)))


def _servers_view(
    found: Iterable[StandingServer], problems: Iterable[object], states: Iterable[ServerState]
) -> ExtensionsView:
    """Return what the page shows of the language servers; `states` are those of running ones."""
    phases = sorted(states, key=lambda state: state.phase)  # one that runs in any session counts
    known = {state.name: state for state in phases}
    views = [_server_view(one, known.get(one.server.name)) for one in found if one.is_listed]
    missing = tuple(one.server.name for one in found if not one.is_listed)
    return ExtensionsView(items=_in_order(views), problems=tuple(map(str, problems)), missing=missing)


def _server_view(one: StandingServer, state: ServerState | None) -> ExtensionView:
    server = one.server
    states: Mapping[str, ExtensionState] = {"in force": "on", "waiting": "waiting", "off": "off"}
    shown: ExtensionState = states.get(one.standing, "unusable")
    reason, ends = "", " ".join(server.languages)
    if shown == "unusable":
        reason = _tr("there is no program “{0}”").format(server.command)
    elif shown == "on" and state is not None and state.phase == "failed":
        shown, reason = "failed", state.problem
    elif shown == "on":
        words = {
            "starting": _tr("Is starting, and then checks {0}"),
            "running": _tr("Runs, and checks {0}"),
        }
        idle = _tr("Starts when a file of these types changes: {0}")
        reason = words.get(state.phase if state is not None else "", idle).format(ends)
    elif one.rival:
        reason = _tr("{0} does the same").format(one.rival)
    path = server.path or Path(one.program)
    return ExtensionView(
        name=server.name,
        key=server.name,
        title=server.name,
        about=server.line,
        place=short_path(str(path)),
        path=str(path),
        state=shown,
        reason=reason,
        can_switch=one.standing == "in force" or (one.standing == "off" and not one.rival),
        is_of_plugin=server.scope == "plugin",
    )


def _in_order(views: Iterable[ExtensionView]) -> tuple[ExtensionView, ...]:
    return tuple(sorted(views, key=lambda view: (_STATES.index(view.state), view.title)))


class Setup(Controller):
    """Shows the settings dialog and carries out its requests. Late results for a closed dialog are dropped."""

    project_answered = Signal(str)  # trusted or ignored
    rule_revoked = Signal(str)  # a rule's id

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        bench, launch = self._bench, self._launch
        self._project: WorkspaceSettings | None = None
        self._rules: tuple[Rule, ...] = ()
        self._dialog: SettingsDialog | None = None
        self._made_ahead: SettingsDialog | None = None
        self._saving = asyncio.Lock()
        self._asked = bench.live.current.model.provider
        """The provider in use, or while the demo is chosen, the provider used before."""
        self._accounts = accounts = AccountActions(context, self._show_failure)
        self._servers = ServerControl(context, fail=self._show_failure)
        self.agents = AgentControl(context, fail=self._show_failure)
        self._plugins = PluginControl(context, fail=self._show_failure, changed=self._show_settings)
        self._refresh_accounts = in_background(launch, accounts.refresh)
        self._actions = SettingsActions(
            change=in_background(launch, self._change),
            reset=in_background(launch, self._reset),
            open_file=in_background(launch, self._open_file),
            answer_project=self.project_answered.emit,
            revoke_rule=self.rule_revoked.emit,
            add_account=in_background(launch, accounts.add),
            change_account=in_background(launch, accounts.change),
            remove_account=in_background(launch, accounts.remove),
            show_key=in_background(launch, accounts.show_key),
            save_key=in_background(launch, accounts.save_key),
            remove_key=in_background(launch, accounts.remove_key),
            check_key=in_background(launch, accounts.check_key),
            sign_in=accounts.sign_in,
            cancel_sign_in=accounts.cancel_sign_in,
            check_sign_in=accounts.check_sign_in,
            look_for_server=in_background(launch, self._look_for_server),
            servers=self._servers.actions,
            agents=self.agents.actions,
            look_at_extensions=in_background(launch, self._look_at_extensions),
            plugins=self._plugins.actions,
        )
        bench.live.subscribe(self._note_provider)
        bench.live.subscribe(self._show_settings)
        bench.server_listeners.append(self._note_server)
        self._theme.changed.connect(self._drop_made_ahead)

    def make_ahead(self) -> Iterator[None]:
        from desktop_agent.ui.settings.settings_dialog import Pages, SettingsDialog

        now = SystemClock().now
        pages = Pages(self._theme, now, self._actions)
        yield from pages.make_ahead()
        self._made_ahead = SettingsDialog(self._theme, now, self._actions, self._panels.window, pages=pages)

    def _drop_made_ahead(self) -> None:
        if self._made_ahead is not None:
            self._made_ahead.deleteLater()
            self._made_ahead = None

    def open(self) -> "SettingsDialog":
        dialog = self._dialog
        if dialog is None:
            dialog = self._dialog = self._accounts.dialog = self._new_dialog()
            dialog.finished.connect(self._forget)
            self._servers.begin(dialog.pages.servers.show_servers, dialog.foot.show_note)
            self._plugins.begin(dialog.pages.plugins)
            self.agents.begin(dialog.pages.agents.show_agents, dialog.foot.show_note, dialog.close)
        self._show_settings()
        dialog.pages.rules.show_rules(self._rules)
        self._actions.show_key(dialog.key.account)
        self._refresh_accounts()
        open_next_turn(dialog)
        return dialog

    def _new_dialog(self) -> "SettingsDialog":
        from desktop_agent.ui.settings.settings_dialog import SettingsDialog

        made, self._made_ahead = self._made_ahead, None
        if made is None:
            return SettingsDialog(self._theme, SystemClock().now, self._actions, self._panels.window)
        made.fit_screen()
        return made

    def _forget(self) -> None:
        if self._dialog is not None:
            self._servers.end()
            self._plugins.end()
            self.agents.end()
            self._dialog.deleteLater()
            self._dialog = self._accounts.dialog = None

    async def aclose(self) -> None:
        await self._servers.aclose()

    def open_project(self) -> None:
        self.open().show_section("project")

    def open_for(self, provider: str) -> None:
        """Open the settings where a provider is connected, or an agent of another program is set up."""
        if provider == AGENTS:
            self.open().show_section("agents")
        else:
            self.open().connect_provider(provider)

    def sign_in_again(self, model: ModelRef) -> None:
        vendor = known_vendor(model.provider)
        self.open_for(model.provider)
        if vendor is not None and vendor.sign_in is not None and vendor.cloud is None:
            self._accounts.sign_in(vendor.sign_in, model.account)

    def show_project(self, project: WorkspaceSettings) -> None:
        self._project = project
        self._servers.follow(project)
        self._plugins.follow(project)
        self.agents.follow(project)
        self._show_settings()

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        if self._dialog is not None:
            self._dialog.pages.rules.show_rules(rules)

    # --- changing settings, one after the other ---------------------------------------------------------------------

    async def _change(self, key: str, value: object) -> None:
        """Change a setting. Another provider resets the settings of the previous provider."""
        is_provider = key == "model.provider"
        await self._save(
            lambda: self._change_provider(str(value)) if is_provider else self._bench.live.change(key, value)
        )

    async def _reset(self, key: str) -> None:
        await self._save(lambda: self._bench.live.reset(key))

    def _note_provider(self) -> None:
        if (provider := self._bench.settings.model.provider) != DEMO:
            self._asked = provider

    def _note_server(self) -> None:
        if self._dialog is not None and self._dialog.pages.shows("diagnostics"):
            self._actions.look_at_extensions("diagnostics")

    async def _change_provider(self, provider: str) -> SettingChange:
        live = self._bench.live
        if provider != self._asked:
            for key in left_behind(live.loaded, provider):
                await live.reset(key)
        return await live.change("model.provider", provider)

    async def _save(self, carry_out: Callable[[], Awaitable[SettingChange]]) -> None:
        async with self._saving:
            try:
                change = await carry_out()
            except AgentError as error:
                self._show_failure(error)
                return
        if self._dialog is not None:
            self._dialog.foot.show_change(change)

    def _show_settings(self) -> None:
        if self._dialog is None:
            return
        project = self._project
        is_trusted = project is not None and project.answer == "trusted"
        proposal = project.proposal if project is not None else None
        tightened = {change.key: change.after for change in proposal.changes} if proposal and is_trusted else {}
        self._dialog.show_view(SettingsView.of(self._bench.live.loaded, tightened, self._bench.environ))
        self._servers.refresh()
        self.agents.refresh()
        self._dialog.pages.look_again()
        self._dialog.show_project(proposal, project.answer_to_all if project is not None else None)

    def _show_failure(self, error: AgentError) -> None:
        if self._dialog is None:
            raise error
        self._show_settings()
        self._dialog.foot.show_failure(error)

    async def _look_for_server(self, account: Account) -> None:
        server = await local_server(self._bench, account)
        if server is not None and self._dialog is not None:
            self._dialog.model.show_server(account, server)

    async def _look_at_extensions(self, kind: ExtensionKind) -> None:
        if self._project is None:
            return
        root, settings = self._project.root, self._bench.settings
        bench = self._bench
        if kind == "hooks":
            view = await asyncio.to_thread(_hooks_view, bench.hooks_in(root))
        elif kind == "diagnostics":
            book = bench.language_servers_in(root)
            await asyncio.to_thread(book.workspace.look)
            found, problems = await asyncio.to_thread(book.read)
            view = _servers_view(found, problems, bench.server_states_in(root))
        else:
            room = settings.model.context_tokens * settings.skills.prompt_share // 100
            view = await asyncio.to_thread(_skills_view, self._bench.skills_in(root), room)
        if (dialog := self._dialog) is not None:
            dialog.pages.extensions(kind).show_extensions(view)

    async def _open_file(self) -> None:
        from desktop_agent.core.settings.settings_file import begin_settings_file  # imports a slow TOML parser

        path = self._bench.live.path or self._bench.paths.settings_file()
        await asyncio.to_thread(begin_settings_file, path)
        await open_in_editor(path)
