"""Which tools there are, in a fixed order, and who may use which.

Restrictions come from the front end, the role, and the machine's abilities.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.base.regex import regex
from desktop_agent.core.context.history_fold import SEARCH_TOOLS
from desktop_agent.core.extensions.agent_files import AgentRole
from desktop_agent.core.protocol.model import Capability, JsonObject, SandboxMode, ToolDefinition
from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.builtin.read_skill import ReadSkill
from desktop_agent.core.tools.builtin.write_plan import WritePlan
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.core.tools.mcp_tool import (
    Choice,
    DefinitionBudget,
    McpTool,
    SearchTools,
    chosen,
    servers_in_words,
)

_NAME = regex(r"[A-Za-z0-9_-]{1,64}")
_MOST_NAMED = 50


_AT_TIMES: tuple[type, ...] = (WritePlan, ReadSkill)
"""Tools that are offered only while the agent plans, or where there are skills."""


class ToolRegistry:
    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._own: dict[str, AnyTool] = {}
        for tool in tools:
            if _NAME.fullmatch(tool.name) is None:
                raise ValueError(f"{tool.name!r} is not a tool name: letters, digits, _ and -, at most 64 of them")
            if tool.name in self._own:
                raise ValueError(f"there are two tools named {tool.name!r}")
            self._own[tool.name] = tool
        self._of_servers: dict[str, dict[str, AnyTool]] = {}
        self._tools = self._own

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def put(self, server: str, tools: Iterable[AnyTool]) -> None:
        """Register a server's tools, except for names already taken. Servers are sorted, for providers' caches."""
        others = (tools for name, tools in self._of_servers.items() if name != server)
        taken = self._own.keys() | set(chain.from_iterable(others))
        theirs = self._of_servers[server] = {}
        for tool in tools:
            if tool.name not in taken:
                theirs.setdefault(tool.name, tool)
        self._tools = dict(self._own)
        for name in sorted(self._of_servers):
            self._tools |= self._of_servers[name]

    def require(self, name: str) -> AnyTool:
        """Return the tool with this name. Raises `ToolError` (not_found), which names the existing tools."""
        tool = self._tools.get(name)
        if tool is None:
            close = next(iter(closest_names(name, self._tools)), None)
            advice = f" Did you mean {close!r}?" if close else ""
            raise ToolError(f"There is no tool {name!r}.{advice} {self._what_there_is()}", error_type="not_found")
        return tool

    def _what_there_is(self) -> str:
        left_out = len(self._tools) - len(self._own)
        if left_out <= _MOST_NAMED or SEARCH_TOOLS not in self._own:
            # If no tool is left out, the search for tools is not offered.
            hidden = _AT_TIMES if left_out else (*_AT_TIMES, SearchTools)
            return f"The tools are: {_named(self._tools, hidden)}."
        own = _named(self._own, _AT_TIMES)
        return f"The tools are: {own}, and {left_out} tools of MCP servers, which {SEARCH_TOOLS} finds."


def _named(tools: Mapping[str, AnyTool], hidden: tuple[type, ...]) -> str:
    """Name tools without those of a type that is hidden."""
    return ", ".join(name for name, tool in tools.items() if not isinstance(tool, hidden))


Role = Literal["orchestrator", "researcher", "worker"]


class RoleProfile(Struct, frozen=True, kw_only=True):
    only_reads: bool = False
    prompt: str = ""
    """The file in `resources/prompts` that is appended to the system prompt; empty for none."""

    @property
    def instructions(self) -> str:
        return prompt_text(self.prompt) if self.prompt else ""


ROLES: dict[Role, RoleProfile] = {
    "worker": RoleProfile(),
    "researcher": RoleProfile(only_reads=True, prompt="researcher.md"),
    "orchestrator": RoleProfile(prompt="orchestrator.md"),
}

UNAVAILABLE = "[UNAVAILABLE:"

_DEFERRED = """## Tools of MCP Servers
Their definitions would take too much of each request. Find the ones you need with search_tools, then call them:
{}"""

CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))


class CallRules(Struct, frozen=True, kw_only=True):
    allowed_tools: Collection[str] | None = None
    blocked_tools: Collection[str] = ()
    is_dry_run: bool = False
    role: Role = "worker"
    capabilities: frozenset[Capability] = CAPABILITIES
    """A tool that needs more remains listed, as unavailable."""

    def narrowed_for(self, role: AgentRole) -> "CallRules":
        """Return the rules of a sub-agent in this role. It has no tool that these rules do not allow."""
        allowed = self.allowed_tools
        if role.tools is not None:
            allowed = role.tools if allowed is None else tuple(name for name in role.tools if name in allowed)
        return CallRules(
            allowed_tools=allowed,
            blocked_tools=(*self.blocked_tools, *role.blocked_tools),
            role="researcher" if role.only_reads else "worker",
            capabilities=self.capabilities,
        )


class ToolOffer(Struct, frozen=True, kw_only=True):
    definitions: tuple[ToolDefinition, ...]
    listing: str
    server_tokens: float = 0.0
    deferred: tuple[str, ...] = ()
    """Tools that are not in the request but that the model can search for and call."""
    deferred_tokens: float = 0.0


class Access(Struct, frozen=True, eq=False):
    _registry: ToolRegistry
    _rules: CallRules
    _sandbox: Callable[[], SandboxMode]
    _runs_there: Callable[[], bool] = lambda: False
    _is_planning: Callable[[], bool] = lambda: False
    _may_only_read: Callable[[], bool] = lambda: False

    @property
    def is_dry_run(self) -> bool:
        return self._rules.is_dry_run

    @property
    def only_reads(self) -> bool:
        return ROLES[self._rules.role].only_reads or self._is_planning() or self._may_only_read()

    def require(self, tool: AnyTool) -> None:
        if not self._permits(tool):
            hint = " While you plan, nothing is changed." if self._is_planning() and not tool.is_read_only else ""
            text = f"The tool {tool.name!r} is not permitted in this session.{hint}"
            raise ToolError(text, error_type="permission")
        if mark := self._mark(tool):
            raise ToolError(f"{tool.name} cannot be used here: {mark}.", error_type="permission")

    def permitted(self) -> tuple[AnyTool, ...]:
        tools = (tool for tool in self._registry if not isinstance(tool, SearchTools))
        return tuple(tool for tool in tools if self._permits(tool))

    def description(self, tool: AnyTool) -> str:
        mark = self._mark(tool)
        return f"{mark} {tool.description}" if mark else tool.description

    def definition(self, tool: AnyTool) -> ToolDefinition:
        definition = replace(tool.definition(), description=self.description(tool))
        # The provider's own tool replaces ours, so it is offered only if ours may run.
        may_run = tool.hosted_tool is not None and not self._mark(tool) and not self.is_dry_run
        return replace(definition, hosted_tool=tool.hosted_tool) if may_run and self._runs_there() else definition

    def make_definitions(self) -> None:
        """Build all definitions in advance. The first time, this blocks for several frames of the window."""
        for tool in self.permitted():
            tool.definition()

    def of_servers(self) -> tuple[McpTool, ...]:
        return tuple(tool for tool in self._registry if isinstance(tool, McpTool) and self._permits(tool))

    def offer(self, budget: DefinitionBudget, loaded: Sequence[str] = ()) -> ToolOffer:
        own = [tool for tool in self.permitted() if not isinstance(tool, McpTool)]
        search = next((tool for tool in self._registry if isinstance(tool, SearchTools)), None)
        theirs = self.of_servers()
        choice = chosen(theirs, budget, loaded) if search and self._permits(search) else Choice(theirs)
        if choice.deferred and search:
            # The list of servers stays the same when tools are found. Only definitions are added, at the end.
            own.append(search)
            listing = f"{self._listing(own)}\n\n{_DEFERRED.format(servers_in_words(theirs))}"
        else:
            listing = self._listing([*own, *theirs])
        if self._is_planning():
            listing = f"{listing}\n\n{prompt_text('plan.md')}"
        return ToolOffer(
            definitions=tuple(map(self.definition, (*own, *choice.offered))),
            listing=listing,
            server_tokens=sum(tool.tokens for tool in choice.offered),
            deferred=tuple(tool.name for tool in choice.deferred),
            deferred_tokens=sum(tool.tokens for tool in choice.deferred),
        )

    def _listing(self, tools: Sequence[AnyTool]) -> str:
        lines = [f"- {tool.name}: {_summary(self.description(tool))}" for tool in tools]
        return "\n".join(["## Available Tools", *(lines or ["There are no tools in this session."])])

    def _permits(self, tool: AnyTool) -> bool:
        rules = self._rules
        names = {tool.name, tool.server, tool.shown_name} if isinstance(tool, McpTool) else {tool.name}
        # The search finds only permitted tools, and a plan changes nothing.
        is_named = rules.allowed_tools is None or not names.isdisjoint(rules.allowed_tools)
        is_named = is_named or isinstance(tool, SearchTools | WritePlan)
        is_blocked = not names.isdisjoint(rules.blocked_tools)
        if isinstance(tool, WritePlan) and not self._is_planning():
            return False
        if isinstance(tool, ReadSkill) and not tool.skills.for_model:
            return False
        return is_named and not is_blocked and (tool.is_read_only or not self.only_reads)

    def _mark(self, tool: AnyTool) -> str:
        granted = self._rules.capabilities
        if self._sandbox() == "strict":
            granted -= {"write_fs"}
        missing = next((capability for capability in tool.capabilities if capability not in granted), None)
        return f"{UNAVAILABLE} Requires {missing} capability]" if missing else ""


def _summary(description: str) -> str:
    end = description.find(". ")
    return description if end < 0 else description[: end + 1]


def tool_document(tool: AnyTool, access: Access) -> JsonObject:
    definition = access.definition(tool)
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "capabilities": list(tool.capabilities),
        "read_only": tool.is_read_only,
        "source": tool.source,
        "available": not definition.description.startswith(UNAVAILABLE),
    }
