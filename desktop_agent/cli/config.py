"""`desktop-agent config`: the settings in force, their sources, and changing them."""

import argparse
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from desktop_agent.cli.console import Console
from desktop_agent.core.agents.definition import AgentDefinitions, read_agents
from desktop_agent.core.base.errors import UnsafeSettingsError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.live_settings import LiveSettings, SettingChange
from desktop_agent.core.settings.loading import FoundTable, LoadedSettings
from desktop_agent.core.settings.model_choice import left_behind
from desktop_agent.core.settings.values import (
    Setting,
    declared_section,
    declared_settings,
    read_value,
    setting_values,
    shown_value,
)
from desktop_agent.core.settings.workspace_settings import (
    PROJECT_FILE,
    PROJECT_FOLDER,
    ProjectItem,
    ProjectProposal,
    ProjectTrust,
    WorkspaceSettings,
)
from desktop_agent.core.system.workspace import current_folder, usable_workspace


class SettingsWarnings:
    """Prints the problems of the settings file. Call it whenever the settings may have changed."""

    def __init__(self, live: LiveSettings, console: Console) -> None:
        self._live = live
        self._console = console
        self._printed: set[str] = set()

    def __call__(self) -> None:
        """Print the new problems, but not faults: the command that refuses to run prints these as errors."""
        faults = self._live.faults
        problems = [str(problem) for problem in self._live.problems if problem not in faults]
        for problem in problems:
            if problem not in self._printed:
                self._console.say(f"warning: {problem}")
        self._printed = set(problems)


def warn_of_project(settings: WorkspaceSettings, console: Console) -> None:
    """Print that a project brings what the user has not trusted yet, and what to do about it. Blocks."""
    settings.look()
    proposal = settings.proposal
    if proposal is not None and settings.is_waiting:
        console.say(
            f"warning: {proposal.path}: the project's {' and '.join(proposal.brings)} are not trusted, so they do not "
            "hold. `desktop-agent config trust` shows and trusts them."
        )


def settings_in(paths: AppPaths, workspace: Path, console: Console | None = None) -> WorkspaceSettings:
    """Return the settings that apply in a folder, with warnings of problems on the console. Blocks."""
    live = LiveSettings.load(paths.settings_file(), os.environ)
    if console is not None:
        SettingsWarnings(live, console)()
    settings = WorkspaceSettings(live, workspace, ProjectTrust(paths.project_answers))
    settings.look()
    return settings


def unread_files(settings: WorkspaceSettings, key: str) -> list[str]:
    """Return the problems with whole files or the list `key`, because of which some of its tables are missing."""
    proposal = settings.proposal
    unanswered = proposal.problems if proposal is not None and settings.answer is None else ()
    places = (key, key.partition(".")[0])
    problems = (*settings.loaded.problems, *unanswered)
    return [str(problem) for problem in problems if problem.is_about_the_file or problem.key in places]


def tables_waiting_for_trust(settings: WorkspaceSettings) -> tuple[FoundTable, ...]:
    """Return the tables of a project's file that the user has neither trusted nor ignored."""
    proposal = settings.proposal
    return proposal.tables if proposal is not None and settings.answer is None else ()


def lines_about_unused(problems: Sequence[str], waiting: Sequence[str]) -> list[str]:
    lines = ["", "Not used, because of what is wrong with it:", *problems] if problems else []
    if waiting:
        names = ", ".join(waiting)
        lines += ["", f"Not used before you trust the project's settings (`desktop-agent config trust`): {names}."]
    return lines


def show_path(_args: argparse.Namespace, console: Console) -> None:
    path = str(AppPaths.from_environment().settings_file())
    console.result({"path": path}, path)


def show_settings(args: argparse.Namespace, console: Console) -> None:
    loaded, path, wanted = _loaded(args, console), AppPaths.from_environment().settings_file(), args.section
    documents = {
        key: _document(loaded, key)
        for key in declared_settings()
        if wanted is None or f"{key}.".startswith(f"{wanted}.")
    }
    if not documents:
        sections = ", ".join(dict.fromkeys(setting.section for setting in declared_settings().values()))
        raise UsageError(f"There is no section {wanted!r}.", hint=f"Sections: {sections}.")
    lines = [f"# {path}"]
    section = ""
    for key, document in documents.items():
        setting = declared_settings()[key]
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]  # {declared_section(section).text}"]
        lines.append(_line(setting, setting_values(loaded.settings)[key], document))
    nested: JsonObject = {}
    for key, value in setting_values(loaded.settings).items():
        if key in documents:
            _put(nested, key.split("."), value)
    result: JsonObject = {"path": str(path), "settings": nested, "details": list(documents.values())}
    console.result(result, "\n".join(lines))


