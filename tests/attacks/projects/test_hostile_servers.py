"""The MCP servers of a trusted project: the agent cannot have one run other files than those that the user saw.

Each attack is done between the user's answer and a start of the server. What the attacker writes makes the file `ran`.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tomlkit

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition_file import used_definitions
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.workspace_settings import ProjectItem, ProjectTrust
from tests.core.extensions.test_plugins import House
from tests.core.mcp.conftest import PROGRAM, pool
from tests.harness import Ground

__all__ = ["pool"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are a POSIX shell's")

SERVER = PROGRAM.read_text()
START = f"exec {sys.executable} -S {PROGRAM}\n"
WORSE = {".py": "open('ran', 'w').close()\n"}
NOT_AS_TRUSTED = "iles that it runs are not as you trusted them"


class Project:
    """A project with one MCP server, `notes`."""

    def __init__(self, house: House, pool: ServerPool) -> None:
        self.house, self.pool = house, pool

    @property
    def root(self) -> Path:
        return self.house.root

    def put(self, name: str, content: str, mode: int = 0o755) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
        return path

    def define(self, command: str, *args: str, **others: object) -> None:
        values = {"name": "notes", "command": command, "args": args, **others}
        self.put(".desktop-agent/config.toml", tomlkit.dumps({"mcp": {"definitions": [values]}}))

    def trust(self) -> None:
        settings = self.house.extensions.settings
        settings.look()
        assert settings.proposal is not None
        settings.remember("trusted", settings.proposal.text, settings.proposal.items)

    @property
    def connection(self) -> Connection:
        self.house.extensions.settings.look()
        [definition] = used_definitions(self.house.extensions.settings).servers
        return self.pool.lease(definition, self.root).connection

    @property
    def items(self) -> list[ProjectItem]:
        settings = self.house.extensions.settings
        settings.look()
        assert settings.proposal is not None
        return [item for item in settings.proposal.items if item.kind == "MCP server"]

    async def starts(self) -> bool:
        connection = self.connection
        await connection.stop()
        try:
            return bool(await connection.tools())
        except ServerError:
            return False


@pytest.fixture
def project(tmp_path: Path, pool: ServerPool) -> Project:
    return Project(House(tmp_path), pool)


PYTHON = sys.executable
FORMS: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "a script": ({"command": PYTHON, "args": ["tools/server.py"]}, {"tools/server.py": SERVER}),
    "a program": ({"command": "./server.sh"}, {"server.sh": f"#!/bin/sh\n{START}"}),
    "a program by its full path": ({"command": "{root}/server.sh"}, {"server.sh": f"#!/bin/sh\n{START}"}),
    "a script by its full path": ({"command": PYTHON, "args": ["{root}/a b/s.py"]}, {"a b/s.py": SERVER}),
    "a folder of its own": ({"command": PYTHON, "args": ["s.py"], "cwd": "sub"}, {"sub/s.py": SERVER}),
    "a folder beside": ({"command": PYTHON, "args": ["../s.py"], "cwd": "sub"}, {"s.py": SERVER, "sub/x": ""}),
    "a line": ({"command": "bash", "args": ["-c", f"exec {PYTHON} 's.py'"]}, {"s.py": SERVER}),
    "a line that goes elsewhere": ({"command": "sh", "args": ["-c", "cd sub && . ./s"]}, {"sub/s": START}),
    "a module": ({"command": PYTHON, "args": ["-m", "kit.s"]}, {"kit/s.py": SERVER, "kit/__init__.py": ""}),
    "a module behind other options": ({"command": PYTHON, "args": ["-Bmkit"]}, {"kit/__main__.py": SERVER}),
    "a package on the way": ({"command": PYTHON, "args": ["-m", "kit.s"]}, {"kit/__init__.py": "", "kit/s.py": SERVER}),
    "a module elsewhere": (
        {"command": PYTHON, "args": ["-m", "kit"], "env": {"PYTHONPATH": "src:lib"}},
        {"src/kit/__main__.py": SERVER},
    ),
    "a folder of Python": ({"command": PYTHON, "args": ["kit"]}, {"kit/__main__.py": SERVER}),
    "its PATH": (
        {"command": "env", "args": ["PATH=tools:/usr/bin:/bin", "serve"]},
        {"tools/serve": f"#!/bin/sh\n{START}"},
    ),
    "its PATH in the definition": (
        {"command": "sh", "args": ["-c", "exec serve"], "env": {"PATH": "{root}/tools:/usr/bin:/bin"}},
        {"tools/serve": f"#!/bin/sh\n{START}"},
    ),
    "its PATH in a line": (
        {"command": "bash", "args": ["-c", 'PATH="$PWD/tools:$PATH"; exec serve']},
        {"tools/serve": f"#!/bin/sh\n{START}"},
    ),
    "what is read and run": ({"command": "sh", "args": ["-c", 'eval "$(cat s.txt)"']}, {"s.txt": START}),
    "what is read by a function": (
        {"command": PYTHON, "args": ["-c", "exec(open('s.txt').read())"]},
        {"s.txt": SERVER},
    ),
    "a variable": (
        {"command": "bash", "args": ["-c", f"exec {PYTHON} -S {PROGRAM}"], "env": {"BASH_ENV": "s.sh"}},
        {"s.sh": "true\n"},
    ),
    "two folders down": ({"command": "sh", "args": ["-c", "cd a; cd b; exec ./s"]}, {"a/b/s": f"#!/bin/sh\n{START}"}),
    "a URL": ({"command": "sh", "args": ["-c", "exec sh ${0#file://}", "file://{root}/s"]}, {"s": START}),
    "behind another program": ({"command": "nice", "args": ["-n", "1", "./s"]}, {"s": f"#!/bin/sh\n{START}"}),
}  # fmt: skip


def defined(project: Project, form: str) -> str:
    """Write the server's files and its definition; return the file that it runs."""
    definition, files = FORMS[form]
    for name, content in files.items():
        project.put(name, content)
    filled = json.loads(json.dumps(definition).replace("{root}", str(project.root)))
    project.define(filled.pop("command"), *filled.pop("args", ()), **filled)
    return next(iter(files))


