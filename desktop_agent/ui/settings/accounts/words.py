"""What is said of accounts in the window: what each is called, and what it is for."""

from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.models.account import Account


def account_label(account: Account) -> str:
    """Return what an account is called in a list, with what tells it from others: `work · models.example`."""
    return f"{_name(account)} · {_what(account)}"


def account_purpose(account: Account) -> str:
    """Return where an account's requests go, and what goes with them."""
    match account.kind:
        case "key":
            text = _tr("Requests go to {0}, with its API key. The key is sent nowhere else.")
        case "none":
            text = _tr("Requests go to {0}. No key is needed there.")
        case "oauth":
            text = _tr("Requests go to {0}, as who signed in. Removing the account signs out.")
        case "profile":
            text = _tr("Requests go to {0}, with a profile of the provider's own tools, which keep its tokens.")
    return text.format(account.where)


def _name(account: Account) -> str:
    return account.name or _tr("Usual")


def _what(account: Account) -> str:
    match account.kind:
        case "key" | "none":
            return urlsplit(account.where).netloc
        case "oauth":
            return _tr("signed in")
        case "profile":
            return _tr("profile")


def _tr(text: str) -> str:
    return QCoreApplication.translate("Accounts", text)
