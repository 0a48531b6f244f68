"""The user's accounts in `accounts.toml`, and which account a model uses.

```toml
[[account]]
provider = "anthropic"
name = "work"                          # without a name: changes of the usual account
address = "https://models.example"     # without one: the provider's own
kind = "key"                           # key, oauth, profile or none
header = "x-api-key"                   # how a key is sent: bearer or x-api-key
headers = {X-Team = "search"}
cloud = {region = "eu-central-1"}      # for a cloud: what its fields are is in `VENDORS`
```

If any part of the file is invalid, no account is used.
"""

from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AccountGoneError, UnsafeSettingsError, UsageError
from desktop_agent.core.models.account import (
    Account,
    AccountKind,
    account_problem,
    accounts_of,
    is_same_name,
    usual_account,
)
from desktop_agent.core.models.vendors import VENDORS, KeyHeader, known_vendor, vendor_of
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.table_file import TableFile, TableList, choice_in, table_of, text_in

ACCOUNTS_NAME = "accounts.toml"


class LoadedAccounts(Struct, frozen=True):
    added: tuple[Account, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    def of(self, provider: str) -> tuple[Account, ...]:
        """Return all accounts of a provider; the usual one is first. Raises `UsageError` for an unknown provider."""
        return accounts_of(provider, self.added)

    def find(self, provider: str, name: str) -> Account | None:
        return next((account for account in self.of(provider) if is_same_name(account.name, name)), None)

    def of_model(self, model: ModelRef) -> Account:
        """Return the account for requests to `model`, with the address to which they go.

        Raises `UnsafeSettingsError` for a broken file, `AccountGoneError` if the account does not exist or belongs to
        another address, and `UsageError` for an unknown provider.
        """
        if self.problems:
            raise UnsafeSettingsError(self.problems)
        account = self.find(model.provider, model.account)
        if account is None:
            known = ", ".join(f"{one.label} ({one.where})" for one in self.of(model.provider))
            raise AccountGoneError(
                f"There is no account {model.account!r} for {vendor_of(model.provider).label}.",
                hint=f"Choose another: {known}. Or add it again with `desktop-agent auth set {model.provider} "
                f"--account {model.account}`.",
            )
        if not model.base_url or model.base_url.rstrip("/") == account.where.rstrip("/"):
            return account
        if account.is_usual:
            return replace(account, address=model.base_url)
        raise AccountGoneError(
            f"The account {account.name!r} of {vendor_of(account.provider).label} belongs to {account.where}, "
            f"not to {model.base_url}.",
            hint="A credential goes to its own address only. Choose another account, or add one for that address.",
        )


class AccountsFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TableFile(path, "account", "accounts")

    def load(self) -> LoadedAccounts:
        """Return the valid accounts, and a problem for each invalid one. Blocks; never raises."""
        return LoadedAccounts(*self._file.load(_account, lambda account: _key(account.provider, account.name)))

    def address_of(self, model: ModelRef) -> str:
        """Return the address of a model or of its account; empty for the provider's own. Blocks."""
        if model.base_url or not model.account or known_vendor(model.provider) is None:
            return model.base_url or ""
        account = self.load().find(model.provider, model.account)
        return account.address if account is not None else ""

    def put(self, account: Account) -> None:
        """Add an account, or replace the one with its name. Blocks. Raises `UsageError` and `StorageError`."""
        self._require_sound()
        if reason := account_problem(account):
            raise UsageError(f"The account cannot be used: {reason}.")

        usual = usual_account(account.provider)
        values: dict[str, object | None] = {  # None means the default, and is left out of the file
            "provider": account.provider or None,
            "name": account.name or None,
            "address": account.address or None,
            "kind": account.kind if account.kind != usual.kind else None,
            "header": account.header if account.header != usual.header else None,
            "headers": dict(account.headers) or None,
            "cloud": dict(account.cloud) or None,
        }

        def put(tables: TableList) -> None:
            place = tables.find(lambda table: _is_entry_of(account, table))
            if place is None:
                tables.append({key: value for key, value in values.items() if value is not None})
            else:
                tables.update(place, values)

        self._file.change(put)

    def remove(self, account: Account) -> bool:
        """Remove an account and return whether it existed. Blocks. Raises like `put`."""
        self._require_sound()
        return self._file.remove(lambda table: _is_entry_of(account, table))

    def _require_sound(self) -> None:
        if problems := self.load().problems:
            raise UnsafeSettingsError(problems)


def _is_entry_of(account: Account, entry: Mapping[str, object]) -> bool:
    return entry.get("provider") == account.provider and is_same_name(str(entry.get("name", "")), account.name)


def _key(provider: str, name: str) -> tuple[str, str]:
    return provider, name.casefold()  # as `is_same_name`


def _account(entry: object, others: Collection[Hashable]) -> Account:
    values = table_of(entry, Account.__struct_fields__)
    provider = choice_in(values, "provider", tuple(vendor.id for vendor in VENDORS))
    usual = usual_account(provider)
    account = Account(
        provider=provider,
        name=text_in(values, "name"),
        address=text_in(values, "address"),
        kind=cast("AccountKind", choice_in(values, "kind", get_args(AccountKind), usual.kind)),
        header=cast("KeyHeader", choice_in(values, "header", get_args(KeyHeader), usual.header)),
        headers=_texts(values, "headers"),
        cloud=_texts(values, "cloud"),
    )
    if reason := account_problem(account):
        raise ValueError(reason)
    if _key(provider, account.name) in others:
        raise ValueError(f"another account of {provider} is called {account.label!r}, too")
    return account


def _texts(values: Mapping[str, object], key: str) -> dict[str, str]:
    value = values.get(key, {})
    found = cast("dict[str, object]", value) if isinstance(value, dict) else {"": None}
    if not all(isinstance(text, str) for text in found.values()):
        raise ValueError(f"{key} must be a table of texts")
    return cast("dict[str, str]", found)
