"""`desktop-agent tools`: shows the model's tools and their arguments, and calls one without a model."""

import argparse
import asyncio
import json
import os
import sys

from desktop_agent.cli.config import SettingsWarnings
from desktop_agent.cli.console import Console, table
from desktop_agent.cli.extensions import extensions_in
from desktop_agent.cli.signals import run_to_end
from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.secrets import mask_warnings
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import Access, CallRules, ToolRegistry, tool_document
from desktop_agent.core.tools.builtin import builtin_tools


def list_tools(args: argparse.Namespace, console: Console) -> None:
    registry, settings = _registry_and_settings(args)
    access = _access(registry, settings)
    tools = access.permitted()
    # A schema takes longer than all the rest, and only the document has them.
    documents = [tool_document(tool, access) for tool in tools] if console.is_json else []
    rows = [[tool.name, access.description(tool).splitlines()[0]] for tool in tools]
    servers = [server.name for server in used_definitions(settings).servers]
    more = f"\n\n{_NOT_LISTED.format(', '.join(servers))}" if servers else ""
    console.result({"tools": documents, "servers": servers}, table(rows) + more)


def describe(args: argparse.Namespace, console: Console) -> None:
    registry, settings = _registry_and_settings(args)
    access = _access(registry, settings)
    try:
        tool = registry.require(args.name)
    except ToolError as error:
        raise UsageError(str(error)) from error
    wanted = access.definition(tool)
    schema = json.dumps(wanted.input_schema, indent=2)
    console.result(tool_document(tool, access), f"{wanted.name}\n\n{wanted.description}\n\n{schema}")


_NOT_LISTED = (
    "Not listed are the tools of these MCP servers, which start with a call: {}. "
    "`desktop-agent mcp test NAME` lists them."
)


def _registry_and_settings(args: argparse.Namespace) -> tuple[ToolRegistry, WorkspaceSettings]:
    paths = AppPaths.from_environment()
    settings = extensions_in(paths, real_path(args.workspace or current_folder())).settings
    return ToolRegistry(builtin_tools(paths.cache)), settings


def _access(registry: ToolRegistry, settings: WorkspaceSettings) -> Access:
    return Access(registry, CallRules(), lambda: settings.current.execution.sandbox)


def call_tool(args: argparse.Namespace, console: Console) -> int:
    # `tools list` needs none of this, and takes a quarter of the time without it.
    from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall, require_callable

    paths = AppPaths.from_environment()
    registry, settings = _registry_and_settings(args)
    options = CallOptions(
        tool=args.name,
        arguments=_arguments(args.arguments),
        workspace=args.workspace or current_folder(),
        approval=args.approval,
        sandbox=args.sandbox,
    )
    try:
        require_callable(options, registry, settings)
    except ToolError as error:
        report = CallReport.of_invalid(args.name, error)
    else:
        live = LiveSettings.load(paths.settings_file(), os.environ)
        SettingsWarnings(live, console)()
        mask_warnings(args.environ)
        call = SingleCall(paths, live, options, args.environ)
        report = asyncio.run(run_to_end(call))  # noqa: TID251 - entry point
    is_error = report.result.is_error
    console.result(report.as_json(), "" if is_error else report.result.content)
    if is_error and not console.is_json:
        console.say(f"error: {report.result.content}")
    return report.exit_code


def _arguments(text: str) -> JsonObject:
    """Parse the JSON object in `text`, or for `-` in standard input, as strictly as arguments from a model."""
    from desktop_agent.core.providers.strict_json import read_object

    try:
        return read_object(sys.stdin.buffer.read().decode("utf-8-sig") if text == "-" else text)
    except UnicodeDecodeError as error:
        raise UsageError("The arguments are not UTF-8.", detail=str(error)) from error
    except ValueError as flaw:
        example = 'Give one JSON object, for example \'{"path": "README.md"}\'.'
        raise UsageError(f"The arguments {flaw}.", hint=example) from flaw
