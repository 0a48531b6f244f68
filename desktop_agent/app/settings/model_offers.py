"""What can be chosen from: the accounts of all vendors, with the models of each. Pure."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.catalogue import FREE
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.vendors import DEMO, VENDORS, known_vendor
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.ui.models.model_offers import AccountOffers, ModelKey, ModelOffer


def accounts_offered(
    loaded: LoadedAccounts, now: ModelRef | None, reached: Callable[[Account], Account]
) -> Iterator[Account]:
    """Yield the accounts that may be chosen, that of the present model first. None of a broken file is.

    Two vendors at one address, with one key, are one to the user: the second is offered where it is used already.
    """
    if loaded.problems:
        return
    seen: set[tuple[str, str]] = set()
    for vendor in sorted(VENDORS, key=lambda vendor: now is None or vendor.id != now.provider):
        place = (vendor.address, vendor.key_variable)
        is_named = any(account.provider == vendor.id for account in loaded.added)
        if place not in seen or is_named:
            accounts = loaded.of(vendor.id)
            for account in sorted(accounts, key=lambda account: now is None or account.name != now.account):
                yield _in_force(loaded, account, now) or reached(account)
        seen.add(place)


def offers_of(
    account: Account,
    models: Iterable[KnownModel],
    *,
    is_connected: bool,
    listed_at: datetime | None,
    is_refreshing: bool,
    problem: str,
) -> AccountOffers:
    """Return what the picker shows of an account."""
    return AccountOffers(
        provider=account.provider,
        account=account.name,
        label=account.full_label,
        models=tuple(ModelOffer(ModelKey(account.provider, account.name, model.name), model) for model in models),
        is_connected=is_connected,
        is_plan=account.kind == "oauth",
        is_listing=True,
        listed_at=listed_at,
        is_refreshing=is_refreshing,
        problem=problem,
    )


def demo_offers() -> AccountOffers:
    """Return the scripted model, which needs no account."""
    label = QCoreApplication.translate("Models", "Demo model")
    offer = ModelOffer(ModelKey(DEMO, "", DEMO), KnownModel(provider=DEMO, name=DEMO, label=label, price=FREE))
    heading = QCoreApplication.translate("Models", "Without a key")
    return AccountOffers(provider=DEMO, label=heading, models=(offer,), is_fixed=True)


def _in_force(loaded: LoadedAccounts, account: Account, now: ModelRef | None) -> Account | None:
    """Return the account of the present model, at the address that this has."""
    if now is None or (now.provider, now.account) != (account.provider, account.name) or not known_vendor(now.provider):
        return None
    try:
        return loaded.of_model(now)
    except AgentError:  # it belongs elsewhere: then it is not the one in force
        return None


def at_address(account: Account, address: str | None) -> Account:
    """Return the account as one that is asked at this address; without one, where it is anyway."""
    return replace(account, address=address) if address else account
