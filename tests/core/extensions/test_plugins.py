"""Plugins are read in both forms, copied as they were shown, and start nothing once they have changed."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.extensions.plugin_store import PluginStore, StandingPlugin
from desktop_agent.core.extensions.plugins import Plugin, UnusablePluginError, read_plugin
from desktop_agent.core.extensions.project_items import Extensions, extensions_of
from desktop_agent.core.extensions.skills import secret_by_name
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import PluginsSettings, Settings
from tests.core.extensions.plugin_folders import SKILL, agent_plugin, claude_plugin, put
from tests.git import git
from tests.harness import Ground

LOOK = Call("run_terminal_cmd", {"command": "echo seen"})
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


def plugin_in(folder: Path, environ: dict[str, str] | None = None) -> Plugin:
    return read_plugin(folder, folder.parent / "data", "person", secret_by_name, environ or {})


def problems_of(plugin: Plugin) -> str:
    return "\n".join(plugin.problem_lines)


class House:
    """An application's folders, and a workspace in it."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        home = folder / "home"
        self.paths = AppPaths(config=home / "c", data=home / "d", cache=home / "x", logs=home / "l")
        self.store = PluginStore(self.paths.plugins, {"TEAM": "blue"})
        self.root = root or folder / "work"
        self.root.mkdir(exist_ok=True)
        self.extensions = self.with_settings(Settings())

    def with_settings(self, settings: Settings) -> Extensions:
        live = LiveSettings(settings)
        self.extensions = extensions_of(self.root, live, self.paths, {}, lambda: secret_by_name, self.store)
        return self.extensions

    async def add(self, source: Path | str, inside: str = "") -> None:
        self.store.add(await self.store.stage(str(source), inside))

    def look(self) -> StandingPlugin:
        self.extensions.settings.look()
        [standing] = self.extensions.plugins.look()
        return standing

    @property
    def skills(self) -> list[str]:
        self.extensions.settings.look()
        return [one.skill.name for one in self.extensions.skills.look() if one.state == "on"]

    @property
    def servers(self) -> list[str]:
        self.extensions.settings.look()
        return [server.name for server in used_definitions(self.extensions.settings).servers]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


# --- reading ------------------------------------------------------------------------------------------------------


def test_a_plugin_of_claude_code_brings_all_that_its_folders_hold(tmp_path: Path) -> None:
    checks = {"command": "${CLAUDE_PLUGIN_ROOT}/check", "args": ["--stdio"], "extensionToLanguage": {".x": "x"}}
    checks |= {"env": {"OPTIONS": "--require ./x"}}
    plugin = plugin_in(claude_plugin(tmp_path / "p", {".lsp.json": {"x": checks}}))

    brought = plugin.brought
    assert (plugin.name, plugin.version, plugin.description, plugin.form) == ("demo", "1.0", "A demo", "claude")
    assert (brought.skills, brought.commands) == (("demo:review",), ("demo:git:commit",))
    assert brought.agents == ("demo:helper",)
    assert plugin.starts == (
        'hook PreToolUse (Bash): "${CLAUDE_PLUGIN_ROOT}"/check.sh',
        "server notes: python3 '${CLAUDE_PLUGIN_ROOT}/server.py'",
        "language server x, in the sandbox: OPTIONS='--require ./x' '${CLAUDE_PLUGIN_ROOT}/check' --stdio",
    )
    (checker,) = plugin.checkers
    assert (checker.command, checker.read_folders) == (f"{plugin.root}/check", (str(plugin.root),))
    assert not plugin.problems


