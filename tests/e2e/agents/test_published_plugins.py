"""Published plugins, skills and sub-agents are loaded as Claude Code loads them. The differences are listed here.

`tests/npm/plugins/package-lock.json` has their versions and hashes. Nothing of them runs: Claude Code is ended once it
has said what it loaded, with its hooks off, and without a `PATH` to start their servers with.
"""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.extensions.agent_files import RoleFolders, listed
from desktop_agent.core.extensions.plugin_store import PluginStore
from desktop_agent.core.extensions.plugins import UnusablePluginError, read_plugin
from desktop_agent.core.extensions.skills import SkillFolders, secret_by_name
from tests.core.extensions.homes import homes_in
from tests.npm.programs import agents_folder, published_plugin

pytestmark = pytest.mark.nightly

PATIENCE_S = 120
FOLDERS: Mapping[str, str] = {
    "@apogeelabs/the-agency": "src/templates/.claude", "@nextsparkjs/ai-workflow": "claude",
    "ai-labs-claude-skills": "dist", "cc-sdd": "templates/agents/claude-code-agent", "claude-code-plugins": "plugins",
}  # fmt: skip
"""Where the plugin is in a package, if it is not at the top."""
PACKAGES = (
    *("@ant-design/x-skill", "@ckelsoe/claude-skill-prompt-architect", "@coo-quack/sensitive-canary", "agent-reviews"),
    *("@houseofwolvesllc/claude-scrum-skill", "@plaited/development-skills", "@torka/claude-qol", "context-mode"),
    *("@torka/claude-workflows", "claude-dev-environment-setup", "design-clone", "ecc-universal", "pinion-os"),
    *("selfish-pipeline", "spring-boot4-skill", *FOLDERS),
)
REFUSED = {"@ckelsoe/claude-skill-prompt-architect", "@torka/claude-qol", "@torka/claude-workflows"}
"""No plugins for either: one is a plain folder of skills, the manifests of two have no name."""
HOOKS = {"@coo-quack/sensitive-canary": 2, "context-mode": 13, "ecc-universal": 27, "selfish-pipeline": 12}
ONLY_OURS: Mapping[str, set[str]] = {
    # Claude Code lists only what the user can call for; these are for the model.
    "selfish-pipeline": {"selfish:analyze", "selfish:clarify", "selfish:tasks"},
}
ONLY_THEIRS: Mapping[str, set[str]] = {
    "@houseofwolvesllc/claude-scrum-skill": {"claude-scrum-skill:project-orchestrate"},  # has more than 64 KiB
    # Without front matter, nothing says what it is for.
    "@nextsparkjs/ai-workflow": {
        "claude:monorepo-architecture", "claude:session-management", "claude:mock-analyst",
    },
    "claude-code-plugins": {"plugins:deep-research-team:agent-overview"},
}  # fmt: skip


class Loaded(Struct, frozen=True):
    names: set[str]
    """The skills, commands and sub-agents, in lower case."""
    servers: set[str]


def folder_of(package: str) -> Path:
    return published_plugin(package) / FOLDERS.get(package, "")


