"""What an agent offers: ways to sign in, and the modes, options and commands of its session with their values."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.definition import AgentDefinition, LoginWay
from desktop_agent.core.agents.installed import agent_started_by
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.plain_text import named, without_controls
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import AgentChoice, AgentCommand, AgentOption
from desktop_agent.core.system.processes.shell import joined_words

ASKING_MODES: Final = ("default", "ask", "manual", "read-only")
"""The ids of modes in which known agents ask before they act, the preferred one first."""

MODE: Final = "mode"
"""The category of the option that is the agent's mode. For an agent with plain modes, also the option's id."""

_MOST_WAYS: Final = 8
_LONGEST: Final = 60


class AgentOffers(Struct, frozen=True):
    modes: wire.AgentModes | None = None
    options: tuple[wire.ConfigOption, ...] = ()
    told: tuple[wire.SlashCommand, ...] = ()

    def with_facts(self, facts: wire.SessionOffers) -> "AgentOffers":
        options = self.options if facts.config_options is None else facts.config_options
        return replace(self, modes=facts.modes or self.modes, options=options)

    def with_mode(self, mode_id: str) -> "AgentOffers":
        return self if self.modes is None else replace(self, modes=replace(self.modes, current_mode_id=mode_id))

    def with_value(self, option_id: str, value: str | bool) -> "AgentOffers":
        options = (replace(one, current_value=value) if one.id == option_id else one for one in self.options)
        return replace(self, options=tuple(options))

    @property
    def mode(self) -> AgentOption | None:
        return next((one for one in self.shown if one.category == MODE), None)

    @property
    def has_plain_modes(self) -> bool:
        """Whether the modes have their own method, as in older agents."""
        return self.modes is not None and all(one.category != MODE for one in self.options)

    @property
    def shown(self) -> tuple[AgentOption, ...]:
        """The options that can be shown. The modes are one of them."""
        found = [self._modes(self.modes)] if self.modes is not None and self.has_plain_modes else []
        for one in self.options:
            choices = tuple(_choice(each.value, each.name, each.description) for each in one.choices)
            if isinstance(one.current_value, bool) != bool(choices):
                found.append(
                    AgentOption(
                        id=one.id,
                        name=without_controls(one.name),
                        category=without_controls(one.category or ""),
                        description=without_controls(one.description or ""),
                        value=one.current_value,
                        choices=choices,
                    )
                )
        return tuple(found)

    def _modes(self, modes: wire.AgentModes) -> AgentOption:
        choices = tuple(_choice(one.id, one.name, one.description) for one in modes.available_modes)
        return AgentOption(id=MODE, name="Mode", category=MODE, value=modes.current_mode_id, choices=choices)

    @property
    def commands(self) -> tuple[AgentCommand, ...]:
        return tuple(
            AgentCommand(
                name=one.name,
                description=without_controls(one.description),
                hint=without_controls(str(as_object(one.input).get("hint") or "")),
            )
            for one in self.told
            if one.name.strip() and not any(sign.isspace() for sign in one.name)
        )

    def require(self, option_id: str, value: str | bool, agent: str) -> None:
        """Raises `ServerError` if the option cannot be set to this value."""
        option = next((one for one in self.shown if one.id == option_id), None)
        if option is None:
            raise ServerError(f"{agent} has no option {named(option_id)}.")
        values = [one.value for one in option.choices] or [True, False]
        if value not in values:
            hint = f"It has {', '.join(named(str(one)) for one in values)}."
            raise ServerError(f"{agent} cannot set {option.name} to {named(str(value))}.", hint=hint)

    def mode_wanted(self, configured: str, agent: str) -> str:
        """Return the mode to set: the configured one, else the safest of those that ask; empty if there is none.

        Raises `ServerError` if the agent has modes, but not the configured one.
        """
        known = [one.value for one in self.mode.choices] if self.mode is not None else []
        if configured and known and configured not in known:
            hint = f"It has {', '.join(map(named, known))}."
            raise ServerError(f"{agent} has no mode {named(configured)}.", hint=hint)
        return next((mode for mode in (configured, *ASKING_MODES) if mode in known), "")


def _choice(value: str, name: str, description: str | None) -> AgentChoice:
    return AgentChoice(value=value, name=without_controls(name), description=without_controls(description or ""))


def ways_to_sign_in(agent: AgentDefinition, methods: Sequence[wire.AuthMethod]) -> tuple[LoginWay, ...]:
    """Return the ways that the agent offers, with a known agent's own command if none of them is for a terminal.

    A confined agent can only use variables: sign-ins made outside its sandbox are hidden from it.
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
