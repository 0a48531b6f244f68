"""`desktop-agent tools list` and `tools describe`: which tools the model has, and what each takes."""

import argparse
import json
import os

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import Access, CallRules, tool_document
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.registry import ToolRegistry


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    paths = AppPaths.from_environment()
    registry = ToolRegistry(builtin_tools(paths.cache))
    live = LiveSettings.load(paths.settings_file(), os.environ)
    folder = real_path(args.workspace or current_folder())
    settings = WorkspaceSettings(live, folder, ProjectTrust(paths.project_answers))
    settings.look()
    access = Access(registry, CallRules(), lambda: settings.current.execution.sandbox)
    if args.action == "list":
        tools = access.permitted()
        # A schema takes longer than all the rest, and only the document has them.
        documents = [tool_document(tool, access) for tool in tools] if console.is_json else []
        rows = [[tool.name, access.description(tool).splitlines()[0]] for tool in tools]
        console.result({"tools": documents}, table(rows))
        return 0
    try:
        tool = registry.require(args.name)
    except ToolError as error:
        raise UsageError(str(error)) from error
    wanted = access.definition(tool)
    schema = json.dumps(wanted.input_schema, indent=2)
    console.result(tool_document(tool, access), f"{wanted.name}\n\n{wanted.description}\n\n{schema}")
    return 0
