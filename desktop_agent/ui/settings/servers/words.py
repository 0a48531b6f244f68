"""How a server is, in words. What a server says of itself is shown on one line, cut, with nothing hidden in it."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.server_status import STATE_WORDS, unused_line
from desktop_agent.ui.settings.servers.view import ServerView
from desktop_agent.ui.translation.plurals import plural

_LONGEST = 60
_LONGEST_PROBLEM = 400


def _tr(text: str) -> str:
    return QCoreApplication.translate("ServerWords", text)


def state_line(server: ServerView) -> str:
    """Say how it is now."""
    if not server.definition.is_enabled:
        return _tr("Switched off. The model is not offered its tools.")
    if server.status.needs_sign_in:
        if server.status.state == "ready":
            return _tr("Running. A call needs you to allow more.")
        return cut(server.status.problem, _LONGEST_PROBLEM)
    return _tr(STATE_WORDS[server.status.state])


def state_role(server: ServerView) -> str:
    """Return the role in the theme of that line."""
    if not server.definition.is_enabled:
        return "secondary"
    if server.status.needs_sign_in:
        return "warning"
    return {"ready": "good", "failed": "error", "resting": "error"}.get(server.status.state, "secondary")


def facts_line(server: ServerView) -> str:
    """Say who answered, how it is spoken to, and what its tools cost; empty when it never ran."""
    facts = server.status.facts
    if facts is None:
        return ""
    who = cut(" ".join(filter(None, (facts.name, facts.version))))
    era = _tr("with a handshake") if facts.era == "handshake" else _tr("without a handshake")
    protocol = _tr("protocol {0} ({1})").format(cut(facts.protocol), era)
    return " · ".join(filter(None, (who, protocol, tools_line(server), unused_line(facts).removesuffix("."))))


def tools_line(server: ServerView) -> str:
    """Say how many tools it has, and what those that are in use take of each request."""
    if not server.tools:
        return _tools(len(server.status.tools)) if server.status.tools else _tr("no tools")
    disabled = server.definition.disabled_tools
    used = [tool for tool in server.tools if tool.name not in disabled and tool.is_usable]
    count = _tools(len(server.tools))
    if len(used) < len(server.tools):
        count = _tr("{0} of {1}").format(len(used), count)
    one, many = "{0}, about %n token in each request", "{0}, about %n tokens in each request"
    return plural("ServerWords", sum(tool.tokens for tool in used), one, many).format(count)


def _tools(count: int) -> str:
    return plural("ServerWords", count, "%n tool", "%n tools")


def problem_line(server: ServerView) -> str:
    """Say what went wrong last and what can be done about it; empty when nothing did."""
    status = server.status
    if status.needs_sign_in:  # its state says it, and the card has a button for it
        return ""
    texts = [named(text) for text in (status.problem, status.hint) if text]
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in texts)


def cut(text: str, longest: int = _LONGEST) -> str:
    """Return a text of a server as a line that cannot be mistaken for another, nor be endless."""
    line = named(text.strip().partition("\n")[0])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
