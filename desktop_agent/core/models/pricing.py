"""What a request cost: as its vendor reported, else as the user or its address states, else as the table has it."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from msgspec.structs import replace

from desktop_agent.core.base.web_address import address_of, is_loopback
from desktop_agent.core.models.prices import Rates, cost_at, cost_usd
from desktop_agent.core.models.vendors import Vendor, known_vendor
from desktop_agent.core.protocol.model import ModelRef, Usage


def priced(
    usage: Usage,
    model: ModelRef,
    now: datetime,
    *,
    address: str | None = None,
    is_prepaid: bool = False,
    stated: Rates | None = None,
) -> Usage:
    """Return the usage of one request with its cost, where that is known.

    The prices of a vendor hold at its own address: what a gateway charges is not known, unless it says so. `address` is
    where the request went, if not where `model` says. `is_prepaid` says that a subscription covers the request: it
    costs nothing more. `stated` is what the user, or the address itself, says of its price: that goes before the table,
    and says nothing of searches.
    """
    if usage.cost_usd is not None:
        return usage
    named = known_vendor(model.provider)
    vendor = named if named is not None and is_own_address(named, address or model.base_url) else None
    if vendor is not None and (is_prepaid or (vendor.is_local and stated is None)):
        return replace(usage, cost_usd=0.0)
    if stated is not None:
        tokens = cost_at(stated, usage)
    elif vendor is not None:
        tokens = cost_usd(vendor.prices, model.model, now.astimezone(UTC).date(), usage)
    else:
        return usage
    search_usd = vendor.search_usd if vendor is not None else None
    searches = usage.web_searches * search_usd if search_usd is not None else None
    if tokens is None or (usage.web_searches and searches is None):
        return usage
    return replace(usage, cost_usd=tokens + (searches or 0.0))


def is_own_address(vendor: Vendor, address: str | None) -> bool:
    """Whether requests to an address reach the vendor itself; for one without an account, this machine."""
    if not address:
        return True
    if vendor.is_local:
        return is_loopback(_host_of(address))
    return address_of(address.lower()) == address_of(vendor.address)


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
