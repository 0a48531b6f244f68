"""What the folders of a workspace and of the user bring, and the one question whether the user trusts the project."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.agent_files import RoleFolders, role_items
from desktop_agent.core.extensions.hooks import hook_items
from desktop_agent.core.extensions.instructions import InstructionReader, UserFolders, outside_imports
from desktop_agent.core.extensions.language_servers import server_items
from desktop_agent.core.extensions.plugin_store import Plugins, PluginStore
from desktop_agent.core.extensions.script_marks import marks_inside
from desktop_agent.core.extensions.skills import SkillFolders, secret_by_name
from desktop_agent.core.extensions.skills_in_force import Skills, SkillUses, skill_items
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import FoundTable
from desktop_agent.core.settings.table_file import pairs_in, text_in, words_in
from desktop_agent.core.settings.workspace_settings import ProjectItem, ProjectTrust, WorkspaceSettings
from desktop_agent.core.system.files import digest_of

FINDERS: tuple[Callable[[Path, SecretAt], Iterable[ProjectItem]], ...] = (
    hook_items,
    server_items,
)
"""Each returns what the project in a folder brings of one kind. It blocks briefly, and never raises."""


_IS_DATA = regex(r"\S+\.(?:db|sqlite3?|duckdb|log)")
"""What a program writes, unless it is the first file that it is given: then it could be the script."""
_KINDS: Mapping[str, Literal["MCP server", "agent program"]] = {
    "mcp.definitions": "MCP server",
    "agents": "agent program",
}


def files_item(table: FoundTable, root: Path) -> ProjectItem | None:
    """Return the files of the project that a server or an agent of its settings runs, if it runs any. Blocks."""
    values = as_object(table.value)
    if table.key not in _KINDS:
        return None
    try:
        name, command, args = text_in(values, "name"), text_in(values, "command"), words_in(values, "args")
        folder, variables = root / text_in(values, "cwd"), pairs_in(values, "env")
    except ValueError:  # then it is not used
        return None
    plain = [place for place, word in enumerate(args) if not word.startswith("-")]
    args = tuple(word for place, word in enumerate(args) if place in plain[:1] or not _IS_DATA.fullmatch(word))
    settings = (f"{variable}={shlex.quote(value)}" for variable, value in variables.items())
    marks = marks_inside(" ".join((*settings, shlex.join((command, *args)))), root, folder, is_wide=True)
    if not marks:
        return None
    facts = [values, [[mark.path, mark.mark] for mark in marks]]
    return ProjectItem(
        kind=_KINDS[table.key],
        name=name,
        path=table.path,
        detail=named(", ".join(mark.path for mark in marks)),
        digest=digest_of(json.dumps(facts, default=str, sort_keys=True).encode(errors="surrogatepass")),
    )


class Extensions(Struct, frozen=True):
    """What one workspace has, with settings whose question about trust covers all that the project brings."""

    settings: WorkspaceSettings
    skills: Skills
    roles: RoleFolders
    plugins: Plugins


def extensions_of(
    root: Path,
    live: LiveSettings,
    paths: AppPaths,
    environ: Mapping[str, str],
    secret_at: Callable[[], SecretAt],
    store: PluginStore,
) -> Extensions:
    """Return what a workspace has.

    Reads nothing yet. `secret_at` returns how to judge the workspace's files, and is called at each look.
    """

    def find_items(root: Path) -> tuple[ProjectItem, ...]:
        others = chain(outside_imports(instructions), *(find(root, secret_at()) for find in FINDERS))
        return (*skill_items(folders.read()), *role_items(roles.read()), *plugins.items(), *others)

    trust = ProjectTrust(paths.project_answers)
    settings = WorkspaceSettings(
        live,
        root,
        trust,
        find_items,
        lambda: plugins.server_tables(),  # noqa: PLW0108 - it is made below
        lambda table: files_item(table, root),
    )
    plugins = Plugins(store, settings, secret_at)
    homes = UserFolders.of(paths.config, environ)

    def secrets_in(folder: Path) -> SecretAt:
        return secret_at() if folder == root else secret_by_name

    instructions = InstructionReader(root, homes, secrets_in, lambda _: False)
    folders = SkillFolders(root, homes, secret_at, plugins.skill_sources)
    roles = RoleFolders(root, homes, secret_at, plugins.role_sources)
    skills = Skills(folders, settings, SkillUses(paths.data / "skill-uses.json"))
    return Extensions(settings, skills, roles, plugins)
