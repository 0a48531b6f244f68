"""What can go wrong on the way to a server at an address, in words for a user. None of it quotes an answer."""

import socket
import ssl

import httpx2

from desktop_agent.core.base.errors import AgentError, ServerError
from desktop_agent.core.mcp.client import ConnectionLostError
from desktop_agent.core.system.network.connections import Proxy, causes_of, names_of


class SessionGoneError(ConnectionLostError):
    """The server does not know the connection any more. That is no failure: the next call makes another one."""


def session_gone() -> SessionGoneError:
    """The server forgot who we are, as after a restart."""
    return SessionGoneError(
        "The server has forgotten this connection, so the call was not carried out.",
        hint="Call it again: that connects anew.",
    )


def broken_off() -> ConnectionLostError:
    """An answer began, and ended before it was whole."""
    return ConnectionLostError("The answer ended before it was whole.")


def no_address() -> ServerError:
    """The URL is none."""
    return ServerError("Its URL is not a web address.", hint="Write it in full: https://host/mcp.")


def readable(address: str) -> ServerError:
    """What is sent would leave this machine unencrypted."""
    return ServerError(
        f"Nothing was sent: {address} is not encrypted, so others on the way could read and change everything.",
        hint="Use its https:// address, or set allow_unencrypted = true for this server in the settings file.",
    )


def readable_by_proxy(address: str, proxy: Proxy) -> ServerError:
    """What is sent unencrypted would pass a proxy."""
    return ServerError(
        f"Nothing was sent: the proxy {proxy.address} could read and change everything.",
        hint=f"{address} is not encrypted, and {proxy.named_by} names this proxy. Use an https:// address, or add the "
        "host to NO_PROXY.",
    )


def too_large(most_bytes: int) -> ServerError:
    """A message is longer than any model could read."""
    return ServerError(f"It sent a message of more than {most_bytes // 1024**2} MiB.")


def packed() -> ServerError:
    """The answer is compressed, and was not asked to be."""
    return ServerError(
        "It packed its answer, although it was asked not to, so the answer was not read.",
        hint="Compression must be off, also in a gateway before it.",
    )


def refused(status: int, address: str) -> ServerError:
    """The server answered with a status and nothing of the protocol."""
    title, hint = _REFUSALS.get(status, ("", ""))
    if not title and status >= 500:
        title, hint = "It failed by itself", "It is tried again when it is needed. Its own log says more."
    return ServerError(f"{title or 'It refused the request'} (HTTP {status}).", hint=hint, detail=address)


_REFUSALS = {
    401: ("It does not take the credential in its header", "Remove the server, and add it again with another one."),
    403: ("It does not allow this", "The credential may lack a right, or the server may be closed to this network."),
    404: ("There is no MCP server at this address", "Check the path of its URL; for many it is /mcp."),
    405: ("It takes no MCP messages at this address", "Check the path of its URL; for many it is /mcp."),
    429: ("It was asked too often", "Wait a moment, and try again."),
}


def unreachable(error: Exception, address: str, proxy: Proxy | None) -> ServerError:
    """Return what a request that failed with `error` means; `error` may wrap the real cause."""
    causes = list(causes_of(error))
    if known := next((cause for cause in causes if isinstance(cause, AgentError)), None):
        return known if isinstance(known, ServerError) else ServerError(known.title, hint=known.hint)
    title, hint = _words(causes, address)
    if proxy is not None:
        hint = f"{hint} The connection goes by way of the proxy {proxy.address} ({proxy.named_by}).".strip()
    return ConnectionLostError(title, hint=hint, detail=f"{address}: {names_of(causes)}")


def _words(causes: list[BaseException], address: str) -> tuple[str, str]:
    for cause in causes:
        match cause:
            case httpx2.ProxyError():
                return "The proxy refused the connection.", "Ask who runs it, or change the variable that names it."
            case httpx2.LocalProtocolError() | UnicodeEncodeError():
                return "A header for this server cannot be sent.", "Headers have only letters of ASCII, in one line."
            case socket.gaierror():
                return f"The name in {address} is unknown.", "Check the address and the network connection."
            case ssl.SSLCertVerificationError():
                return (
                    f"The certificate of {address} cannot be trusted.",
                    "For one that your organisation made, let SSL_CERT_FILE name the file with its authority.",
                )
            case ssl.SSLError():
                return f"{address} offers no encrypted connection that can be trusted.", "Check the address."
            case ConnectionRefusedError():
                return f"Nothing listens at {address}.", "Start the server, or check the address."
            case httpx2.TimeoutException():
                return f"{address} does not answer.", "Check the address and the network connection."
            case httpx2.RemoteProtocolError():
                return f"{address} does not speak HTTP, or broke off.", "Check the address."
            case _:
                pass
    return f"{address} could not be reached.", "Check the address and the network connection."
