"""What the welcome shows, made by the code that opens it, and what it can do beyond itself."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay


class Found(Struct, frozen=True, kw_only=True):
    """What is there already, before the user enters anything."""

    provider: str = ""
    """The provider that the settings name."""
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
    """Those that it lists, in its order."""
    usual_model: str
    """The one to begin with; empty when none is known."""
    note: str = ""
    """What the user should know about it besides."""


class WelcomeActions(Struct, frozen=True, kw_only=True):
    """Given to the dialog. All return at once; the dialog is shown what came of them."""

    start_demo: Callable[[], None]
    """Starts the demo. The dialog is closed."""
    choose_folder: Callable[[], None]
    """Lets the user choose a folder. The dialog stays."""
    look_for_servers: Callable[[], None]
    """Finds out which local servers run."""
    connect: Callable[[Account, str], None]
    """Tests an account with this key, or the one that it has if that is empty, and keeps both when they work."""
    sign_in: Callable[[SignInWay, str], None]
    """Signs in, as the account of this name or the usual one, and tests that."""
    cancel: Callable[[], None]
    """Gives up what is being done."""
    begin: Callable[[Account, str], None]
    """Lets new conversations be by this account and model, the one that is shown too, and closes the dialog then."""
