"""What the welcome shows, made by the code that opens it, and what it can do beyond itself."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay


class Found(Struct, frozen=True, kw_only=True):
    """What is there already, before the user enters anything."""

    provider: str = ""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variables that hold a key, by provider."""
    profiles: tuple[str, ...] = ()
    """The profiles of Anthropic's tools, the active one first."""
    others: tuple[str, ...] = ()
    """Why sign-ins of other programs are not used, and what to do instead, one text each."""


class Connected(Struct, frozen=True, kw_only=True):
    """A connection that was tested."""

    account: Account
    models: tuple[str, ...]
    usual_model: str
    note: str = ""


class WelcomeActions(Struct, frozen=True, kw_only=True):
    """Given to the dialog. All return at once; the dialog is shown what came of them."""

    start_demo: Callable[[], None]
    choose_folder: Callable[[], None]
    look_for_servers: Callable[[], None]
    connect: Callable[[Account, str], None]
    """Tests an account with this key, or the one that it has if that is empty, and keeps both when they work."""
    sign_in: Callable[[SignInWay, str], None]
    """Signs in, as the account of this name or the usual one, and tests that."""
    cancel: Callable[[], None]
    begin: Callable[[Account, str], None]
    """Lets new conversations be by this account and model, the one that is shown too, and closes the dialog then."""
