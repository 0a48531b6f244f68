"""`desktop-agent agents`: shows which agents of other programs are defined or installed; defines and removes them."""

import argparse
import os
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.cli.config import lines_about_unused, live_settings, tables_waiting_for_trust, unread_files
from desktop_agent.cli.console import Console, table, typed_secret
from desktop_agent.core.agents.definition import (
    LIST,
    AgentDefinition,
    FoundAgent,
    add_agents,
    agent_in,
    agent_known,
    look_for_agents,
    read_agents,
    remove_agent,
)
from desktop_agent.core.agents.installed import known_agent
from desktop_agent.core.agents.new_agents import agent_of_registry, agents_of_zed, zed_settings
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.agent_files import ListedRole, listed
from desktop_agent.core.extensions.plugin_store import PluginStore
from desktop_agent.core.extensions.project_items import extensions_of
from desktop_agent.core.extensions.skills import secret_by_name
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.workspace import current_folder


def list_agents(args: argparse.Namespace, console: Console) -> None:
    paths, root = AppPaths.from_environment(), real_path(args.workspace or current_folder())
    live, store = live_settings(paths, None), PluginStore(paths.plugins, os.environ)
    extensions = extensions_of(root, live, paths, os.environ, lambda: secret_by_name, store)
    settings, roles = extensions.settings, extensions.roles.read()
    settings.look()
    found = read_agents(settings.loaded.tables)
    here = look_for_agents(found.agents, os.environ, settings.root)
    documents = [_document(one) for one in here.agents]
    missing: list[JsonObject] = [picked(known, "name", "title", "install") for known in here.not_installed]
    problems = [*unread_files(settings, LIST), *map(str, found.problems)]
    waiting = [agent.name for agent in read_agents(tables_waiting_for_trust(settings)).agents]
    columns = ("name", "state", "defined_by", "confinement", "command")
    rows = [[str(document[column]) for column in columns] for document in documents]
    lines = [table(rows)] if rows else ["No agent is defined, and none of those known by name is installed."]
    lines += [str(document["reason"]) for document in documents if document["reason"]]
    if missing:
        lines += ["", "Known, but not installed:", table([(str(one["title"]), str(one["install"])) for one in missing])]
    lines += lines_about_unused(problems, waiting)
    subs = [_role(one) for one in listed(roles, is_trusted=settings.trusts_texts)]
    if subs:
        rows = [[shortened(str(one[key]), 80) for key in _OF_ROLES] for one in subs]
        lines += ["", "Roles of sub-agents:", table(rows)]
    document: JsonObject = {"agents": [*documents, *subs], "not_installed": missing}
    console.result(document | {"problems": problems, "waiting_for_trust": waiting}, "\n".join(lines))


_OF_ROLES = ("name", "state", "command", "reason")


def _role(found: ListedRole) -> JsonObject:
    file = found.file
    return {
        "name": named(file.role.name),
        "kind": "sub",
        "command": named(str(file.path)),
        "state": found.state,
        "reason": named(found.reason),
        "description": named(file.role.description),
    }


def _document(found: FoundAgent) -> JsonObject:
    agent = found.definition
    return {
        "name": agent.name,
        "kind": "acp",
        "command": agent.where,
        "state": "program not found" if found.missing else "starts when needed",
        "reason": f"{agent.name}: there is no program {found.missing!r}." if found.missing else "",
        "defined_by": agent.defined_by if found.is_defined else "installed",
        "confinement": "not confined" if agent.sandbox is None else f"sandbox: {agent.sandbox}",
        "hosts": list(agent.hosts),
        "mode": agent.mode,
    }


def add(args: argparse.Namespace, console: Console) -> None:
    if args.from_zed + bool(args.file) + bool(args.command_line) > 1:
        raise UsageError("An agent needs a command, --from-zed or --from, and only one of them.")
    workspace = real_path(args.workspace or current_folder())
    problems: tuple[tuple[str, str], ...] = ()
    archive = ""
    if args.from_zed:
        agents, problems = _of_zed(args)
    else:
        agent, archive = agent_of_registry(args.file, args.name or "") if args.file else (_named(args, workspace), "")
        agents = (_with_options(agent, args),)
    from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring  # with what a sign-in needs

    refused = add_agents(_settings_file(), agents, ServerKeyring(tell=console.say))
    left_out = [f"{name}: {why}" for name, why in (*problems, *refused)]
    added = [agent for agent in agents if agent.name not in dict(refused)]
    documents = [_document(one) for one in look_for_agents(added, os.environ, workspace).agents if one.is_defined]
    lines = [f"{agent.name} is defined. {agent.confinement}" for agent in added]
    lines += [str(document["reason"]) for document in documents if document["reason"]]
    lines += [f"It is in {archive}: unpack it, and put the program on your PATH."] if archive else []
    lines += [f"Left out: {problem}" for problem in left_out]
    console.result({"agents": documents, "problems": left_out}, "\n".join(lines) or "Zed has no such agent.")


def _of_zed(args: argparse.Namespace) -> tuple[tuple[AgentDefinition, ...], tuple[tuple[str, str], ...]]:
    if any((args.env, args.secret, args.sandbox, args.hosts, args.mode)):
        raise UsageError("--from-zed takes the agents as Zed has them.", hint="Change them in the settings afterwards.")
    agents, problems = agents_of_zed(zed_settings(os.environ))
    return tuple(agent for agent in agents if args.name in (None, agent.name)), problems


def _named(args: argparse.Namespace, workspace: Path) -> AgentDefinition:
    name, words = args.name, args.command_line
    if name is None:
        raise UsageError("The agent has no name.", hint="For example: desktop-agent agents add mine -- my-agent --acp")
    if words:
        return AgentDefinition(name=name, command=words[0], args=tuple(words[1:]))
    if (known := known_agent(name)) is None:
        raise UsageError("Give the agent's command line, after --.", hint="`agents list` shows those known by name.")
    return agent_known(known, os.environ, workspace)


def _with_options(agent: AgentDefinition, args: argparse.Namespace) -> AgentDefinition:
    options = {"sandbox": args.sandbox, "hosts": args.hosts, "mode": args.mode, "env": args.env, "secrets": args.secret}
    given = {key: value for key, value in options.items() if value}
    try:
        made = agent_in({"name": agent.name, "command": agent.command, "args": list(agent.args), **given})
    except ValueError as error:
        raise UsageError(f"The agent cannot be defined like this: {error}.") from error
    missing = UsageError("No secret was given.", hint="Type it at the prompt, or pipe in one a line.")
    secrets = {name: typed_secret(f"{name}: ", missing) for name in made.secrets}
    return replace(made, env={**agent.env, **made.env, **secrets})


def remove(args: argparse.Namespace, console: Console) -> None:
    from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring

    remove_agent(_settings_file(), args.name, ServerKeyring(tell=console.say))
    console.result({"name": args.name, "removed": True}, f"{args.name} is no longer defined.")


def _settings_file() -> Path:
    return AppPaths.from_environment().settings_file()
