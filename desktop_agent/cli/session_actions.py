"""`desktop-agent sessions search`, `export`, `import`, `fork`, `rename`, `archive`, `pin` and `delete`."""

import argparse
import asyncio

from msgspec.structs import asdict

from desktop_agent.cli.console import Console, is_confirmed, size_text
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.export import export_text
from desktop_agent.core.importing.conversation import SOURCE_NAMES
from desktop_agent.core.protocol.events import SessionArchived, SessionPinned, SessionRenamed
from desktop_agent.core.protocol.model import JsonObject, SearchHit, SearchQuery
from desktop_agent.core.store.session_upkeep import Filing


def search(args: argparse.Namespace, console: Console) -> None:
    bench = Workbench.from_environment()
    query = SearchQuery(
        text=args.text,
        workspace=str(real_path(args.workspace.expanduser())) if args.workspace is not None else "",
        since=args.since,
        until=args.until,
        file=args.file,
        tool=args.tool,
        kind=args.kind,
    )
    if not bench.search.is_current:
        console.say("Reading what is new…")
        try:
            bench.search.update()
        except StorageError as error:
            console.say(f"warning: {error.title} {error.hint}")
    hits = bench.search.ask(query, args.limit)
    titles = {item.id: item.title for item in bench.catalog.summaries()} if hits else {}
    documents = [
        asdict(hit)
        | {"at": hit.at.isoformat(), "marks": [*map(list, hit.marks)], "title": titles.get(hit.session_id, "")}
        for hit in hits
    ]
    console.result({"hits": documents}, _hits_text(hits, titles) or "Nothing was found.")


def _hits_text(hits: list[SearchHit], titles: dict[str, str]) -> str:
    lines: list[str] = []
    session_id = ""
    for hit in hits:
        if hit.session_id != session_id:
            session_id = hit.session_id
            lines += ["", f"{session_id}  {titles.get(session_id, '')}".rstrip()]
        about = " ".join(filter(None, (hit.kind, hit.tool, hit.file)))
        lines.append(f"  {hit.at.astimezone():%Y-%m-%d %H:%M}  turn {hit.turn}  {about}")
        lines.append(f"    {hit.snippet}")
    return "\n".join(lines).lstrip("\n")


_MAX_NAMED = 20


def export_session(args: argparse.Namespace, console: Console) -> None:
    bench = Workbench.from_environment()
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


def import_session(args: argparse.Namespace, console: Console) -> None:
    bench, file = Workbench.from_environment(), args.file.expanduser()
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


def fork(args: argparse.Namespace, console: Console) -> None:
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    copy = asyncio.run(bench.stored.fork(session_id, before_turn=args.before_turn))  # noqa: TID251 - entry point
    console.result({"id": copy, "source": session_id, "before_turn": args.before_turn}, copy)


def rename(args: argparse.Namespace, console: Console) -> None:
    title = " ".join(args.title.split())
    if not title:
        raise UsageError("A title needs at least one letter.")
    _file(args, SessionRenamed(title=title), console, {"title": title})


def archive(args: argparse.Namespace, console: Console) -> None:
    _file(args, SessionArchived(is_archived=not args.undo), console, {"archived": not args.undo})


def pin(args: argparse.Namespace, console: Console) -> None:
    _file(args, SessionPinned(is_pinned=not args.undo), console, {"pinned": not args.undo})


def _file(args: argparse.Namespace, event: Filing, console: Console, document: JsonObject) -> None:
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    asyncio.run(bench.stored.file(session_id, event))  # noqa: TID251 - entry point
    console.result({"id": session_id, **document}, "")


def delete(args: argparse.Namespace, console: Console) -> int:
    bench = Workbench.from_environment()
    session_id = bench.catalog.find(args.id)
    return asyncio.run(_delete(bench, console, session_id, is_certain=args.yes))  # noqa: TID251 - entry point


async def _delete(bench: Workbench, console: Console, session_id: SessionId, *, is_certain: bool) -> int:
    if not is_certain:
        summary, size = await asyncio.to_thread(bench.catalog.summary, session_id), await bench.stored.size(session_id)
        title, own = summary.title if summary is not None else session_id, size.journal_bytes + size.own_bytes
        lines = [f"“{title}” with {size_text(own)} and its undo history will be deleted."]
        lines += ["Files of the workspace stay as they are."]
        if not await asyncio.to_thread(is_confirmed, console, lines, "Delete it?"):
            console.say("Nothing was deleted.")
            return 1
    await bench.stored.delete(session_id)
    console.result({"id": session_id, "deleted": True}, "")
    return 0
