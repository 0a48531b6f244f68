"""`desktop-agent sessions search`: places in all sessions where something was said or done."""

import argparse

from msgspec import structs

from desktop_agent.cli.console import Console
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.protocol.model import JsonObject, SearchHit, SearchQuery


def main(args: argparse.Namespace, console: Console) -> int:
    """Take in what is new, ask, and print what was found, the newest first."""
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
    document: JsonObject = {"hits": [_as_json(hit, titles.get(hit.session_id, "")) for hit in hits]}
    console.result(document, _text(hits, titles) or "Nothing was found.")
    return 0


def _text(hits: list[SearchHit], titles: dict[str, str]) -> str:
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


def _as_json(hit: SearchHit, title: str) -> JsonObject:
    marks = [list(mark) for mark in hit.marks]
    return {**structs.asdict(hit), "at": hit.at.isoformat(), "marks": marks, "title": title}
