"""Servers that are worth knowing: what each is good for, what it needs, and how it is started or reached.

A list for people to choose from. None is installed, started or trusted more than others because it is in here.
"""

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mcp.server_sandbox import NOT_CONFINED, ServerSandbox

_NODE = "Node.js, for npx."
_UV = "uv, for uvx."
_AWS = "uv, for uvx, and credentials of AWS: a profile in ~/.aws."


class KnownServer(Struct, frozen=True, kw_only=True):
    """One server, as its makers publish it."""

    name: str
    about: str
    """What it is good for, in a sentence."""
    needs: str
    """What has to be there before it works."""
    where: str
    """A command line or an address."""
    sandbox: ServerSandbox | None = None
    """What confines it unless the user says otherwise; None: it needs more than a sandbox has, or runs elsewhere."""

    @property
    def confinement(self) -> str:
        """What confines it then, in a sentence; empty for a server that runs elsewhere."""
        if self.where.startswith("https://"):
            return ""
        return NOT_CONFINED if self.sandbox is None else self.sandbox.words


KNOWN_SERVERS: tuple[KnownServer, ...] = (
    KnownServer(
        name="filesystem",
        about="Reads, writes and searches files in the folders that it is given.",
        needs=_NODE,
        where="npx -y @modelcontextprotocol/server-filesystem .",
        sandbox=ServerSandbox(folders=(".",)),
    ),
    KnownServer(
        name="git",
        about="Reads git repositories, and changes them unless it is confined.",
        needs=f"git, and {_UV}",
        where="uvx mcp-server-git",
        sandbox=ServerSandbox(),
    ),
    KnownServer(
        name="fetch",
        about="Fetches web pages as text that models read well.",
        needs=_UV,
        where="uvx mcp-server-fetch",
        sandbox=ServerSandbox(hosts=("*",)),
    ),
    KnownServer(
        name="time",
        about="Tells the time, and converts it between time zones.",
        needs=_UV,
        where="uvx mcp-server-time",
        sandbox=ServerSandbox(),
    ),
    KnownServer(
        name="playwright",
        about="Drives a browser: opens pages, clicks, types and takes pictures.",
        needs=_NODE,
        where="npx -y @playwright/mcp@latest",
    ),
    KnownServer(
        name="chrome-devtools",
        about="Looks into pages in Chrome: console, network, performance.",
        needs=f"Chrome, and {_NODE}",
        where="npx -y chrome-devtools-mcp@latest",
    ),
    KnownServer(
        name="aws-api",
        about="Calls the services of AWS with your rights.",
        needs=_AWS,
        where="uvx awslabs.aws-api-mcp-server@latest",
    ),
    KnownServer(
        name="aws-billing",
        about="Explains what AWS costs, and where to save.",
        needs=_AWS,
        where="uvx awslabs.billing-cost-management-mcp-server@latest",
    ),
    KnownServer(
        name="github",
        about="Repositories, issues and pull requests on GitHub.",
        needs="A token, by desktop-agent mcp add github --from github --header 'Authorization=Bearer …'",
        where="https://api.githubcopilot.com/mcp/",
    ),
)


def known_server(name: str) -> KnownServer:
    """Return the server of this name. Raises `UsageError` that names those there are."""
    found = next((server for server in KNOWN_SERVERS if server.name == name), None)
    if found is None:
        known = ", ".join(server.name for server in KNOWN_SERVERS)
        raise UsageError(f"There is no server named {name!r} in the catalogue.", hint=f"There are: {known}.")
    return found
