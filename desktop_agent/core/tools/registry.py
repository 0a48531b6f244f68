"""The registry of tools: looked up by name, sent to the model in a fixed order."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.context.history_fold import SEARCH_TOOLS
from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.builtin.read_skill import ReadSkill
from desktop_agent.core.tools.builtin.write_plan import WritePlan
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.core.tools.servers.mcp_tool import SearchTools

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
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
