"""Shows the welcome dialog and carries out its requests. A connection is tested before it is stored."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from desktop_agent.app.connections import (
    Answer,
    WindowBrowser,
    all_local_servers,
    ask,
    keep_key,
    model_to_begin_with,
    signed_in,
)
from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.agents.definition import look_for_agents
from desktop_agent.core.base.errors import AgentError, CredentialsError, ProviderError, UsageError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import VENDORS, SignInWay, vendor_of
from desktop_agent.core.protocol.model import AGENTS
from desktop_agent.core.providers.auth.anthropic_profiles import profiles
from desktop_agent.core.providers.auth.sign_ins import other_sign_ins
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import left_behind
from desktop_agent.ui.onboarding.welcome_steps import Connected, Found, InstalledAgent, WelcomeActions

if TYPE_CHECKING:
    from desktop_agent.ui.onboarding.welcome_dialog import OnboardingDialog

_tr = partial(QCoreApplication.translate, "Welcome")


async def choose(live: LiveSettings, account: Account, model: str) -> None:
    """Use this account and model for new conversations. Raises the errors of `LiveSettings.change`."""
    for key in left_behind(live.loaded, account.provider):
        await live.reset(key)
    await live.change("model.provider", account.provider)
    await _change(live, "model.account", account.name)
    if account.is_usual and account.address:
        await live.change("model.base_url", account.address)
    await live.change("model.name", model)


async def choose_agent(live: LiveSettings, name: str) -> None:
    """Let an agent of another program take the turns of new conversations. Raises like `choose`."""
    for key in left_behind(live.loaded, AGENTS):
        await live.reset(key)
    await live.change("model.provider", AGENTS)
    await live.change("model.name", name)


async def _change(live: LiveSettings, key: str, value: str) -> None:
    if value:
        await live.change(key, value)
    elif key in live.loaded.sources:
        await live.reset(key)


async def tried(bench: Workbench, account: Account, typed: str) -> Connected:
    """Test an account with the typed key, or with its credential, then store it. Raises `AgentError` if it fails."""
    loaded = await asyncio.to_thread(bench.accounts.load)
    known = None if account.is_usual else loaded.find(account.provider, account.name)
    if known is not None and known != account:
        raise UsageError(
            _tr("There is another account called “{0}”.").format(known.label), hint=_tr("Choose another name.")
        )
    answer = await _asked(bench, account, typed)
    note = await keep_key(bench, account, typed) if typed else ""
    if not account.is_usual or vendor_of(account.provider).cloud is not None:
        await asyncio.to_thread(bench.accounts.put, account)
    return connected(account, answer, note)


def connected(account: Account, answer: Answer, note: str = "") -> Connected:
    names = tuple(model.name for model in answer.models)
    usual = model_to_begin_with(account, answer.models)
    return Connected(account=account, models=names, usual_model=usual, note=note, who=answer.who)


async def _asked(bench: Workbench, account: Account, typed: str) -> Answer:
    """Ask an account. If the key is refused, the error's hint refers to the key field."""
    try:
        return await ask(bench, account, typed)
    except ProviderError as error:
        if error.fault != "authentication" or not typed:
            raise
        hint = _tr("Check that the key is complete and belongs to {0}.").format(account.full_label)
        raise ProviderError(error.title, fault=error.fault, hint=hint, detail=error.detail) from None


class Welcome(Controller):
    """The welcome of one window. One action runs at a time; closing the dialog cancels it."""

    def __init__(
        self,
        context: WindowContext,
        *,
        start_demo: Callable[[], None],
        choose_folder: Callable[[], None],
        begun: Callable[[], None],
    ) -> None:
        super().__init__(context)
        self._begun = begun
        self._work = OneAtATime(self._launch, self._show_failure)
        self._dialog: OnboardingDialog | None = None
        self._actions = WelcomeActions(
            start_demo=start_demo,
            choose_folder=choose_folder,
            look_for_servers=in_background(self._launch, self._look),
            connect=in_background(self._work.begin, self._connect),
            sign_in=in_background(self._work.begin, self._sign_in),
            cancel=self._work.cancel,
            begin=in_background(self._work.begin, self._begin),
            use_agent=in_background(self._work.begin, self._use_agent),
        )

    def open(self, folder: Path | None) -> None:
        if self._dialog is None:
            from desktop_agent.ui.onboarding.welcome_dialog import OnboardingDialog

            self._dialog = OnboardingDialog(self._theme, self._actions, self._panels.window)
            self._dialog.finished.connect(self._forget)
            self._launch(self._find())
        self._dialog.set_folder(folder)
        self._dialog.open()

    def set_folder(self, folder: Path) -> None:
        if self._dialog is not None:
            self._dialog.set_folder(folder)

    def takes_key(self, key: str) -> bool:
        if self._dialog is not None:
            self._dialog.offer_key(key)
        return self._dialog is not None

    def _forget(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    async def _find(self) -> None:
        found = await asyncio.to_thread(_found, self._bench)
        if self._dialog is not None:
            self._dialog.show_found(found)

    async def _look(self) -> None:
        servers = await all_local_servers(self._bench)
        if self._dialog is not None:
            self._dialog.show_servers(servers)

    async def _connect(self, account: Account, typed: str) -> None:
        self._show_busy(self.tr("Asking {0}…").format(account.full_label))
        self._show_connected(await tried(self._bench, account, typed))

    async def _sign_in(self, way: SignInWay, name: str) -> None:
        self._show_busy(self.tr("Preparing the sign-in…"))
        account = await signed_in(self._bench, way, name, WindowBrowser(self._show_waiting))
        self._show_busy(self.tr("You are signed in. Asking {0}…").format(account.full_label))
        self._show_connected(connected(account, await ask(self._bench, account)))

    async def _begin(self, account: Account, model: str) -> None:
        await choose(self._bench.live, account, model)
        self._end()

    async def _use_agent(self, name: str) -> None:
        await choose_agent(self._bench.live, name)
        self._end()

    def _end(self) -> None:
        self._work.let_end()  # closing the dialog has nothing to cancel any more
        if self._dialog is not None:
            self._dialog.accept()
        self._begun()

    def _show_busy(self, words: str) -> None:
        if self._dialog is not None:
            self._dialog.show_busy(words)

    def _show_waiting(self, address: str, is_open: bool) -> None:
        if self._dialog is not None:
            self._dialog.show_waiting(address, is_open=is_open)

    def _show_failure(self, error: AgentError) -> None:
        if self._dialog is not None:
            self._dialog.show_failure(error)

    def _show_connected(self, outcome: Connected) -> None:
        if self._dialog is not None:
            self._dialog.show_connected(outcome)


def _found(bench: Workbench) -> Found:
    environ, has_keyring = bench.environ, True
    agents = look_for_agents((), environ, None).agents
    with suppress(CredentialsError):  # a keyring that fails is not missing, and reports its error itself
        has_keyring = not bench.keys.is_missing()
    return Found(
        has_keyring=has_keyring,
        provider=bench.settings.model.provider,
        keys={vendor.id: vendor.key_variable for vendor in VENDORS if environ.get(vendor.key_variable)},
        clouds={vendor.id: vendor.cloud.said_in(environ) for vendor in VENDORS if vendor.cloud is not None},
        profiles=tuple(profile.name for profile in profiles(environ)),
        agents=tuple(InstalledAgent(one.definition.name, one.title) for one in agents),
        others=tuple(f"{other.reason} {other.instead}" for other in other_sign_ins(environ)),
    )
