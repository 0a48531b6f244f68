"""The models that can be chosen, and the picker's rows for a typed text. Plain data."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.matching import Span, find_matches
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.ui.widgets.rows import spans_within

_tr = partial(QCoreApplication.translate, "Models")


class ModelKey(Struct, frozen=True):
    """Identifies a model of an account. The account's name is empty for the provider's default account."""

    provider: str
    account: str
    model: str


class ModelOffer(Struct, frozen=True):
    key: ModelKey
    known: KnownModel
    state: str = ""
    """The text for an agent of another program, in place of a price."""

    @property
    def label(self) -> str:
        """The model's display name. Requests use the name in `key`."""
        return self.known.shown


class AccountOffers(Struct, frozen=True, kw_only=True):
    provider: str
    account: str = ""
    """The account's name; empty for the provider's default account."""
    label: str
    models: tuple[ModelOffer, ...] = ()
    is_connected: bool = True
    is_fixed: bool = False
    is_plan: bool = False
    is_listing: bool = False
    listed_at: datetime | None = None
    """When the list of models was read from the account; `None` while only built-in data is known."""
    is_refreshing: bool = False
    problem: str = ""

    def offer(self, model: str) -> ModelOffer:
        known = next((offer for offer in self.models if offer.key.model == model), None)
        return known or ModelOffer(
            ModelKey(self.provider, self.account, model), KnownModel(provider=self.provider, name=model)
        )


RowKind = Literal["heading", "note", "model", "named", "connect"]
"""The kinds of rows. `named` takes the typed text as a model's name; `note` reports a problem of the account above."""

_MOST_FOUND = 200


class ChoiceRow(Struct, frozen=True):
    kind: RowKind
    text: str
    offer: ModelOffer | None = None
    account: AccountOffers | None = None
    spans: tuple[Span, ...] = ()
    tells_account: bool = False
    """Whether it shows its account, because the rows around it belong to several accounts."""

    @property
    def is_choice(self) -> bool:
        return self.kind in ("model", "named", "connect")


class Choices(Struct, frozen=True, kw_only=True):
    accounts: tuple[AccountOffers, ...] = ()
    favourites: tuple[ModelKey, ...] = ()
    recent: tuple[ModelKey, ...] = ()
    current: ModelKey | None = None
    effort: str = ""

    @property
    def has_efforts(self) -> bool:
        return any(offer.known.efforts for account in self._connected() for offer in account.models)

    def effort_of(self, offer: ModelOffer) -> str:
        return self.effort if offer.key == self.current else ""

    def all_rows(self) -> tuple[ChoiceRow, ...]:
        rows: list[ChoiceRow] = []
        kept = set(self.favourites)
        for title, keys in ((_tr("Favourites"), self.favourites), (_tr("Recent"), self.recent)):
            found = [row for key in keys if (row := self._row_of(key)) is not None]
            if keys is self.recent:
                found = [row for row in found if row.offer is not None and row.offer.key not in kept]
            if found:
                rows += [ChoiceRow("heading", title), *found]
        silent: list[ChoiceRow] = []
        for account in self._connected():
            offers = self._offers(account)
            if offers:
                rows.append(ChoiceRow("heading", account.label, account=account))
            if account.problem:
                (rows if offers else silent).append(ChoiceRow("note", account.problem, account=account))
            rows += [ChoiceRow("model", offer.label, offer, account) for offer in offers]
        missing = [*self._connect_rows(), *silent]
        if missing:
            rows.append(ChoiceRow("heading", _tr("Not connected")))
        return (*rows, *missing)

    def finder(self) -> Callable[[str], tuple[ChoiceRow, ...]]:
        """Return a fast function that finds the rows for typed text: favourites and recent models first."""
        offers = {
            _name(account, offer): (account, offer) for account in self._connected() for offer in self._offers(account)
        }
        kept = {*self.favourites, *self.recent}
        names, near = tuple(offers), tuple(name for name, (_, offer) in offers.items() if offer.key in kept)
        tells = self._has_several

        def find(query: str) -> tuple[ChoiceRow, ...]:
            words = query.lower().split()
            matches = find_matches(names, query, limit=_MOST_FOUND)
            first = {
                match.text: match
                for match in find_matches(near, query, limit=len(near)).best
                if _has_all(match.text, words) or not (matches.best and _has_all(matches.best[0].text, words))
            }
            found: list[ChoiceRow] = []
            for text, spans in (*first.values(), *(match for match in matches.best if match.text not in first)):
                account, offer = offers[text]
                inner = spans_within(spans, len(text) - len(offer.label), len(text))
                found.append(ChoiceRow("model", offer.label, offer, account, inner, tells))
            if matches.total > _MOST_FOUND:
                more = _tr("{0} more; type more letters to find them").format(f"{matches.total - _MOST_FOUND:,}")
                found.append(ChoiceRow("note", more))
            missing = (row for row in self._connect_rows() if _has_all(row.text, words))
            rows = (*found, *missing, *self._named_rows(query.strip()))
            return rows or (ChoiceRow("note", _tr("No model has this name")),)

        return find

    @property
    def _has_several(self) -> bool:
        return sum(not account.is_fixed for account in self._connected()) > 1

    def _connected(self) -> list[AccountOffers]:
        return [account for account in self.accounts if account.is_connected]

    def _offers(self, account: AccountOffers) -> Sequence[ModelOffer]:
        current = self.current
        if current is None or (current.provider, current.account) != (account.provider, account.account):
            return account.models
        if any(offer.key == current for offer in account.models):
            return account.models
        return (account.offer(current.model), *account.models)

    def _row_of(self, key: ModelKey) -> ChoiceRow | None:
        for account in self._connected():
            if (account.provider, account.account) == (key.provider, key.account):
                offer = account.offer(key.model)
                return ChoiceRow("model", offer.label, offer, account, tells_account=self._has_several)
        return None

    def _named_rows(self, typed: str) -> Iterator[ChoiceRow]:
        if not typed or any(sign.isspace() for sign in typed):
            return
        here = (self.current.provider, self.current.account) if self.current is not None else None
        for account in sorted(self._connected(), key=lambda account: (account.provider, account.account) != here):
            if not account.is_fixed and all(offer.key.model != typed for offer in self._offers(account)):
                text = _tr("Use “{0}” of {1}").format(typed, account.label)
                yield ChoiceRow("named", text, account.offer(typed), account)

    def _connect_rows(self) -> Iterator[ChoiceRow]:
        for account in self.accounts:
            if not account.is_connected:
                yield ChoiceRow("connect", _tr("Connect {0}…").format(account.label), account=account)


def _has_all(text: str, words: Iterable[str]) -> bool:
    lower = text.lower()
    return all(word in lower for word in words)


def _name(account: AccountOffers, offer: ModelOffer) -> str:
    """Return the text to match: account, name and label. The label comes last, because the picker shows it."""
    parts = [account.label, offer.key.model] if offer.key.model != offer.label else [account.label]
    return "/".join([*parts, offer.label])
