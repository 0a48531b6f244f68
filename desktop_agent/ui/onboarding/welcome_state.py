"""The data of the welcome dialog, and the actions it needs."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay


class InstalledAgent(Struct, frozen=True):
    """An agent of another program that is installed."""

    name: str
    title: str


class Found(Struct, frozen=True, kw_only=True):
    provider: str = ""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variables that hold a key, by provider."""
    clouds: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """What the environment says of each cloud, by provider."""
    profiles: tuple[str, ...] = ()
    """The profiles of Anthropic's tools, the active one first."""
    others: tuple[str, ...] = ()
    """One text for each sign-in of another program: why it is not used, and what to do instead."""
    agents: tuple[InstalledAgent, ...] = ()
    has_keyring: bool = True


class Connected(Struct, frozen=True, kw_only=True):
    account: Account
    models: tuple[str, ...]
    usual_model: str
    who: str = ""
    """A sentence that says where a cloud is asked, and as whom."""
    note: str = ""


class WelcomeActions(Struct, frozen=True, kw_only=True):
    """Functions that carry out the dialog's requests. Each returns at once; the dialog gets the result later."""

    start_demo: Callable[[], None]
    choose_folder: Callable[[], None]
    look_for_servers: Callable[[], None]
    connect: Callable[[Account, str], None]
    """Tests an account with this key, or with its stored credential if the key is empty; keeps both if they work."""
    sign_in: Callable[[SignInWay, str], None]
    """Signs in as the account of this name (empty: the default account), and tests the account."""
    cancel: Callable[[], None]
    begin: Callable[[Account, str], None]
    """Uses this account and model for new conversations and the current one, and closes the dialog."""
    use_agent: Callable[[str], None]
    """Does the same with an agent of another program."""
