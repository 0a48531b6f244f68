"""What the settings dialog can do beyond itself."""

from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay
from desktop_agent.ui.settings.servers.view import ServerActions


class SettingsActions(Struct, frozen=True, kw_only=True):
    """Given to the dialog, which hands them to its pages. All return at once; the dialog is shown what came of them."""

    change: Callable[[str, object], None]
    """Gives a setting (its dotted name, `ui.theme`) this value."""
    reset: Callable[[str], None]
    """Gives a setting (its dotted name) its default again."""
    open_file: Callable[[], None]
    """Opens the settings file."""
    answer_project: Callable[[str], None]
    """Says `trusted` or `ignored` to the project's settings."""
    revoke_rule: Callable[[str], None]
    """Takes back a rule (its id)."""
    add_account: Callable[[Account], None]
    """Adds an account, and lets new conversations be by it."""
    remove_account: Callable[[Account], None]
    """Takes an account out, with its key."""
    show_key: Callable[[Account], None]
    """Finds out where the key of an account comes from."""
    save_key: Callable[[Account, str], None]
    """Keeps the key of an account. The dialog has forgotten it."""
    remove_key: Callable[[Account], None]
    """Forgets the key of an account that is kept."""
    sign_in: Callable[[SignInWay, str], None]
    """Signs in in this way, as the account of this name or the usual one, and tests that."""
    cancel_sign_in: Callable[[], None]
    """Gives a sign-in up."""
    check_sign_in: Callable[[Account], None]
    """Sees whether the sign-in of an account works."""
    look_for_server: Callable[[Account], None]
    """Finds out whether the server of an account on this machine runs, and which models it has."""
    servers: ServerActions
    """What can be done with MCP servers."""
    check_key: Callable[[Account, str], None]
    """Sees whether a key of an account works: the typed one, or if that is empty, the one in use."""