def show_setting(args: argparse.Namespace, console: Console) -> None:
    loaded, key = _loaded(args, console), args.key
    values = setting_values(loaded.settings)
    if key not in values:
        raise UsageError(f"There is no setting {key!r}.", hint=f"Known settings: {', '.join(values)}.")
    value = values[key]
    console.result(_document(loaded, key), value if isinstance(value, str) else shown_value(value))


def _loaded(args: argparse.Namespace, console: Console) -> LoadedSettings:
    root = real_path(args.workspace or current_folder())
    settings = settings_in(AppPaths.from_environment(), root, console)
    warn_of_project(settings, console)
    if settings.faults:
        raise UnsafeSettingsError(settings.faults)
    return settings.loaded


def change_setting(args: argparse.Namespace, console: Console) -> None:
    path, key = AppPaths.from_environment().settings_file(), args.key
    live = LiveSettings.load(path, os.environ)
    behind = left_behind(live.loaded, args.value) if key == "model.provider" else ()
    change = live.change_now(key, read_value(args.value))
    for other in behind:
        console.say(f"warning: {other} was written for another provider; `desktop-agent config reset {other}` drops it")
    text = f"{key} = {shown_value(change.after)} in {path}"
    if change.overridden_by is not None:
        text = f"{key} is set in {path}; {_in_force(change)}"
    _tell_changed(change, path, text, args, console)


def reset_setting(args: argparse.Namespace, console: Console) -> None:
    path = AppPaths.from_environment().settings_file()
    change = LiveSettings.load(path, os.environ).reset_now(args.key)
    _tell_changed(change, path, f"{args.key} is no longer in {path}; {_in_force(change)}", args, console)


def _tell_changed(change: SettingChange, path: Path, text: str, args: argparse.Namespace, console: Console) -> None:
    if change.overridden_by is not None:
        console.say(f"warning: the environment variable {change.overridden_by} takes precedence over the settings file")
    console.result({"key": args.key, "value": change.after, "path": str(path)}, text)


def _in_force(change: SettingChange) -> str:
    return f"in force is {shown_value(change.after) or 'nothing'}"


def trust(args: argparse.Namespace, console: Console) -> None:
    root = usable_workspace(args.folder or args.workspace or current_folder())
    settings = settings_in(AppPaths.from_environment(), root, console)
    proposal = settings.proposal
    if proposal is None:
        raise UsageError(f"There is no {PROJECT_FOLDER}/{PROJECT_FILE} in {root}, so there is nothing to trust.")
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
        {**picked(item, "kind", "name", "detail", "digest"), "path": str(item.path)} for item in proposal.items
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
        changes.append(f"  {starts} the MCP server {server.name} start: {server.in_full}{off}")
    offers = "offers" if answer == "trusted" else "would offer"
    changes += [f"  {offers} the agent {agent.name}: {agent.in_full}" for agent in agents.agents]
    changes += [_item_line(item, is_trusted=answer == "trusted") for item in proposal.items]
    return "\n".join([heads[answer], *(changes or ["  nothing"])])


def _item_line(item: ProjectItem, *, is_trusted: bool) -> str:
    would = "" if is_trusted else "would "
    if item.kind == "import":
        return f"  {would}give the model the file {named(item.name)}, which {named(str(item.path))} imports"
    line = f"  {would}{'tell the model of' if item.is_text else 'run'} the {item.kind} {named(item.name)}"
    digest = f" (sha256 {item.digest})" if item.digest else ""
    return f"{line}: {named(item.detail)}{digest}, from {named(str(item.path))}"


def _document(loaded: LoadedSettings, key: str) -> JsonObject:
    setting, source = declared_settings()[key], loaded.sources.get(key)
    return {
        "key": key,
        "value": setting_values(loaded.settings)[key],
        "default": setting.default,
        "source": source.kind if source else "default",
        "place": str(source) if source else None,
        "title": setting.about.title,
        "description": setting.about.text,
        "allowed": setting.allowed,
        "holds_from": setting.about.effect,
    }


def _line(setting: Setting, value: object, document: Mapping[str, object]) -> str:
    name = setting.key.rpartition(".")[2]
    assignment = (
        f"{name} = {shown_value(value)}" if value is not None else f"# {name} is not set: {setting.about.unset}"
    )
    place = document["place"] or "default"
    wrapped = textwrap.wrap(f"{setting.about.text} Allowed: {setting.allowed}.", 100)
    comments = "\n".join(f"# {line}" for line in wrapped)
    return f"{comments}\n{assignment}  # {place}\n"


def _put(target: JsonObject, keys: list[str], value: object) -> None:
    first, *rest = keys
    if not rest:
        target[first] = value
        return
    _put(cast("JsonObject", target.setdefault(first, {})), rest, value)
