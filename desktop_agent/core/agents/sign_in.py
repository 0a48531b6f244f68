"""How the user can sign in with an agent of another program, by what the agent says of itself."""

from collections.abc import Sequence
from typing import Final

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.definition import AgentDefinition, LoginWay
from desktop_agent.core.agents.installed import agent_started_by
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.processes.shell import joined_words

_MOST_WAYS: Final = 8
_LONGEST: Final = 60


def ways_to_sign_in(agent: AgentDefinition, methods: Sequence[wire.AuthMethod]) -> tuple[LoginWay, ...]:
    """Return those that the agent offers, with a known agent's own command if it offers none for a terminal.

    A confined agent has none but its variables: what signs in elsewhere is hidden from it.
    """
    start = (agent.command, *agent.args)
    ways: list[LoginWay] = []
    for method in methods[:_MOST_WAYS]:
        command, env = method.command(start)
        ways.append(
            LoginWay(
                id=method.id,
                name=_short(method.name) or method.id,
                description=named(method.description or ""),
                command=command,
                env=env,
                variables=method.variables,
            )
        )
    known = agent_started_by(agent.command, agent.args)
    if known is not None and known.signs_in and not any(way.command for way in ways):
        command = (agent.command, *known.signs_in)
        ways = [LoginWay(id="terminal", name=_short(joined_words(command)), command=command)]
    return tuple(way for way in ways if way.variables or agent.sandbox is None)


def how_to_sign_in(reference: str, ways: Sequence[LoginWay]) -> str:
    """Return what the user can do; `reference` names the agent in a session."""
    variables = list(dict.fromkeys(name for way in ways for name in way.variables))
    keep = named(joined_words(("desktop-agent", "agents", "add", reference, "--secret", *(variables[:1] or ["KEY"]))))
    keys = f"It takes a key in {named(', '.join(variables))}: `{keep}` puts it into your keyring." if variables else ""
    if all(way.variables for way in ways):
        return keys or f"Give it a key as a secret variable, with `{keep}`. Then try again."
    line = named(joined_words(("desktop-agent", "agents", "login", reference)))
    hint = f"Sign in, then try again. In a terminal, `{line}` does it."
    return f"{hint} Or give it a key. {keys}" if keys else hint


def _short(text: str) -> str:
    line = named(text.strip().partition("\n")[0])
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
