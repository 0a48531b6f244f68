"""What folders and plugins bring for the agent: `config trust`, `skills`, `hooks` and `plugins`. Starts nothing."""

import argparse
import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from desktop_agent.cli.config import live_settings
from desktop_agent.cli.console import Console, is_confirmed, table
from desktop_agent.core.agents.definition import AgentDefinitions, read_agents
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, number_of, shortened
from desktop_agent.core.extensions.hook_runs import HookBook, StandingHook
from desktop_agent.core.extensions.hooks import item_of
from desktop_agent.core.extensions.plugin_store import PluginStore, StandingPlugin
from desktop_agent.core.extensions.plugins import Plugin
from desktop_agent.core.extensions.project_items import Extensions, extensions_of
from desktop_agent.core.extensions.skills_in_force import ListedSkill
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.values import shown_value
from desktop_agent.core.settings.workspace_settings import PROJECT_FILE, PROJECT_FOLDER, ProjectItem, ProjectProposal
from desktop_agent.core.system.workspace import current_folder, usable_workspace
from desktop_agent.core.tools.secret_files import finder_of_secrets


def extensions_in(paths: AppPaths, workspace: Path, console: Console | None = None) -> Extensions:
    """Return what a folder has, with settings that know all that the project brings. Blocks."""
    secrets = finder_of_secrets(workspace, os.environ)
    live = live_settings(paths, console)
    store = PluginStore(paths.plugins, os.environ)
    found = extensions_of(workspace, live, paths, os.environ, lambda: secrets().secret_at, store)
    found.settings.look()
    return found


def trust_project(args: argparse.Namespace, console: Console) -> None:
    root = usable_workspace(args.folder or args.workspace or current_folder())
    settings = extensions_in(AppPaths.from_environment(), root, console).settings
    proposal = settings.proposal
    if proposal is None:
        what = f"There is no {PROJECT_FOLDER}/{PROJECT_FILE} in {root}, and no skill, sub-agent, hook or plugin"
        raise UsageError(f"{what}, so there is nothing to trust.")
    if any(problem.is_about_the_file for problem in proposal.problems):
        raise UsageError(f"The project's settings cannot be used: {proposal.problems[0]}")
    if not args.dry_run:
        settings.remember("ignored" if args.ignore else "trusted", proposal.text, proposal.items)
    servers, agents = read_definitions(proposal.tables), read_agents(proposal.tables)
    for problem in (*proposal.problems, *servers.problems, *agents.problems):
        console.say(f"warning: {problem}")
    changes = [
        {"key": change.key, "before": change.before, "after": change.after, "line": change.line}
        for change in proposal.changes
    ]
    answer = settings.answer_to_all
    result: JsonObject = {"path": str(proposal.path), "answer": answer, "changes": changes}
    result["servers"] = [
        {"name": server.name, "runs": server.in_full, "enabled": server.is_enabled} for server in servers.servers
    ]
    result["agents"] = [{"name": agent.name, "runs": agent.in_full} for agent in agents.agents]
    result["items"] = [
        {
            **picked(item, "kind", "name", "detail", "digest"),
            "path": str(item.path),
            "changed": item.key in proposal.changed,
        }
        for item in proposal.items
    ]
    console.result(result, _as_text(proposal, servers, agents, answer))


def _as_text(proposal: ProjectProposal, servers: Definitions, agents: AgentDefinitions, answer: str | None) -> str:
    heads = {
        "trusted": f"{proposal.path} is trusted as it is now. It changes:",
        "ignored": f"{proposal.path} is ignored as it is now. It would change:",
        None: f"{proposal.path} would change:",
    }
    changes = [
        f"  {change.key}: {shown_value(change.before)} -> {shown_value(change.after)}" for change in proposal.changes
    ]
    starts = "lets" if answer == "trusted" else "would let"
    for server in servers.servers:
        off = "" if server.is_enabled else " (switched off)"
        files = _digest_and_change(proposal.files_of("MCP server", server.name), proposal.changed)
        changes.append(f"  {starts} the MCP server {server.name} start: {server.in_full}{off}{files}")
    offers = "offers" if answer == "trusted" else "would offer"
    for agent in agents.agents:
        files = _digest_and_change(proposal.files_of("agent program", agent.name), proposal.changed)
        changes.append(f"  {offers} the agent {agent.name}: {agent.in_full}{files}")
    would = "" if answer == "trusted" else "would "
    others = (item for item in proposal.items if not item.is_files)
    changes += [f"  {would}{_what_it_does(item, proposal.changed)}" for item in others]
    return "\n".join([heads[answer], *(changes or ["  nothing"])])


def _what_it_does(item: ProjectItem, changed: Collection[str]) -> str:
    if item.kind == "import":
        return f"give the model the file {named(item.name)}, which {named(str(item.path))} imports"
    line = f"{'tell the model of' if item.is_text else 'run'} the {item.kind} {named(item.name)}"
    return f"{line}: {named(item.detail)}{_digest_and_change(item, changed)}, from {named(str(item.path))}"