def test_a_plugin_of_the_open_form_brings_skills_and_servers(tmp_path: Path) -> None:
    folder = agent_plugin(tmp_path / "p", {"hooks/hooks.json": {"hooks": {"Stop": [{"command": "touch ran"}]}}})
    plugin = plugin_in(folder)

    assert plugin.form == "agent-plugins"
    assert plugin.brought.skills == ("demo:review",)
    assert plugin.starts == ("server notes: ./server.sh '${PLUGIN_DATA}/x'",)
    [table] = plugin.servers
    data = str(folder.parent / "data")
    wanted = {"name": "demo-notes", "command": str(folder / "server.sh"), "args": [f"{data}/x"], "cwd": str(folder)}
    assert table.value == wanted


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 3}, {"name": ""}, {"name": "../x"}, {"name": "a b"}, {"name": "x" * 65}, {"name": "x", "version": 1},
        {"name": "demo", "author": "Ada"}, {"name": "demo", "author": {"name": 1}}, {"name": "demo", "keywords": "x"},
        {"name": "demo", "extensions": {"org.x": 1}}, {}, [], "text", None,
    ],
)  # fmt: skip
def test_a_manifest_of_the_open_form_with_a_wrong_type_is_refused(tmp_path: Path, wrong: object) -> None:
    folder = put(tmp_path / "p", {"plugin.json": json.dumps(wrong), "skills/review/SKILL.md": SKILL})
    with pytest.raises(UnusablePluginError):
        plugin_in(folder)


def test_an_unknown_field_is_reported_and_ignored(tmp_path: Path) -> None:
    plugin = plugin_in(agent_plugin(tmp_path / "p", {"plugin.json": {"name": "demo", "hooks": "x.json"}}))
    assert "plugin.json: hooks: is not known here" in problems_of(plugin)
    assert plugin.brought.skills == ("demo:review",)


def test_a_manifest_can_name_further_files_and_folders(tmp_path: Path) -> None:
    more = {
        "name": "demo", "skills": ["./more/one"], "commands": "./more/say.md", "agents": ["./more/agents"],
        "hooks": "./more/hooks.json", "mcpServers": {"inline": {"command": "x"}},
    }  # fmt: skip
    files: dict[str, object] = {
        ".claude-plugin/plugin.json": more, "more/say.md": "Say.",
        "more/one/SKILL.md": "---\ndescription: One\n---\nDo.",
        "more/agents/a.md": "---\nname: a\ndescription: A\n---\nBe.",
        "more/hooks.json": {"hooks": {"Stop": [{"command": "true"}]}},
    }  # fmt: skip
    plugin = plugin_in(claude_plugin(tmp_path / "p", files))
    brought = plugin.brought

    assert brought.skills == ("demo:review", "demo:one")
    assert brought.commands == ("demo:git:commit", "demo:say")
    assert brought.agents == ("demo:helper", "demo:a")
    assert [hook.event for hook in plugin.hooks] == ["PreToolUse", "Stop"]
    assert [line.partition(":")[0] for line in plugin.server_lines] == ["inline", "notes"]


def test_names_are_those_of_folders_as_in_claude_code(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "skills/one/SKILL.md": "---\nname: other\ndescription: One\n---\nDo.",
        "skills/group/deep/SKILL.md": SKILL,
        "agents/team/a.md": "---\nname: lead\ndescription: A\n---\nBe.",
    }
    brought = plugin_in(claude_plugin(tmp_path / "p", files)).brought
    assert brought.skills == ("demo:one", "demo:review")
    assert brought.agents == ("demo:helper", "demo:team:lead")


def test_a_folder_without_a_manifest_has_the_name_of_its_folder(tmp_path: Path) -> None:
    assert plugin_in(put(tmp_path / "My-Tools", {"skills/review/SKILL.md": SKILL})).name == "my-tools"


def test_a_list_of_plugins_says_which_there_are(tmp_path: Path) -> None:
    plugins = [{"name": "a", "source": "./plugins/a"}, {"name": "b", "source": {"source": "github"}}]
    folder = put(tmp_path / "p", {".claude-plugin/marketplace.json": {"plugins": plugins}})
    with pytest.raises(UnusablePluginError, match=r"name the folder of one: \./plugins/a$"):
        plugin_in(folder)


