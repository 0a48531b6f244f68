"""Who may use which tools: what a front end restricts, what a role may do, and what the sandbox leaves possible.

The model never receives a tool that is not permitted. It receives a tool that is permitted but cannot work here,
because a capability is missing, with the reason in its description, so that it can say so instead of guessing; a
call of it is refused before anything runs.
"""

from collections.abc import Callable, Collection
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import Capability, SandboxMode, ToolDefinition
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.spec import AnyTool, ServerTool

Role = Literal["worker", "researcher"]
"""A researcher only gets tools that change nothing."""

UNAVAILABLE = "[UNAVAILABLE:"
"""What the description of a tool that cannot work here begins with."""

CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))


class CallRules(Struct, frozen=True, kw_only=True):
    """What a front end may restrict for all calls of a session."""

    allowed_tools: Collection[str] | None = None
    """Only these; None allows all."""
    blocked_tools: Collection[str] = ()
    is_dry_run: bool = False
    """Answer every call without running it."""
    role: Role = "worker"
    capabilities: frozenset[Capability] = CAPABILITIES
    """What tools may do here. One that needs more stays listed, as unavailable."""


class Access:
    """The tools of one session as they may be used right now."""

    def __init__(
        self,
        registry: ToolRegistry,
        rules: CallRules,
        sandbox: Callable[[], SandboxMode],
        runs_there: Callable[[], bool] = lambda: False,
    ) -> None:
        """`runs_there` says whether the user lets the provider do what it can do itself."""
        self._registry = registry
        self._rules = rules
        self._sandbox = sandbox
        self._runs_there = runs_there

    @property
    def is_dry_run(self) -> bool:
        """Whether calls are answered without being run."""
        return self._rules.is_dry_run

    def require(self, tool: AnyTool) -> None:
        """Raise `ToolError` (permission), for the model, when `tool` may not be used."""
        if not self._permits(tool):
            raise ToolError(f"The tool {tool.name!r} is not permitted in this session.", error_type="permission")
        if mark := self._mark(tool):
            raise ToolError(f"{tool.name} cannot be used here: {mark}.", error_type="permission")

    def permitted(self) -> tuple[AnyTool, ...]:
        """Return the tools that the model receives, in order."""
        return tuple(tool for tool in self._registry if self._permits(tool))

    def description(self, tool: AnyTool) -> str:
        """Return what the model reads of `tool`, first that it cannot work here, if so."""
        mark = self._mark(tool)
        return f"{mark} {tool.description}" if mark else tool.description

    def definition(self, tool: AnyTool) -> ToolDefinition:
        """Return what the model receives of `tool`."""
        definition = replace(tool.definition(), description=self.description(tool))
        # What may not run here may not run there: that is offered only in the place of what is.
        may_run = tool.hosted_tool is not None and not self._mark(tool) and not self.is_dry_run
        return replace(definition, hosted_tool=tool.hosted_tool) if may_run and self._runs_there() else definition

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return what the model receives of the tools, in order."""
        return tuple(map(self.definition, self.permitted()))

    def listing(self) -> str:
        """Return the system prompt's list of tools."""
        lines = [f"- {tool.name}: {_summary(self.description(tool))}" for tool in self.permitted()]
        return "\n".join(["## Available Tools", *(lines or ["There are no tools in this session."])])

    def _permits(self, tool: AnyTool) -> bool:
        rules, names = self._rules, _names_of(tool)
        is_named = rules.allowed_tools is None or not names.isdisjoint(rules.allowed_tools)
        is_blocked = not names.isdisjoint(rules.blocked_tools)
        return is_named and not is_blocked and (rules.role == "worker" or tool.is_read_only)

    def _mark(self, tool: AnyTool) -> str:
        granted = self._rules.capabilities
        if self._sandbox() == "strict":
            granted -= {"write_fs"}
        missing = next((capability for capability in tool.capabilities if capability not in granted), None)
        return f"{UNAVAILABLE} Requires {missing} capability]" if missing else ""


def _names_of(tool: AnyTool) -> frozenset[str]:
    """By what a list of tools may name this one: for a server's, the server's name and what people call it, too."""
    if not isinstance(tool, ServerTool):
        return frozenset({tool.name})
    return frozenset({tool.name, tool.server, tool.shown_name})


def _summary(description: str) -> str:
    """The first sentence, a mark of unavailability included."""
    end = description.find(". ")
    return description if end < 0 else description[: end + 1]
