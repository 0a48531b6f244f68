"""The catalog of models: which ones an account can use, and their properties, without a network request.

Statements of the user take precedence over the list from the account's address, and that list over the shipped table.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import storage_error
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import HIDING
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import (
    KnownModel,
    ListedModel,
    Rates,
    completed,
    found,
    is_level,
    is_own_address,
    only_embeds,
    priced_model,
)
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.system.file_writes import write_private
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of

_VERSION = 1
_LARGEST_BYTES = 64 * 2**20


class FetchedList(Struct, frozen=True, kw_only=True):
    v: int = _VERSION
    fetched_at: datetime
    models: tuple[ListedModel, ...]


class ListCache:
    """The lists of models that addresses gave, one file for each account. Methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stamp(self, account: Account) -> FileStamp | None:
        return stamp_of(self._file(account))

    def read(self, account: Account) -> FetchedList | None:
        path = self._file(account)
        try:
            if path.stat().st_size > _LARGEST_BYTES:
                return None
            fetched = _DECODER.decode(path.read_bytes())
        except (OSError, DecodeError, UnicodeDecodeError):
            return None
        if fetched.v != _VERSION or fetched.fetched_at.tzinfo is None:
            return None
        # Versions before this one kept them.
        return replace(fetched, models=tuple(model for model in fetched.models if not only_embeds(model.name)))

    def write(self, account: Account, fetched: FetchedList) -> None:
        """Store a list. If this raises `StorageError`, the previous list is still there."""
        path = self._file(account)
        with storage_error("The list of models could not be kept.", path=path):
            write_private(path, encode(fetched))

    def _file(self, account: Account) -> Path:
        asked = "\n".join((account.where.rstrip("/"), account.name.casefold(), account.kind))
        return self._folder / f"{account.provider}-{blake2b(asked.encode(), digest_size=8).hexdigest()}.json"


_DECODER = Decoder(learned(FetchedList))

ListSource = Callable[[Account], Awaitable[Sequence[ListedModel]]]
"""Fetches the list of models from an account's address. Raises `AgentError`."""

MODELS_NAME = "models"

FREE = Rates(input=0.0, output=0.0)

OLD = timedelta(days=1)

_LONGEST_NAME = 300
_MOST_MODELS = 20_000

_Key = tuple[str, str, str, str]


class _Held(Struct, frozen=True):
    stamp: FileStamp | None
    fetched: FetchedList | None
    stated: tuple[KnownModel, ...]
    models: dict[str, KnownModel]
    priced: frozenset[str]