def _digest_and_change(item: ProjectItem | None, changed: Collection[str]) -> str:
    if item is None or not item.digest:
        return ""
    files = f" with {item.detail}" if item.is_files else ""
    since = ", changed since your last answer" if item.key in changed else ""
    return f" (sha256 {item.digest}{files}{since})"


_LONGEST_LINE = 80
_COLUMNS = ("name", "state", "tokens", "place", "description")


def list_skills(args: argparse.Namespace, console: Console) -> None:
    folder = real_path(args.workspace or current_folder())
    skills = extensions_in(AppPaths.from_environment(), folder, console).skills
    found = [each for each in skills.look() if not each.skill.is_ours]
    documents = [_skill(each, trusts_texts=skills.settings.trusts_texts) for each in found]
    rows = [[shortened(named(str(document[column])), 60) for column in _COLUMNS] for document in documents]
    lines = [table(rows)] if rows else ["There are no skills. Put one at .agents/skills/NAME/SKILL.md."]
    lines += [
        f"{named(each.skill.name)}: {named(each.reason)} ({named(str(each.skill.path))})"
        for each in found
        if each.reason
    ]
    if any(each.state == "waiting" for each in found):
        lines.append("Those that wait are not used before you trust the project (`desktop-agent config trust`).")
    console.result({"skills": documents}, "\n".join(lines))


def _skill(found: ListedSkill, *, trusts_texts: bool) -> JsonObject:
    skill = found.skill
    return {
        **picked(skill, "name", "description"),
        **picked(found, "state", "reason"),
        "source": skill.origin,
        "is_trusted": trusts_texts or not skill.needs_trust,
        "place": skill.place,
        "path": str(skill.path),
        "tokens": skill.tokens,
        "for_model": skill.is_for_model,
        "for_user": skill.is_for_user,
    }


def list_hooks(args: argparse.Namespace, console: Console) -> None:
    hooks, problems = _book(args).read()
    rows = [
        (_standing(one), one.hook.name, shortened(named(one.hook.line), _LONGEST_LINE), named(str(one.hook.path)))
        for one in hooks
    ]
    lines = [table(rows)] if rows else ["No hook is defined."]
    if problems:
        lines += ["", "Not used, because of what is wrong with it:", *(named(str(problem)) for problem in problems)]
    if any(one.standing == "waiting" and one.hook.plugin is not None for one in hooks):
        lines += ["", "Those of a plugin wait until you allow it: `desktop-agent plugins list` says how."]
    if any(one.standing == "waiting" and one.hook.plugin is None for one in hooks):
        lines += ["", "Those that wait run once you trust them: `desktop-agent hooks trust`."]
    if any(one.standing == "off" and one.hook.scope == "home" for one in hooks):
        lines += ["", "Those of other programs run with `desktop-agent config set hooks.from_home true`."]
    document: JsonObject = {"hooks": list(map(_hook, hooks)), "problems": list(map(str, problems))}
    console.result(document, "\n".join(lines))


def trust_hooks(args: argparse.Namespace, console: Console) -> None:
    book = _book(args)
    waiting = [one for one in book.read()[0] if one.standing == "waiting" and one.hook.scope == "project"]
    if not waiting:
        raise UsageError("No hook of this project waits for your answer.", hint="`hooks list` shows them all.")
    items = [item_of(one.hook, book.root) for one in waiting]
    if not args.dry_run:
        book.workspace.remember_items("ignored" if args.ignore else "trusted", items)
    verb = "would run" if args.dry_run else "will not run" if args.ignore else "will run"
    lines = [f"{number_of(len(items), 'hook')} of this project {verb}, as you do, outside the sandbox:"]
    lines += [
        f"  {item.name}: {item.detail} (sha256 {item.digest}{_changed(one)}), from {named(str(item.path))}"
        for one, item in zip(waiting, items, strict=True)
    ]
    console.result({"hooks": list(map(_hook, waiting)), "answer": verb}, "\n".join(lines))


def _book(args: argparse.Namespace) -> HookBook:
    root = real_path(args.workspace or current_folder())
    found = extensions_in(AppPaths.from_environment(), root)
    secrets = finder_of_secrets(root, os.environ)
    return HookBook(
        workspace=found.settings,
        plugins=found.plugins,
        environ=os.environ,
        secret_at=lambda path, status: secrets().secret_at(path, status),
    )


def _standing(one: StandingHook) -> str:
    return f"{one.standing}{_changed(one)}"


def _changed(one: StandingHook) -> str:
    return ", changed since your last answer" if one.trust == "changed" else ""


def _hook(one: StandingHook) -> JsonObject:
    hook = one.hook
    return {
        "state": one.standing,
        **picked(one, "trust", "reason"),
        **picked(hook, "event", "matcher", "command", "args", "scope", "dialect", "timeout_s", "is_async"),
        "if": hook.condition,
        "path": str(hook.path),
        "digest": one.digest,
    }


