"""`desktop-agent config`: the settings in force, their sources, and changing them."""

import argparse
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from desktop_agent.cli.console import Console
from desktop_agent.core.base.errors import UnsafeSettingsError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
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
    ProjectTrust,
    WorkspaceSettings,
)
from desktop_agent.core.system.workspace import current_folder


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
    settings = WorkspaceSettings(live_settings(paths, console), workspace, ProjectTrust(paths.project_answers))
    settings.look()
    return settings


def live_settings(paths: AppPaths, console: Console | None) -> LiveSettings:
    live = LiveSettings.load(paths.settings_file(), os.environ)
    if console is not None:
        SettingsWarnings(live, console)()
    return live


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
        lines += ["", f"Not used before you trust the project as it is now (`desktop-agent config trust`): {names}."]
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
