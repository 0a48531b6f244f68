"""Tries an account that the user entered: what does not work is said, and nothing of it is kept."""

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from desktop_agent.app.connecting.listing import model_to_begin_with, models_at
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import CredentialsError, ProviderError, UsageError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.providers.auth.keys import beside, entry_of
from desktop_agent.ui.onboarding.welcome_state import Connected


async def tried(bench: Workbench, account: Account, typed: str) -> Connected:
    """Return an account that works with a typed key, or with what it has if that is empty. Both are kept then.

    Raises `AgentError` that says why it does not work, and nothing is kept.
    """
    await _require_free(bench, account)
    models = await _models(bench, account, typed)
    note = await _keep_key(bench, account, typed) if typed else ""
    if not account.is_usual:
        await asyncio.to_thread(bench.accounts.put, account)
    return connected(account, models, note)


def connected(account: Account, models: Sequence[ListedModel], note: str = "") -> Connected:
    """Return an account that listed its models."""
    names = tuple(model.name for model in models)
    return Connected(account=account, models=names, usual_model=model_to_begin_with(account, models), note=note)


async def _require_free(bench: Workbench, account: Account) -> None:
    """Raise `UsageError` when another account has the name of a new one."""
    loaded = await asyncio.to_thread(bench.accounts.load)
    known = None if account.is_usual else loaded.find(account.provider, account.name)
    if known is not None and known != account:
        raise UsageError(
            _tr("There is another account called “{0}”.").format(known.label), hint=_tr("Choose another name.")
        )


async def _models(bench: Workbench, account: Account, typed: str) -> Sequence[ListedModel]:
    """Return the models of an account. A key that is refused was typed here, and is corrected here."""
    try:
        return await models_at(bench, account, typed)
    except ProviderError as error:
        if error.fault != "authentication" or not typed:
            raise
        hint = _tr("Look whether it is whole, and for {0}.").format(account.full_label)
        raise ProviderError(error.title, fault=error.fault, hint=hint, detail=error.detail) from None


async def _keep_key(bench: Workbench, account: Account, key: str) -> str:
    """Keep a key that works, and return what the user should know about that."""
    try:
        await beside(lambda: bench.keys.set(entry_of(account), key))
    except CredentialsError as error:
        bench.keys.keep_for_now(entry_of(account), key)
        return _tr("{0} The key is kept for this run only.").format(error.title)
    return ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Welcome", text)