async def told_by_claude(workspace: Path, home: Path, *options: str) -> dict[str, Any]:
    """Return the first message of Claude Code, which says what it has loaded."""
    program = agents_folder("@anthropic-ai/claude-agent-sdk-linux-x64") / "claude"
    environ = {
        "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "claude"), "IS_SANDBOX": "1", "PATH": str(home / "none"),
        "ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }  # fmt: skip
    quiet, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    telling = ("--output-format", "stream-json", "--verbose", "--settings", '{"disableAllHooks": true}')
    process = await asyncio.create_subprocess_exec(
        program, "-p", "Hello", *telling, *options, cwd=workspace, env=environ, stdin=quiet, stdout=pipe, stderr=quiet,
        start_new_session=True, limit=2**24,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            async for line in process.stdout:
                message: dict[str, Any] = json.loads(line)
                if message.get("subtype") == "init":
                    return message
        raise AssertionError("it said nothing")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()


def loaded_by_claude(told: dict[str, Any], prefix: str) -> Loaded:
    listed_names = {name.lower().lstrip(".") for kind in ("slash_commands", "skills", "agents") for name in told[kind]}
    servers = {str(server["name"]).rpartition(":")[2] for server in told["mcp_servers"]}
    return Loaded({name for name in listed_names if name.startswith(prefix)}, servers)


def loaded_by_us(folder: Path) -> tuple[str, Loaded, int]:
    plugin = read_plugin(folder, folder / "data", "person", secret_by_name, {})
    brought = plugin.brought
    names = {name.lower() for name in (*brought.skills, *brought.commands, *brought.agents)}
    servers = {line.partition(":")[0] for line in plugin.server_lines}
    return plugin.name, Loaded(names, servers), len(plugin.hooks)


@pytest.mark.parametrize("package", PACKAGES)
async def test_a_published_plugin_is_loaded_as_by_claude_code(package: str, tmp_path: Path) -> None:
    folder = await asyncio.to_thread(folder_of, package)
    told = await told_by_claude(tmp_path, tmp_path, "--plugin-dir", str(folder))
    theirs = [plugin["name"] for plugin in told["plugins"] if plugin["path"] != "builtin"]
    if package in REFUSED:
        assert theirs == []
        with pytest.raises(UnusablePluginError):
            loaded_by_us(folder)
        return
    name, ours, hooks = loaded_by_us(folder)
    assert [one.lower().lstrip(".") for one in theirs] == [name]
    claude = loaded_by_claude(told, f"{name}:")
    assert ours.names - claude.names == ONLY_OURS.get(package, set())
    assert claude.names - ours.names == ONLY_THEIRS.get(package, set())
    assert ours.servers == claude.servers
    assert ours.names | ours.servers or hooks, "it brings something"
    assert hooks == HOOKS.get(package, 0)


@pytest.mark.parametrize("package", [one for one in PACKAGES if one not in REFUSED])
async def test_a_published_plugin_is_added_as_it_is_and_removed(package: str, tmp_path: Path) -> None:
    store = PluginStore(AppPaths(config=tmp_path, data=tmp_path, cache=tmp_path, logs=tmp_path).plugins, {})
    store.add(await store.stage(str(await asyncio.to_thread(folder_of, package))))
    [added] = store.added()
    assert added.problem == ""
    assert added.digest == added.record.digest
    store.remove(added.folder.name)
    assert not store.added()


PLACED = (
    ("@apogeelabs/the-agency", "src/templates/.claude", ".claude"),
    ("@nextsparkjs/ai-workflow", "claude", ".claude"),
    ("@ckelsoe/claude-skill-prompt-architect", "prompt-architect", ".claude/skills/prompt-architect"),
    ("cc-sdd", "templates/agents/claude-code-agent", ".claude"),
)
"""Folders that these packages put into a project."""
IN_PROJECT_ONLY_OURS: Mapping[str, set[str]] = {"@nextsparkjs/ai-workflow": {"vercel-react-best-practices"}}
"""A skill outside of a plugin has the name that its front matter says; in Claude Code, that of its folder."""
IN_PROJECT_ONLY_THEIRS: Mapping[str, set[str]] = {
    "@nextsparkjs/ai-workflow": {"react-best-practices", "monorepo-architecture", "session-management"}
}


@pytest.mark.parametrize(("package", "source", "place"), PLACED)
async def test_a_published_folder_of_a_project_is_loaded_as_by_claude_code(
    package: str, source: str, place: str, tmp_path: Path
) -> None:
    home, workspace, empty = tmp_path / "home", tmp_path / "work", tmp_path / "empty"
    for folder in (home, workspace / ".git", empty):
        folder.mkdir(parents=True)
    await asyncio.to_thread(shutil.copytree, published_plugin(package) / source, workspace / place)
    without = await told_by_claude(empty, home)
    told = await told_by_claude(workspace, home)
    kinds = ("slash_commands", "skills", "agents")
    known = {name for kind in kinds for name in without[kind]}
    theirs = {name.lower() for kind in kinds for name in told[kind] if name not in known}
    homes = homes_in(home, home / "config")
    skills = {one.name for one in SkillFolders(workspace, homes, lambda: secret_by_name).read() if not one.problem}
    files = RoleFolders(workspace, homes, lambda: secret_by_name).read()
    roles = {one.file.role.name.lower() for one in listed(files, is_trusted=True) if one.state == "ready"}
    assert (skills | roles) - theirs == IN_PROJECT_ONLY_OURS.get(package, set())
    assert theirs - (skills | roles) == IN_PROJECT_ONLY_THEIRS.get(package, set())
