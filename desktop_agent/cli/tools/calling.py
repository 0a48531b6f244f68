"""`desktop-agent tools call`: one call of a tool, as the model would make it, without a model."""

import argparse
import asyncio
import os
import sys

from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.warnings import SettingsWarnings
from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.strict_json import read_object
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.masked_logs import mask_warnings
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.headless.single_call import CallOptions, CallReport, SingleCall


def main(args: argparse.Namespace, console: Console) -> int:
    """Run the call and return the exit code."""
    paths = AppPaths.from_environment()
    registry = ToolRegistry(builtin_tools(paths.cache))
    arguments = _arguments(args.arguments)
    try:
        registry.require(args.name).parse(arguments)
    except ToolError as error:
        return _write(CallReport.of_invalid(args.name, error), console)
    live = LiveSettings.load(paths.settings_file(), os.environ)
    SettingsWarnings(live, console)()
    mask_warnings(args.environ)
    options = CallOptions(
        tool=args.name,
        arguments=arguments,
        workspace=args.workspace or current_folder(),
        approval=args.approval,
        sandbox=args.sandbox,
    )
    call = SingleCall(paths, live, options, environ=args.environ)
    return _write(asyncio.run(run_to_end(call)), console)  # noqa: TID251 - entry point


def _write(report: CallReport, console: Console) -> int:
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
