"""`desktop-agent tools`: which tools the model has, what each takes, and calling one without a model."""

import argparse
import asyncio
import json
import os
import sys

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.warnings import ProblemTeller
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import JsonObject, ToolDefinition
from desktop_agent.core.providers.arguments import read_object
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.access import UNAVAILABLE, Access, CallRules
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    registry = ToolRegistry(builtin_tools(AppPaths.from_environment().cache))
    if args.action == "call":
        return _call(registry, args, console)
    bench = Workbench.from_environment()
    settings = bench.settings_in((args.workspace or current_folder()).resolve())
    settings.look()
    definitions = Access(registry, CallRules(), lambda: settings.current.execution.sandbox).definitions()
    if args.action == "list":
        documents = [_document(registry, definition) for definition in definitions]
        rows = [[definition.name, definition.description.splitlines()[0]] for definition in definitions]
        console.result({"tools": documents}, table(rows))
        return 0
    try:
        name = registry.require(args.name).name
    except ToolError as error:
        raise UsageError(str(error)) from error
    wanted = next(definition for definition in definitions if definition.name == name)
    schema = json.dumps(wanted.input_schema, indent=2)
    console.result(_document(registry, wanted), f"{wanted.name}\n\n{wanted.description}\n\n{schema}")
    return 0


def _document(registry: ToolRegistry, definition: ToolDefinition) -> JsonObject:
    tool = registry.get(definition.name)
    assert tool is not None
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "capabilities": list(tool.capabilities),
        "read_only": tool.is_read_only,
        "source": tool.source,
        "available": not definition.description.startswith(UNAVAILABLE),
    }


def _call(registry: ToolRegistry, args: argparse.Namespace, console: Console) -> int:
    arguments = _arguments(args.arguments)
    try:
        registry.require(args.name).parse(arguments)
    except ToolError as error:
        return _tell(CallReport.of_invalid(args.name, error), console)
    paths = AppPaths.from_environment()
    live = LiveSettings.load(paths.settings_file(), os.environ)
    ProblemTeller(live, console)()
    options = CallOptions(
        tool=args.name,
        arguments=arguments,
        workspace=args.workspace or current_folder(),
        approval=args.approval,
        sandbox=args.sandbox,
    )
    call = SingleCall(paths, live, options, environ=args.environ)
    return _tell(asyncio.run(run_to_end(call)), console)  # noqa: TID251 - entry point


def _tell(report: CallReport, console: Console) -> int:
    is_error = report.result.is_error
    console.result(report.as_json(), "" if is_error else report.result.content)
    if is_error and not console.is_json:
        console.say(f"error: {report.result.content}")
    return report.exit_code


def _arguments(text: str) -> JsonObject:
    """Return the JSON object that `text`, or with `-` standard input, is: one that a model could have given, too."""
    try:
        return read_object(sys.stdin.buffer.read().decode("utf-8-sig") if text == "-" else text)
    except UnicodeDecodeError as error:
        raise UsageError("The arguments are not UTF-8.", detail=str(error)) from error
    except ValueError as flaw:
        example = 'Give one JSON object, for example \'{"path": "README.md"}\'.'
        raise UsageError(f"The arguments {flaw}.", hint=example) from flaw
