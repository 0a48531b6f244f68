"""What the page of MCP servers shows, and what it can do: plain data, made by the code that opens it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_status import ServerStatus


class ToolView(Struct, frozen=True, kw_only=True):
    """One tool that a server offers."""

    name: str
    about: str
    """The first line of what the server says of it."""
    tokens: int
    """What its definition takes of each request, estimated."""
    is_usable: bool = True
    """Whether it can be used here at all; if not, `about` says why."""


class SignInProgress(Struct, frozen=True, kw_only=True):
    """A sign-in with a server that is under way."""

    address: str = ""
    """The page where it goes on; empty while it is prepared."""
    is_open: bool = True
    """Whether a browser seems to have opened there."""


class ServerView(Struct, frozen=True, kw_only=True):
    """One server that is defined."""

    definition: ServerDefinition
    status: ServerStatus
    tools: tuple[ToolView, ...] = ()
    """Those it offered last."""
    log: str = ""
    """What it said last."""
    sign_in: SignInProgress | None = None
    """The sign-in that is under way."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.definition.name


class ServersView(Struct, frozen=True, kw_only=True):
    """All servers, and what is wrong with the definitions of others."""

    servers: tuple[ServerView, ...] = ()
    problems: tuple[str, ...] = ()


class ServerActions(Struct, frozen=True, kw_only=True):
    """All return at once; the page is shown what came of them."""

    add: Callable[[ServerDefinition, str], None]
    """Defines a server, with the secret of its client (or nothing), and starts it, to see whether it works."""
    import_file: Callable[[Path], None]
    """Takes over the servers of another tool's JSON file."""
    sign_in: Callable[[str], None]
    """Has the user sign in with the server of this name, by the browser, and starts it anew."""
    cancel_sign_in: Callable[[str], None]
    """Gives that up."""
    restart: Callable[[str], None]
    """Starts the server of this name anew."""
    remove: Callable[[str], None]
    """Takes the server of this name out of the settings."""
    switch: Callable[[str, bool], None]
    """Lets the server of this name be used, or not."""
    switch_tool: Callable[[str, str, bool], None]
    """Lets the model be offered a tool of a server, or not."""
