"""Writes `resources/tool_schemas.json` from the declared arguments: `python packaging/tools/tool_schemas.py`."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from desktop_agent.core.tools import builtin
from desktop_agent.core.tools.tool import Tool, ToolArguments, plain_schema, schema_key

FILE = Path(__file__).parents[2] / "resources" / "tool_schemas.json"


def tool_schemas() -> str:
    """Return the file as the declarations have it."""
    for module in iter_modules(builtin.__path__, f"{builtin.__name__}."):
        import_module(module.name)
    found = {schema_key(arguments): plain_schema(arguments) for arguments in _declared(Tool)}
    return json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n"


def _declared(base: type[Tool[Any]]) -> Iterator[type[ToolArguments]]:
    """Yield the arguments of our own tools that have no definition of their own."""
    for tool in base.__subclasses__():
        yield from _declared(tool)
        own = vars(tool)
        if tool.__module__.startswith("desktop_agent.") and "arguments_type" in own and "definition" not in own:
            yield own["arguments_type"]


if __name__ == "__main__":
    FILE.write_text(tool_schemas(), encoding="utf-8")
