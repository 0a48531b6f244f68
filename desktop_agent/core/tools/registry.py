"""Which tools there are: looked up by name, sent to the model in a fixed order."""

import re
from collections.abc import Iterable, Iterator

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.files.suggest import closest_names
from desktop_agent.core.tools.spec import AnyTool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider accepts as a tool's name."""


class ToolRegistry:
    """The tools of one session, in order. Names are unique."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        """Raise `ValueError` for a name that occurs twice or that no provider accepts."""
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if _NAME.fullmatch(tool.name) is None:
                raise ValueError(f"{tool.name!r} is not a tool name: letters, digits, _ and -, at most 64 of them")
            if tool.name in self._tools:
                raise ValueError(f"there are two tools named {tool.name!r}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def require(self, name: str) -> AnyTool:
        """Return the tool of that name. Raises `ToolError` (not_found), with what there is instead."""
        tool = self._tools.get(name)
        if tool is None:
            close = next(iter(closest_names(name, self._tools)), None)
            advice = f" Did you mean {close!r}?" if close else ""
            text = f"There is no tool {name!r}.{advice} The tools are: {', '.join(self._tools)}."
            raise ToolError(text, error_type="not_found")
        return tool