def replace_content(path: Path) -> None:
    is_python = path.suffix == ".py" or path.read_text() == SERVER
    path.write_text("open('ran', 'w').close()\n" if is_python else "#!/bin/sh\ntouch ran\n")


def replace_by_link(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    replace_content(other)
    path.symlink_to(other.name)


def replace_folder(path: Path) -> None:
    """Put a link in the place of the file's folder, or of the file itself if its folder is the project's."""
    if (path.parent / ".desktop-agent").exists():
        replace_by_link(path)
        return
    other = path.parent.with_name("others")
    path.parent.rename(other)
    replace_content(other / path.name)
    path.parent.symlink_to(other.name)


def replace_by_pipe(path: Path) -> None:
    """Put a pipe in its place, from which a program can be read, too. What would write to it is left out."""
    path.unlink()
    os.mkfifo(path)


def lead_out(path: Path) -> None:
    """Put a link that leads out of the project in the place of the file's folder, or of the file at the top."""
    root = next(folder for folder in path.parents if (folder / ".desktop-agent").exists())
    moved, outside = path if path.parent == root else path.parent, root.with_name("outside")
    moved.rename(outside)
    replace_content(outside if moved == path else outside / path.name)
    moved.symlink_to(outside)


@pytest.mark.parametrize("swap", [replace_content, replace_by_link, replace_by_pipe, replace_folder, lead_out])
@pytest.mark.parametrize("form", FORMS)
async def test_a_server_whose_files_changed_since_the_answer_is_not_started(
    project: Project, form: str, swap: Callable[[Path], None]
) -> None:
    script = defined(project, form)
    project.trust()
    assert await project.starts()
    await project.connection.stop()  # as after some minutes without a call, or at the end of the session
    swap(project.root / script)
    with pytest.raises(ServerError, match=NOT_AS_TRUSTED):
        await project.connection.tools()
    assert not list(project.root.rglob("ran"))
    settings = project.house.extensions.settings
    [item] = project.items
    assert (settings.is_waiting, item.key in settings.changed) == (True, True)
    (project.root / script).unlink()
    project.put(script, FORMS[form][1][script])
    project.trust()
    assert await project.starts(), "once the user has answered again"


NAMING: dict[tuple[str, ...], tuple[str, ...]] = {
    ("npx", "./kit"): ("kit/package.json", "kit/cli.js"),
    ("npx", "-y", "@acme/notes@latest"): ("node_modules/@acme/notes/package.json", "node_modules/.bin/notes"),
    ("node", "build/index.js"): ("build/index.js",),
    ("node", "--import", "./hook.mjs", "index.js"): ("hook.mjs", "index.js"),
    ("node", "."): ("package.json", "main.js"),
    ("tsx", "src/index.ts"): ("src/index.ts",),
    ("uv", "run", "server.py"): ("server.py", "pyproject.toml"),
    ("uv", "run", "--directory", "sub", "server.py"): ("sub/server.py", "sub/pyproject.toml"),
    ("uv", "run", "-m", "kit.notes"): ("kit/notes.py",),
    ("uvx", "--from", "./kit", "notes"): ("kit/pyproject.toml",),
    ("java", "-jar", "build/notes.jar"): ("build/notes.jar",),
    ("make", "-C", "sub", "serve"): ("sub/Makefile",),
    ("deno", "run", "-A", "notes.ts"): ("notes.ts", "deno.json"),
    ("bash", "-c", "cat setup.sh | sh"): ("setup.sh",),
    ("bash", "-c", "sh < setup.sh"): ("setup.sh",),
    ("bash", "-c", "source <(cat setup.sh)"): ("setup.sh",),
    ("bash", "-c", "for each in parts/*.sh; do sh $each; done"): ("parts/one.sh",),
    ("proxy-for-mcp", "--", "python3", "server.py"): ("server.py",),
}


@pytest.mark.parametrize("line", NAMING)
def test_every_file_that_a_server_is_started_with_counts(project: Project, line: tuple[str, ...]) -> None:
    for folder in (".", "kit"):
        project.put(f"{folder}/package.json", json.dumps({"main": "main", "bin": {"kit": "cli.js"}}))
    for name in NAMING[line]:
        if not name.endswith("package.json"):
            project.put(name, "one\n")
    project.put("node_modules/@acme/notes/package.json", "{}")
    project.define(*line)
    project.trust()
    for name in NAMING[line]:
        [before] = project.items
        project.put(name, f"{(project.root / name).read_text()} ")
        [after] = project.items
        assert after.digest != before.digest, name


@pytest.mark.parametrize("form", ["a script", "a program", "a folder of its own", "a module", "its PATH"])
async def test_a_file_that_is_made_after_the_answer_is_not_run(project: Project, form: str) -> None:
    script = defined(project, form)
    (project.root / script).unlink()
    project.trust()
    project.put(script, "#!/bin/sh\ntouch ran\n")
    with pytest.raises(ServerError, match=NOT_AS_TRUSTED):
        await project.connection.tools()
    assert not list(project.root.rglob("ran"))


async def test_a_file_that_changes_between_two_tries_is_not_run(project: Project) -> None:
    """A server that breaks off is started again by itself, without a new look at the settings."""
    project.put("s.py", SERVER)
    project.define(PYTHON, "s.py")
    project.trust()
    connection = project.connection
    assert await connection.tools()
    with pytest.raises(ServerError):
        await connection.call("die", {})
    project.put("s.py", WORSE[".py"])
    await asyncio.gather(connection.restart(), return_exceptions=True)
    assert connection.status.problem.endswith(f"{NOT_AS_TRUSTED}, so it was not started.")
    assert "desktop-agent config trust" in connection.status.hint
    assert (connection.status.state, connection.status.failures) == ("waiting", 0)
    assert not (project.root / "ran").exists()
    project.put("s.py", SERVER)
    assert await connection.tools()


async def test_a_changed_definition_starts_nothing_and_the_one_before_runs_on(project: Project) -> None:
    project.put("s.py", SERVER)
    project.define(PYTHON, "s.py")
    project.trust()
    project.define(PYTHON, "other.py")
    project.put("other.py", WORSE[".py"])
    assert await project.starts(), "as the user trusted it"
    assert not (project.root / "ran").exists()


async def test_an_answer_of_an_earlier_version_holds_but_for_what_the_servers_run(project: Project) -> None:
    project.put("s.py", SERVER)
    project.define(PYTHON, "s.py")
    text = (project.root / ".desktop-agent/config.toml").read_text()
    ProjectTrust(project.house.paths.project_answers).remember(project.root, text, "trusted")
    settings = project.house.extensions.settings
    settings.look()
    assert (settings.answer, settings.is_waiting, settings.answer_to_all) == ("trusted", True, None)
    with pytest.raises(ServerError, match=NOT_AS_TRUSTED):
        await project.connection.tools()
    settings.remember_items("trusted", project.items)
    assert await project.starts()


@pytest.mark.parametrize("line", [(PYTHON, "-S", str(PROGRAM)), ("uvx", "mcp-server-git", "--repository", ".")])
def test_a_project_whose_servers_run_none_of_its_files_is_not_asked_again(
    project: Project, line: tuple[str, ...]
) -> None:
    project.define(*line)
    text = (project.root / ".desktop-agent/config.toml").read_text()
    ProjectTrust(project.house.paths.project_answers).remember(project.root, text, "trusted")
    assert not project.items
    assert not project.house.extensions.settings.is_waiting


ODD = (
    "x" * 300 + "/*",
    "***/**x*[",
    "[",
    "a" * 9_000,
    "../" * 3_000 + "*",
    "*/" * 200,
    "{" * 9_000,
    "$(" * 2_000,
    "\u202e*",
    "~/*",
    "/*",
)


@pytest.mark.parametrize("word", ODD)
def test_an_odd_command_line_is_looked_at_without_a_failure(project: Project, word: str) -> None:
    project.put("package.json", json.dumps({"main": "../" * 2_000, "bin": {str(n): word for n in range(9_000)}}))
    project.put("s.py", SERVER)
    for command in (word, "node", "npx", "bash"):
        project.define(command, ".", word, "-c", word, "s.py", env={"PATH": word, "PYTHONPATH": f"{word}:s.py"})
        assert "s.py" in project.items[0].detail.split(", ")


async def test_a_server_that_keeps_data_in_the_folder_is_started_again(project: Project) -> None:
    project.put("s.py", SERVER)
    project.put("notes.db", "one")
    project.define(PYTHON, "s.py", "--db", "notes.db")
    project.trust()
    project.put("notes.db", "two")
    assert await project.starts()


def test_the_answer_holds_in_a_copy_of_the_project(project: Project, tmp_path: Path) -> None:
    project.put("sub/s.py", SERVER)
    project.define(PYTHON, "s.py", cwd="sub")
    [item] = project.items
    (tmp_path / "copy").mkdir()
    copy = House(tmp_path / "copy")
    there = Project(copy, project.pool)
    there.put("sub/s.py", SERVER)
    there.define(PYTHON, "s.py", cwd="sub")
    assert [each.key for each in there.items] == [item.key]


async def test_what_the_agent_writes_in_one_session_does_not_run_in_the_next(tmp_path: Path) -> None:
    ground = Ground(tmp_path / "ground")
    ground.write("tools/server.py", SERVER)
    ground.write(
        ".desktop-agent/config.toml",
        f'[[mcp.definitions]]\nname = "notes"\ncommand = "{PYTHON}"\nargs = ["tools/server.py"]\n',
    )
    write = Call("run_terminal_cmd", {"command": "echo \"open('ran', 'w').close()\" > tools/server.py"})
    async with ground.session(
        [[Call("mcp__notes__echo", {"text": "x"})], [write], [Say("Done.")]], approval="never"
    ) as s:
        settings = s.bench.settings_in(ground.workspace.resolve())
        await settings.refresh()
        assert settings.proposal is not None
        settings.remember("trusted", settings.proposal.text, settings.proposal.items)
        await s.prompt()
    async with ground.session([[Say("Done.")]]) as s:
        await s.prompt()
        notices = [notice for notice in s.rx.all(ev.Notice) if NOT_AS_TRUSTED in notice.title]
        tools = [tool.name for tool in s.last_request.tools]
    assert len(notices) == 1
    assert not [name for name in tools if "notes" in name]
    assert not (ground.workspace / "ran").exists()