@pytest.mark.parametrize(
    ("entry", "field", "value"),
    [
        ({"command": "x", "env": {"A": "${TEAM}"}}, "env", {"A": "blue"}),
        ({"command": "x", "args": ["${NONE:-red}"]}, "args", ("red",)),
        ({"url": "https://example.org", "headers": {"Authorization": "Bearer ${TEAM}"}}, "headers",
         {"Authorization": "Bearer blue"}),
    ],
)  # fmt: skip
async def test_variables_of_the_user_are_filled_in_for_servers(
    house: House, tmp_path: Path, entry: object, field: str, value: object
) -> None:
    files: dict[str, object] = {".claude-plugin/plugin.json": {"name": "demo"}, ".mcp.json": {"s": entry}}
    await house.add(put(tmp_path / "p", files))
    house.look()
    [server] = used_definitions(house.extensions.settings).servers
    found = getattr(server.reached_by, field)
    if field == "env":
        found = {name: text for name, text in found.items() if "PLUGIN" not in name}
    assert (server.defined_by, found) == ("plugin", value)


# --- adding and removing ------------------------------------------------------------------------------------------


async def test_what_was_added_is_used_from_where_those_things_are_read(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p"))

    assert house.look().state == "on"
    assert house.skills == ["demo:review", "demo:git:commit"]
    assert [file.role.name for file in house.extensions.roles.read()] == ["demo:helper"]
    assert house.servers == ["demo-notes"]
    [skill] = [one.skill for one in house.extensions.skills.look() if one.skill.name == "demo:review"]
    assert skill.body == f"Read {house.look().root}/notes.md."


async def test_nothing_of_the_source_is_needed_once_it_is_added(house: House, tmp_path: Path) -> None:
    source = claude_plugin(tmp_path / "p")
    await house.add(source)
    claude_plugin(source, {"skills/review/SKILL.md": "---\ndescription: x\n---\nOther."})
    assert house.look().state == "on"


async def test_a_name_is_taken_once(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p"))
    with pytest.raises(UsageError, match="already"):
        await house.add(agent_plugin(tmp_path / "q"))


async def test_removing_removes_exactly_what_was_added(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p"))
    await house.add(claude_plugin(tmp_path / "q", name="other"))
    house.extensions.settings.look()
    house.extensions.plugins.look()
    (house.paths.plugins / "demo" / "data" / "kept").write_text("x")
    house.store.remove("demo")

    assert [path.name for path in house.paths.plugins.iterdir()] == ["other"]
    assert house.look().name == "other"
    assert house.skills == ["other:review", "other:git:commit"]
    assert house.servers == ["other-notes"]


async def test_a_copy_that_is_not_added_leaves_nothing(house: House, tmp_path: Path) -> None:
    house.store.discard(await house.store.stage(str(claude_plugin(tmp_path / "p"))))
    with pytest.raises(AgentError):
        await house.store.stage(str(put(tmp_path / "no plugin", {"readme.md": "x"})))
    with pytest.raises(AgentError):
        await house.store.stage(str(tmp_path / "nowhere"))
    assert not list(house.paths.plugins.iterdir())


async def test_a_plugin_that_is_switched_off_brings_nothing(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p"))
    house.with_settings(Settings(plugins=PluginsSettings(off=("demo",))))
    assert house.look().state == "off"
    assert (house.skills, house.servers, house.extensions.roles.read()) == ([], [], ())


async def test_a_plugin_that_changed_starts_nothing_until_it_is_let_in_again(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p"))
    put(house.look().root, {"check.sh": "touch other\n"})

    changed = house.look()
    assert changed.state == "changed"
    assert (house.servers, house.skills) == ([], ["demo:review", "demo:git:commit"])
    assert not house.extensions.plugins.starts(changed.root)
    house.store.renew("demo", changed.digest)
    assert house.look().state == "on"
    assert house.servers == ["demo-notes"]


@needs_links
async def test_what_a_python_hook_leaves_beside_itself_is_no_change(house: House, tmp_path: Path) -> None:
    await house.add(claude_plugin(tmp_path / "p", {"__pycache__/old.pyc": "x"}))
    put(house.look().root, {"hooks/__pycache__/x.pyc": "y"})
    assert house.look().state == "on"
    assert not (house.look().root / "__pycache__").exists()


def changed_mode(root: Path) -> None:
    (root / "check.sh").chmod(0o600)


def new_file(root: Path) -> None:
    put(root, {"skills/new/SKILL.md": SKILL})


def removed_file(root: Path) -> None:
    (root / "agents" / "helper.md").unlink()


def same_size_and_date(root: Path) -> None:
    path = root / "check.sh"
    before = path.stat()
    path.write_text(path.read_text().replace("ran", "nar"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@needs_links
@pytest.mark.parametrize("change", [changed_mode, new_file, removed_file, same_size_and_date])
async def test_every_change_shows(house: House, tmp_path: Path, change: Callable[[Path], None]) -> None:
    await house.add(claude_plugin(tmp_path / "p"))
    assert house.look().state == "on"
    change(house.look().root)
    assert house.look().state == "changed"


async def test_a_plugin_comes_from_a_git_repository(house: House, tmp_path: Path) -> None:
    source = tmp_path / "source"
    claude_plugin(source / "plugins" / "demo")
    git(source, "init", "-q")
    git(source, "add", ".")
    git(source, "commit", "-qm", "x")
    await house.add(source.as_uri(), "plugins/demo")

    standing = house.look()
    assert standing.record is not None
    assert standing.record.commit == git(source, "rev-parse", "HEAD")
    assert standing.state == "on"
    assert not (standing.root / ".git").exists()
    assert sorted(path.name for path in standing.root.parent.iterdir()) == ["data", "files", "record.json"]


# --- in a session -------------------------------------------------------------------------------------------------


async def test_a_hook_of_a_plugin_runs_in_a_session_with_its_folders(ground: Ground, tmp_path: Path) -> None:
    script = '#!/bin/sh\necho "$CLAUDE_PLUGIN_ROOT" > ran\ntouch "$CLAUDE_PLUGIN_DATA"/kept\n'
    store = PluginStore(ground.paths.plugins, {})
    store.add(await store.stage(str(claude_plugin(tmp_path / "p", {"check.sh": script}))))
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    files = ground.paths.plugins / "demo" / "files"
    assert ground.read("ran") == f"{files}\n"
    assert (files.parent / "data" / "kept").exists()
    assert [run.state for run in s.rx.all(ev.HookRan)] == ["completed"]


async def test_the_model_can_ask_for_a_skill_of_a_plugin(ground: Ground, tmp_path: Path) -> None:
    store = PluginStore(ground.paths.plugins, {})
    store.add(await store.stage(str(claude_plugin(tmp_path / "p", {"hooks/hooks.json": {}}))))
    async with ground.session([[Call("read_skill", {"name": "demo:review"})], [Say("Done.")]]) as s:
        await s.prompt()
    [result] = s.results()
    assert f"Read {ground.paths.plugins}/demo/files/notes.md." in result.content


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's here")
async def test_a_command_in_the_sandbox_reads_the_scripts_of_a_plugin_and_changes_none(
    ground: Ground, tmp_path: Path
) -> None:
    store = PluginStore(ground.paths.plugins, {})
    script = "#!/bin/sh\necho ran > ran\necho more >> $0\n"
    store.add(await store.stage(str(claude_plugin(tmp_path / "p", {"hooks/hooks.json": {}, "tool.sh": script}))))
    path = ground.paths.plugins / "demo" / "files" / "tool.sh"
    async with ground.session(
        [[Call("run_terminal_cmd", {"command": f"sh {path}"})], [Say("Done.")]], approval="never"
    ) as s:
        await s.prompt()
    assert ground.read("ran") == "ran\n"
    assert path.read_text() == script
