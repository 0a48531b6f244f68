"""`sessions export` and `sessions import`."""

import argparse
import asyncio

from msgspec.structs import asdict

from desktop_agent.cli.console import Console, size_text
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.export import export_text
from desktop_agent.core.importing.foreign_file import SOURCE_NAMES
from desktop_agent.core.protocol.model import JsonObject

_MAX_NAMED = 20


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the two and return the exit code."""
    bench = Workbench.from_environment()
    if args.action == "export":
        _export(bench, console, args)
    else:
        _import_file(bench, console, args)
    return 0


def _export(bench: Workbench, console: Console, args: argparse.Namespace) -> None:
    """Write a session to standard output or into a file."""
    session_id = bench.catalog.find(args.id)
    if args.output is None:
        if console.is_json:
            raise UsageError("With --json the export needs a file.", hint="Name it with --output F.")
        for piece in export_text(bench.catalog.journal_path(session_id), args.format, bench.blobs):
            console.write_bytes(piece)
        return
    target = args.output.expanduser()
    size = asyncio.run(bench.stored.export(session_id, args.format, target, overwrites=args.force))  # noqa: TID251 - entry point
    document: JsonObject = {"id": session_id, "format": args.format, "path": str(target.absolute()), "size_bytes": size}
    console.result(document, f"{target} ({size_text(size)})")


def _import_file(bench: Workbench, console: Console, args: argparse.Namespace) -> None:
    """Make a session of the file, and say what of it did not come along."""
    file = args.file.expanduser()
    imported = asyncio.run(bench.stored.import_file(file, workspace=args.workspace, is_again=args.again))  # noqa: TID251 - entry point
    document = asdict(imported)
    document["id"] = document.pop("session_id")
    lines = [
        f"{imported.session_id}  {imported.title}",
        f"from {SOURCE_NAMES[imported.source]}: {number_of(imported.turns, 'turn')}, "
        f"{number_of(imported.calls, 'tool call')}",
        f"goes on in {imported.workspace}",
        *(f"left out: {what}" for what in imported.left_out),
        *(f"not read: {problem}" for problem in imported.problems[:_MAX_NAMED]),
    ]
    if len(imported.problems) > _MAX_NAMED:
        lines.append(f"not read: {number_of(len(imported.problems) - _MAX_NAMED, 'more line')}")
    console.result(document, "\n".join(lines))
