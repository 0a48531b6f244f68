"""What is known of an account after its first sign-in, kept beside its tokens. None of it is a secret."""

import msgspec

from desktop_agent.core.base.learned import learned
from desktop_agent.core.providers.auth.tokens.long_entries import Entries, delete_long, read_long, write_long


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """An account at a service."""

    client_id: str
    """What this installation is called there, for this account."""
    subject: str
    """Who the user is there."""
    email: str = ""


def read_registration(entries: Entries, name: str) -> Registration | None:
    """Return the registration of the account whose entries begin with `name`, or `None`. Blocks."""
    kept = read_long(entries, f"{name}/registration")
    try:
        return msgspec.json.decode(kept, type=learned(Registration)) if kept is not None else None
    except msgspec.DecodeError:  # of another version: the account registers anew
        return None


def write_registration(entries: Entries, name: str, registration: Registration) -> None:
    """Keep it. Blocks."""
    write_long(entries, f"{name}/registration", msgspec.json.encode(registration).decode())


def delete_registration(entries: Entries, name: str) -> None:
    """Forget it. Blocks. No error when there is none."""
    delete_long(entries, f"{name}/registration")
