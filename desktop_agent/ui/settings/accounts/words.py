"""What is said of accounts in the window: what each is called, and what it is for."""

from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.models.account import Account
from desktop_agent.core.settings.model_choice import Destination


def account_label(account: Account, there: Destination) -> str:
    """Return what an account is called in a list, with what tells it from others: `work · models.example`."""
    return f"{_name(account)} · {_what(account, there)}"


def account_purpose(account: Account, there: Destination) -> str:
    """Return where an account's requests really go, what sets that, and what is sent with them."""
    match account.kind:
        case "key":
            text = _tr("Requests go to {0}, with its API key. The key is sent nowhere else.")
        case "none":
            text = _tr("Requests go to {0}. No key is needed there.")
        case "oauth":
            text = _tr("Requests go to {0}, as who signed in. Removing the account signs out.")
        case "profile":
            text = _tr("Requests go to {0}, with a profile of the provider's own tools, which keep its tokens.")
    return text.format(_where(there))


def _where(there: Destination) -> str:
    match there.named_by:
        case "":
            text = "{0}"
        case "account":
            text = _tr("{0} (the account's own address)")
        case "settings":
            text = _tr("{0} (from the settings)")
        case _:
            text = _tr("{0} (from the environment variable {1})")
    where = text.format(there.address, there.named_by)
    if not there.proxy:
        return where
    return _tr("{0}, through the proxy {1} (from {2})").format(where, there.proxy, there.proxy_named_by)


def _name(account: Account) -> str:
    return account.name or _tr("Usual")


def _what(account: Account, there: Destination) -> str:
    match account.kind:
        case "key" | "none":
            return urlsplit(there.address).netloc
        case "oauth":
            return _tr("signed in")
        case "profile":
            return _tr("profile")


def _tr(text: str) -> str:
    return QCoreApplication.translate("Accounts", text)
