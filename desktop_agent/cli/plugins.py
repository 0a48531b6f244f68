"""`desktop-agent plugins`: shows plugins with what they bring and start, and adds, switches and removes them."""

import argparse
import asyncio
import os

from desktop_agent.cli.config import live_settings
from desktop_agent.cli.console import Console, is_confirmed, table
from desktop_agent.cli.extensions import extensions_in
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.plugin_store import PluginStore, StandingPlugin
from desktop_agent.core.extensions.plugins import Plugin
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.workspace import current_folder


def list_plugins(args: argparse.Namespace, console: Console) -> None:
    found = _look(args)
    documents = list(map(_document, found))
    rows = [[one.name, one.state, _summary(one), shortened(named(str(one.root)), 80)] for one in found]
    lines = [table(rows)] if rows else ["There are no plugins. `desktop-agent plugins add SOURCE` shows and adds one."]
    lines += [f"{one.name}: {named(one.reason)}" for one in found if one.reason]
    lines += [f"{one.name}: {line}" for one in found if one.plugin is not None for line in one.plugin.problem_lines]
    if waiting := [one.name for one in found if one.state == "waiting"]:
        lines.append(f"Not used before you trust the project (`desktop-agent config trust`): {', '.join(waiting)}.")
    for one in found:
        if one.state == "changed":
            lines.append(f"{one.name} has changed since you allowed it; see `desktop-agent plugins enable {one.name}`.")
    console.result({"plugins": documents}, "\n".join(lines))


def add(args: argparse.Namespace, console: Console) -> int:
    store = _store()
    staged = asyncio.run(store.stage(args.source, args.folder))  # noqa: TID251 - entry point
    try:
        lines = _lines(staged.plugin)
        lines += [f"  left out (leads out of the plugin, or is not a file): {place}" for place in staged.left_out]
        is_added = not args.dry_run and (args.yes or is_confirmed(console, lines, f"Add {staged.plugin.name}?"))
        if is_added:
            store.add(staged)
    finally:
        store.discard(staged)
    if not is_added and not args.dry_run:
        console.say("Nothing was added.")
        return 1
    head = f"{staged.plugin.name} is added. It brings:" if is_added else f"{staged.plugin.name} would bring:"
    document: JsonObject = {**_about(staged.plugin), "added": is_added, "left_out": list(staged.left_out)}
    document |= {"source": staged.record.source, "commit": staged.record.commit, "digest": staged.record.digest}
    console.result(document, "\n".join([head, *lines]))
    return 0


def enable(args: argparse.Namespace, console: Console) -> int:
    one = _named(args)
    if one.plugin is None:
        raise UsageError(f"{one.name} cannot be used: {one.reason}.")
    if one.record is not None and one.digest != one.record.digest:
        question = f"{one.name} has changed. Allow it as it is now?"
        if not (args.yes or is_confirmed(console, _lines(one.plugin), question)):
            return 1
        _store().renew(one.name, one.digest)
    _switch(one.name, is_on=True)
    console.result({"name": one.name, "enabled": True}, f"{one.name} is used.")
    return 0


def disable(args: argparse.Namespace, console: Console) -> None:
    one = _named(args)
    _switch(one.name, is_on=False)
    console.result({"name": one.name, "enabled": False}, f"{one.name} is not used.")


def remove(args: argparse.Namespace, console: Console) -> None:
    removed = _store().remove(args.name)
    name = removed.folder.name
    _switch(name, is_on=True)  # another one of this name is not the same
    console.result({"name": name, "removed": True}, f"{name} is removed.")


def _store() -> PluginStore:
    return PluginStore(AppPaths.from_environment().plugins, os.environ)


def _look(args: argparse.Namespace) -> tuple[StandingPlugin, ...]:
    folder = real_path(args.workspace or current_folder())
    return extensions_in(AppPaths.from_environment(), folder).plugins.look()


def _named(args: argparse.Namespace) -> StandingPlugin:
    """Return the plugin of the user or of the folder. Raises `UsageError`."""
    for one in _look(args):
        if one.name == args.name.lower():
            return one
    raise UsageError(f"There is no plugin named {named(args.name)}.", hint="`plugins list` shows them all.")


def _switch(name: str, *, is_on: bool) -> None:
    live = live_settings(AppPaths.from_environment(), None)
    off = live.current.plugins.off
    wanted = [other for other in off if other != name] + ([] if is_on else [name])
    if wanted != list(off):
        live.change_now("plugins.off", wanted)


def _about(plugin: Plugin) -> JsonObject:
    brought = plugin.brought
    return {
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "form": plugin.form,
        "brings": {
            "skills": list(brought.skills),
            "commands": list(brought.commands),
            "agents": list(brought.agents),
            "hooks": [f"{hook.name}: {named(hook.line)}" for hook in plugin.hooks],
            "servers": list(plugin.server_lines),
            "language_servers": [f"{one.name}: {one.shown}" for one in plugin.language_servers],
        },
        "problems": list(plugin.problem_lines),
    }


def _lines(plugin: Plugin) -> list[str]:
    """Return what a plugin brings, and in full what it starts."""
    lines = [f"  {plugin.description}"] if plugin.description else []
    lines += [f"  {kind}: {named(', '.join(names))}" for kind, names in plugin.brought.by_kind.items()]
    lines += [f"  runs as you do, outside the sandbox: {line}" for line in plugin.unconfined]
    lines += [f"  runs {line}" for line in plugin.confined]
    return [*lines, *(f"  not used: {line}" for line in plugin.problem_lines)]


def _document(one: StandingPlugin) -> JsonObject:
    about: JsonObject = {"name": one.name, "brings": {}, "problems": []}
    if one.plugin is not None:
        about = _about(one.plugin)
    record = one.record
    return {
        **about,
        "path": str(one.root),
        "state": one.state,
        "is_enabled": one.state == "on",
        "reason": one.reason,
        "origin": "project" if record is None else "person",
        "source": record.source if record is not None else "",
        "commit": record.commit if record is not None else "",
        "digest": one.digest,
    }


def _summary(one: StandingPlugin) -> str:
    if one.plugin is None:
        return ""
    plugin = one.plugin
    programs = {"hooks": plugin.hooks, "servers": plugin.servers, "language servers": plugin.language_servers}
    return ", ".join(f"{len(found)} {kind}" for kind, found in (plugin.brought.by_kind | programs).items() if found)
