"""What can be chosen from: the accounts of all vendors, with the models of each. Pure."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.prices import Rates, known_model
from desktop_agent.core.models.vendors import DEMO, VENDORS, Vendor, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.ui.models.offers import AccountOffers, ModelKey, ModelOffer

FREE = Rates(input=0.0, output=0.0)


class OfferedAccount(Struct, frozen=True):
    """An account as the user reaches it: at the address where they say that its provider is."""

    account: Account
    is_connected: bool
    """Whether there is a credential for it, or it needs none."""


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


def offers_of(offered: OfferedAccount) -> AccountOffers:
    """Return what the picker shows of an account."""
    account, vendor = offered.account, vendor_of(offered.account.provider)
    return AccountOffers(
        provider=account.provider,
        account=account.name,
        label=account.full_label,
        models=tuple(_offer(account, vendor, name) for name in vendor.models),
        is_connected=offered.is_connected,
    )


def demo_offers() -> AccountOffers:
    """Return the scripted model, which needs no account."""
    label = QCoreApplication.translate("Models", "Demo model")
    offer = ModelOffer(key=ModelKey(DEMO, "", DEMO), label=label, price=FREE)
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


def _offer(account: Account, vendor: Vendor, name: str) -> ModelOffer:
    is_own = account.where.rstrip("/") == vendor.address
    known = known_model(vendor.prices, name) if vendor.prices and is_own else None
    rates = known.rates_on(datetime.now(UTC).date()) if known is not None else None
    return ModelOffer(
        key=ModelKey(account.provider, account.name, name),
        label=name,
        context_tokens=known.context_tokens if known is not None else None,
        price=FREE if vendor.is_local else rates,
    )
