"""Accounts: the identity and the address for requests to a vendor. They never contain the credential.

A credential belongs to one account, and so to one provider, address and name. It is sent to no other address.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import is_secret_name, mask
from desktop_agent.core.base.web_address import why_no_address
from desktop_agent.core.models.vendors import KeyHeader, known_vendor, vendor_of

AccountKind = Literal["key", "oauth", "profile", "none"]

USUAL = "usual"
"""How users name the account without a name, which every provider has."""


class Account(Struct, frozen=True, kw_only=True):
    provider: str
    name: str = ""
    address: str = ""
    """The address to which the credential is sent; empty for the vendor's own address."""
    kind: AccountKind = "key"
    header: KeyHeader = "bearer"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Extra headers for every request. They must not be secrets."""
    cloud: Mapping[str, str] = field(default_factory=dict[str, str])
    """The settings for the vendor's cloud, by `CloudField`."""

    @property
    def is_usual(self) -> bool:
        return not self.name

    @property
    def label(self) -> str:
        return self.name or USUAL

    @property
    def full_label(self) -> str:
        vendor = vendor_of(self.provider)
        # The format of its requests does not say who answers at an address. Signed in, it is the vendor's own.
        if self.name and self.address and self.kind in ("key", "none"):
            return f"{self.name} ({urlsplit(self.address).netloc})"
        return f"{vendor.label} ({self.name})" if self.name else vendor.label

    @property
    def where(self) -> str:
        vendor = vendor_of(self.provider)
        if vendor.cloud is not None and not self.address:
            with suppress(KeyError):  # the environment says the region, which the SDK reads
                return vendor.cloud.place.format_map(self.cloud)
        return self.address or vendor.address


def usual_account(provider: str) -> Account:
    vendor = vendor_of(provider)
    kind: AccountKind = "profile" if vendor.cloud else "key" if vendor.needs_key else "none"
    return Account(provider=provider, kind=kind, header=vendor.key_header)


def accounts_of(provider: str, added: Iterable[Account]) -> tuple[Account, ...]:
    """Return all accounts of a provider, the usual one first. Raises `UsageError` for an unknown provider."""
    own = [account for account in added if account.provider == provider]
    usual = next((account for account in own if account.is_usual), None) or usual_account(provider)
    return (usual, *(account for account in own if not account.is_usual))


def named(label: str) -> str:
    """Return the name of the account with this label; empty for the usual one."""
    label = unicodedata.normalize("NFC", label.strip())
    return "" if is_same_name(label, USUAL) else label


def is_same_name(one: str, other: str) -> bool:
    """Whether two names are the same. Case does not count, because some keyrings do not distinguish it."""
    return one.casefold() == other.casefold()


def name_problem(name: str) -> str:
    if mask(name) != name:
        return "it looks like a key, and a name is shown everywhere"
    if is_same_name(name, USUAL):
        return f"{USUAL!r} is reserved for the account without a name"
    if not _NAME.fullmatch(name) or unicodedata.normalize("NFC", name) != name:
        return "it must have 1 to 40 letters or digits; . _ + @ - are allowed between them"
    return ""


def header_problem(name: str, value: str) -> str:
    """Return why an account's requests cannot have this header, as a text for users; empty if they can."""
    if not _HEADER.fullmatch(name):
        return "it is not a valid header name"
    if name.lower() in _OURS:
        return "the application sets this header itself"
    whole = f"{name}: {value}"
    if is_secret_name(name.replace("-", "_")) or "authorization" in name.lower() or mask(whole) != whole:
        return "it looks like a secret, which belongs in the keyring"
    if not (value.isascii() and value.isprintable()):
        return "its value must be plain text"
    return ""


def with_cloud(account: Account, said: Mapping[str, str]) -> Account:
    """Return the account with these fields of its cloud changed; empty ones are removed."""
    cloud = {**account.cloud, **said}
    return replace(account, cloud={name: value for name, value in cloud.items() if value})


def cloud_problem(account: Account) -> str:
    cloud = vendor_of(account.provider).cloud
    known = tuple(cloud.fields) if cloud is not None else ()
    for name, value in account.cloud.items():
        if name not in known:
            return f"{account.provider} has no {name}" + (f"; it has {', '.join(known)}" if known else "")
        if not _CLOUD_VALUE.fullmatch(value):
            return f"{name} must be letters, digits and . _ - : without spaces"
    return ""


def _kind_problem(account: Account) -> str:
    vendor = vendor_of(account.provider)
    possible: dict[AccountKind, bool] = {
        "key": vendor.cloud is None or bool(vendor.key_variable),
        "oauth": vendor.sign_in == "chatgpt",
        "profile": vendor.sign_in == "profile",
        "none": vendor.cloud is None,  # the SDK would look for the user's own credentials
    }
    if possible[account.kind]:
        return ""
    known = ", ".join(kind for kind, is_possible in possible.items() if is_possible)
    return f"{vendor.id} accounts cannot be of the kind {account.kind!r}; possible: {known}"


def account_problem(account: Account) -> str:
    """Return why the account cannot be used, as a text for users; empty if it can."""
    if known_vendor(account.provider) is None:
        return "its provider is not known"
    if account.is_usual and account.address:
        return "only an account with a name can have its own address"
    if account.name and (reason := name_problem(account.name)):
        return f"name {account.name!r}: {reason}" if mask(account.name) == account.name else f"name: {reason}"
    if account.address and (reason := why_no_address(account.address)):
        return f"address: {reason}"
    if reason := cloud_problem(account) or _kind_problem(account):
        return reason
    wrong = ((name, header_problem(name, value)) for name, value in account.headers.items())
    return next((f"header {mask(name)}: {reason}" for name, reason in wrong if reason), "")


_NAME = regex(r"[^\W_](?:[\w.+@-]{0,38}[\w])?")
_CLOUD_VALUE = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
_HEADER = regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}")
_OURS = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie",
        "host", "transfer-encoding", "user-agent", "x-api-key",
    }
)  # fmt: skip