def list_plugins(args: argparse.Namespace, console: Console) -> None:
    found = _plugins_in(args)
    documents = list(map(_plugin, found))
    rows = [[one.name, one.state, _summary(one), shortened(named(str(one.root)), _LONGEST_LINE)] for one in found]
    lines = [table(rows)] if rows else ["There are no plugins. `desktop-agent plugins add SOURCE` shows and adds one."]
    lines += [f"{one.name}: {named(one.reason)}" for one in found if one.reason]
    lines += [f"{one.name}: {line}" for one in found if one.plugin is not None for line in one.plugin.problem_lines]
    if waiting := [one.name for one in found if one.state == "waiting"]:
        lines.append(f"Not used before you trust the project (`desktop-agent config trust`): {', '.join(waiting)}.")
    for one in found:
        if one.state == "changed":
            lines.append(f"{one.name} has changed since you allowed it; see `desktop-agent plugins enable {one.name}`.")
    console.result({"plugins": documents}, "\n".join(lines))


def add_plugin(args: argparse.Namespace, console: Console) -> int:
    store = _store()
    staged = asyncio.run(store.stage(args.source, args.folder))  # noqa: TID251 - entry point
    try:
        lines = _plugin_lines(staged.plugin)
        lines += [f"  left out (leads out of the plugin, or is not a file): {place}" for place in staged.left_out]
        verb = "Update" if staged.replaces else "Add"
        if staged.is_current:
            console.result({**_about_plugin(staged.plugin), "added": False}, f"{staged.plugin.name} is up to date.")
            return 0
        is_added = not args.dry_run and (args.yes or is_confirmed(console, lines, f"{verb} {staged.plugin.name}?"))
        if is_added:
            store.add(staged)
    finally:
        store.discard(staged)
    if not is_added and not args.dry_run:
        console.say("Nothing was changed." if staged.replaces else "Nothing was added.")
        return 1
    done = "updated" if staged.replaces else "added"
    head = f"{staged.plugin.name} is {done}. It brings:" if is_added else f"{staged.plugin.name} would bring:"
    document: JsonObject = {**_about_plugin(staged.plugin), "added": is_added, "left_out": list(staged.left_out)}
    document |= {"source": staged.record.source, "commit": staged.record.commit, "digest": staged.record.digest}
    console.result(document, "\n".join([head, *lines]))
    return 0


def enable_plugin(args: argparse.Namespace, console: Console) -> int:
    one = _plugin_named(args)
    if one.plugin is None:
        raise UsageError(f"{one.name} cannot be used: {one.reason}.")
    if one.record is not None and one.digest != one.record.digest:
        question = f"{one.name} has changed. Allow it as it is now?"
        if not (args.yes or is_confirmed(console, _plugin_lines(one.plugin), question)):
            return 1
        _store().renew(one.name, one.digest)
    _switch(one.name, is_on=True)
    console.result({"name": one.name, "enabled": True}, f"{one.name} is used.")
    return 0


def disable_plugin(args: argparse.Namespace, console: Console) -> None:
    one = _plugin_named(args)
    _switch(one.name, is_on=False)
    console.result({"name": one.name, "enabled": False}, f"{one.name} is not used.")


def remove_plugin(args: argparse.Namespace, console: Console) -> None:
    removed = _store().remove(args.name)
    name = removed.folder.name
    _switch(name, is_on=True)  # another one of this name is not the same
    console.result({"name": name, "removed": True}, f"{name} is removed.")


def _store() -> PluginStore:
    return PluginStore(AppPaths.from_environment().plugins, os.environ)


def _plugins_in(args: argparse.Namespace) -> tuple[StandingPlugin, ...]:
    folder = real_path(args.workspace or current_folder())
    return extensions_in(AppPaths.from_environment(), folder).plugins.look()


def _plugin_named(args: argparse.Namespace) -> StandingPlugin:
    """Return the plugin of the user or of the folder. Raises `UsageError`."""
    for one in _plugins_in(args):
        if one.name == args.name.lower():
            return one
    raise UsageError(f"There is no plugin named {named(args.name)}.", hint="`plugins list` shows them all.")


def _switch(name: str, *, is_on: bool) -> None:
    live = live_settings(AppPaths.from_environment(), None)
    off = live.current.plugins.off
    wanted = [other for other in off if other != name] + ([] if is_on else [name])
    if wanted != list(off):
        live.change_now("plugins.off", wanted)


def _about_plugin(plugin: Plugin) -> JsonObject:
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


def _plugin_lines(plugin: Plugin) -> list[str]:
    """Return what a plugin brings, and in full what it starts."""
    lines = [f"  {plugin.description}"] if plugin.description else []
    lines += [f"  {kind}: {named(', '.join(names))}" for kind, names in plugin.brought.by_kind.items()]
    lines += [f"  runs as you do, outside the sandbox: {line}" for line in plugin.unconfined]
    lines += [f"  runs {line}" for line in plugin.confined]
    return [*lines, *(f"  not used: {line}" for line in plugin.problem_lines)]


def _plugin(one: StandingPlugin) -> JsonObject:
    about: JsonObject = {"name": one.name, "brings": {}, "problems": []}
    if one.plugin is not None:
        about = _about_plugin(one.plugin)
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
