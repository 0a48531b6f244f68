"""What a project brings beside its files: `config trust`, which shows and trusts it, and `skills list`."""

import argparse
import os
from collections.abc import Collection
from pathlib import Path

from desktop_agent.cli.config import live_settings
from desktop_agent.cli.console import Console, table
from desktop_agent.core.agents.definition import AgentDefinitions, read_agents
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.plugin_store import PluginStore
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


def trust(args: argparse.Namespace, console: Console) -> None:
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
        files = proposal.files_of(server.name)
        mark = f" ({_digest(files, proposal.changed)})" if files is not None else ""
        changes.append(f"  {starts} the MCP server {server.name} start: {server.in_full}{off}{mark}")
    offers = "offers" if answer == "trusted" else "would offer"
    changes += [f"  {offers} the agent {agent.name}: {agent.in_full}" for agent in agents.agents]
    would = "" if answer == "trusted" else "would "
    others = (item for item in proposal.items if item.kind != "MCP server")
    changes += [f"  {would}{_what_it_does(item, proposal.changed)}" for item in others]
    return "\n".join([heads[answer], *(changes or ["  nothing"])])


def _what_it_does(item: ProjectItem, changed: Collection[str]) -> str:
    if item.kind == "import":
        return f"give the model the file {named(item.name)}, which {named(str(item.path))} imports"
    line = f"{'tell the model of' if item.is_text else 'run'} the {item.kind} {named(item.name)}"
    digest = f" ({_digest(item, changed)})" if item.digest else ""
    return f"{line}: {named(item.detail)}{digest}, from {named(str(item.path))}"


def _digest(item: ProjectItem, changed: Collection[str]) -> str:
    files = f" with {item.detail}" if item.kind == "MCP server" else ""
    since = ", changed since your last answer" if item.key in changed else ""
    return f"sha256 {item.digest}{files}{since}"


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