class ModelCatalog:
    """The models of all accounts of a user. Only `source` uses keys and the network."""

    def __init__(
        self,
        folder: Path,
        source: ListSource,
        *,
        clock: Clock,
        stated: Callable[[], tuple[KnownModel, ...]] = lambda: (),
    ) -> None:
        """Does not access the disk. `folder` stores the lists; `stated` returns the user's statements about models."""
        self._cache = ListCache(folder)
        self._source = source
        self._clock = clock
        self._stated = stated
        self._held: dict[_Key, _Held] = {}

    def models(self, account: Account) -> Sequence[KnownModel]:
        """Return an account's models: its last list, or else the vendor's defaults, then those that only the user
        names.

        Blocks for milliseconds the first time. On an event loop, await `read` before.
        """
        return tuple(self._of(account).models.values())

    def fetched_at(self, account: Account) -> datetime | None:
        fetched = self._of(account).fetched
        return fetched.fetched_at if fetched is not None else None

    def is_old(self, account: Account) -> bool:
        """Whether there is a list that was fetched more than a day ago. Blocks like `models`."""
        fetched_at = self.fetched_at(account)
        return fetched_at is not None and self._clock.now() - fetched_at > OLD

    def model(self, account: Account, name: str) -> KnownModel:
        held = self._of(account)
        if (listed := found(name, held.models)) is not None:
            known = held.models[listed]
            return known if listed == name else replace(known, name=name, label="")
        return self._known(account, ListedModel(name=name), {})

    def stated_price(self, account: Account, name: str) -> Rates | None:
        """Return the price that the user or the address states; `None` if the table's price applies. Blocks."""
        held = self._of(account)
        listed = found(name, held.models)
        return held.models[listed].price if listed in held.priced else None

    async def read(self, account: Account) -> Sequence[KnownModel]:
        return await asyncio.to_thread(self._read, account)

    async def refresh(self, account: Account) -> Sequence[KnownModel]:
        """Fetch, store and return the list of models. If this raises `AgentError`, the old list stays valid."""
        return await self.keep(account, await self._source(account))

    async def keep(self, account: Account, listed: Iterable[ListedModel]) -> Sequence[KnownModel]:
        # An address may send anything, and some things twice.
        sound = {model.name: _shown_safely(model) for model in listed if model.name and _is_plain(model.name)}
        fetched = FetchedList(fetched_at=self._clock.now(), models=tuple(sound.values())[:_MOST_MODELS])
        await asyncio.to_thread(self._cache.write, account, fetched)
        return await self.read(account)

    def _read(self, account: Account) -> Sequence[KnownModel]:
        stamp = self._cache.stamp(account)
        held = self._held.get(_key(account))
        if held is None or not is_unchanged(stamp, held.stamp) or held.stated != self._stated():
            held = self._held[_key(account)] = self._look(account, stamp)
        return tuple(held.models.values())

    def _of(self, account: Account) -> _Held:
        if _key(account) not in self._held:
            self._read(account)
        return self._held[_key(account)]

    def _look(self, account: Account, stamp: FileStamp | None) -> _Held:
        fetched = self._cache.read(account)
        stated = self._stated()
        own = {model.name: model for model in stated if model.provider == account.provider}
        offered = tuple(ListedModel(name=name) for name in vendor_of(account.provider).models)
        listed = {model.name: model for model in (fetched.models if fetched is not None else offered)}
        listed |= {name: _as_called(name, listed) for name in own if name not in listed}
        models = {name: self._known(account, model, own) for name, model in listed.items()}
        priced = frozenset(name for name, model in listed.items() if model.price or (name in own and own[name].price))
        return _Held(stamp, fetched, stated, models, priced)

    def _known(self, account: Account, listed: ListedModel, own: dict[str, KnownModel]) -> KnownModel:
        known = own.get(listed.name) or KnownModel(provider=account.provider, name=listed.name)
        return completed(completed(known, listed), self._shipped(account, listed.name))

    def _shipped(self, account: Account, name: str) -> ListedModel | None:
        """Return the shipped table's entry for a model, which is valid only at the vendor's own address."""
        vendor = vendor_of(account.provider)
        if not is_own_address(vendor, account.where):
            return None
        table = priced_model(vendor.prices, name) if vendor.prices else None
        context_tokens = table.context_tokens if table is not None else None
        if vendor.is_local or account.kind == "oauth":
            return ListedModel(name=name, context_tokens=context_tokens, price=FREE)
        today = self._clock.now().astimezone(UTC).date()
        return ListedModel(
            name=name, context_tokens=context_tokens, price=table.rates_on(today) if table is not None else None
        )


def _key(account: Account) -> _Key:
    return account.provider, account.name.casefold(), account.where, account.kind


def _as_called(name: str, listed: Mapping[str, ListedModel]) -> ListedModel:
    known = found(name, listed)
    return replace(listed[known], name=name, label="") if known is not None else ListedModel(name=name)


def _shown_safely(model: ListedModel) -> ListedModel:
    efforts = tuple(filter(is_level, model.efforts)) if model.efforts is not None else None
    if model.efforts and not efforts:
        efforts = None
    return replace(model, label=model.label if _is_plain(model.label) else "", efforts=efforts)


def _is_plain(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and not HIDING.search(text)
