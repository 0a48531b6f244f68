"""Sizes, prices and ages of models, as short as they can be read."""

from datetime import datetime

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.models.known_model import price_words, rate_words, size_words
from desktop_agent.core.models.prices import Rates
from desktop_agent.ui.models.offers import AccountOffers, ModelOffer
from desktop_agent.ui.translation.plurals import plural


def _tr(text: str) -> str:
    return QCoreApplication.translate("Models", text)


def window_words(tokens: int | None) -> str:
    """Return how much a model reads at once, as `200k` or `1M`; nothing when that is not known."""
    return size_words(tokens) if tokens else ""


def cost_words(price: Rates | None, account: AccountOffers | None) -> str:
    """Return what a row says of the price of a model, by this account: `$3 / $15`, `free`, `price unknown`."""
    if account is not None and account.is_plan:
        return _tr("in your plan")
    return price_words(price) if price is not None else _tr("price unknown")


def described(offer: ModelOffer, account: AccountOffers | None = None) -> list[str]:
    """Return all that is known of a model, a sentence each, for tooltips and readers of the screen."""
    known = offer.known
    lines = [known.shown] if known.shown == known.name else [known.shown, known.name]
    size = window_words(known.context_tokens)
    lines.append(
        _tr("Reads {0} tokens at once").format(size) if size else _tr("How much it reads at once is not known")
    )
    lines.append(_price_sentence(known.price, is_plan=account is not None and account.is_plan))
    if known.takes_images is not None:
        lines.append(_tr("Sees images") if known.takes_images else _tr("Sees no images"))
    if known.thinks:
        lines.append(_tr("Thinks before it answers"))
    return lines


def _price_sentence(price: Rates | None, *, is_plan: bool) -> str:
    if is_plan:
        return _tr("Your plan covers what it costs")
    if price is None:
        return _tr("Its price is not known")
    if not price.input and not price.output:
        return _tr("Costs nothing")
    words = _tr("{0} for a million tokens read, {1} for a million written")
    return words.format(rate_words(price.input), rate_words(price.output))


def age_words(account: AccountOffers, now: datetime) -> str:
    """Say how old the list of an account is."""
    if not account.is_listing:
        return ""
    if account.is_refreshing:
        return _tr("Asking {0}…").format(account.label)
    if account.problem:
        return _tr("{0}: its list could not be read").format(account.label)
    if account.listed_at is None:
        return _tr("{0}: its list was never asked for").format(account.label)
    days = (now.date() - account.listed_at.astimezone(now.tzinfo).date()).days
    if days <= 0:
        return _tr("{0}: list of today").format(account.label)
    if days == 1:
        return _tr("{0}: list from yesterday").format(account.label)
    return plural("Models", days, "{0}: list from %n day ago", "{0}: list from %n days ago").format(account.label)
