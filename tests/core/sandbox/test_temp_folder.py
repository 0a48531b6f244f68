"""A sandbox replaces `/tmp`: only named programs below it stay visible."""

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.sandbox.confinement import confinement_for
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome
from desktop_agent.core.tools.execution.confiner import Confinement
from tests.core.sandbox.conftest import Place, Shell
from tests.core.sandbox.test_home import file, found, program

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


@pytest.fixture
def below_temp() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="programs-", dir="/tmp"))
    yield base
    shutil.rmtree(base)


def environment(folder: Path) -> Path:
    interpreter = folder.parent / "interpreters" / "v1.2"
    program(interpreter / "bin" / "speak", "works $(cat $(dirname $(readlink -f $0))/../lib/data)")
    file(interpreter / "lib" / "data", "well")
    (folder.parent / "interpreters" / "v1").symlink_to("v1.2")
    file(folder / "pyvenv.cfg", f"home = {interpreter}/bin\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "speak").symlink_to(folder.parent / "interpreters" / "v1" / "bin" / "speak")
    script = folder / "bin" / "tool"
    script.write_text(f"#!/bin/sh\nexec {folder}/bin/speak\n")
    script.chmod(0o755)
    file(folder / "bin" / "activate", f"PATH={folder}/bin:$PATH\n")
    return folder


class Named:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def confinement(self) -> Confinement:
        place = self._shell.place
        confinement = confinement_for("restricted", place.workspace, place.temp, ())
        return Confinement(found(self._shell.sandbox), confinement, own=dict(os.environ))

    async def run(self, line: str, confinement: Confinement | None = None, shell: str = "/bin/bash") -> ProcessOutcome:
        variables = child_environment(os.environ)
        command = Command(argv=(shell, "-c", line), cwd=self._shell.place.workspace, environ=variables)
        confined = (confinement or self.confinement()).confine(command)
        return await self._shell.runner.run(confined, timeout_s=30)


@pytest.fixture
def named(shell: Shell) -> Named:
    return Named(shell)


LINES = {
    "a program": "{env}/bin/tool",
    "its interpreter": "{env}/bin/speak",
    "behind a wrapper": "A=b env C=d timeout 20 {env}/bin/tool",
    "in a script": "bash -c 'true && {env}/bin/tool'",
    "sourced": ". {env}/bin/activate && tool",
    "quoted": "'{env}/bin/tool' | cat",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
async def test_a_program_that_the_command_line_names_works(named: Named, below_temp: Path, line: str) -> None:
    env = environment(below_temp / "env")
    outcome = await named.run(line.format(env=env))
    assert (outcome.end.exit_code, outcome.output.head.strip()) == (0, "works well")


@pytest.mark.parametrize("way", ["its path", "a link to it"])
async def test_a_program_in_a_folder_of_path_works(
    named: Named, below_temp: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(below_temp / "env")
    if way == "a link to it":
        (below_temp / "current").symlink_to("env")
        env = below_temp / "current"
    monkeypatch.setenv("PATH", f"{env}/bin:{os.environ['PATH']}")
    outcome = await named.run("tool")
    assert (outcome.end.exit_code, outcome.output.head.strip()) == (0, "works well")


async def test_what_is_named_stays_read_only_and_its_neighbours_unseen(named: Named, below_temp: Path) -> None:
    env = environment(below_temp / "env")
    file(below_temp / "notes", "mine")
    outcome = await named.run(
        f"{env}/bin/tool; echo x > {env}/bin/tool; echo x > {env}/new; cat {below_temp}/notes; true"
    )
    assert outcome.output.head.startswith("works well")
    assert "mine" not in outcome.output.head
    assert "works" not in (env / "bin" / "tool").read_text()
    assert (env / "bin" / "tool").read_text().startswith("#!/bin/sh\nexec")
    assert not (env / "new").exists()


async def test_a_file_that_is_no_program_is_not_shown_for_being_named(named: Named, below_temp: Path) -> None:
    file(below_temp / "notes", "mine")
    outcome = await named.run(f"{below_temp}/notes; . {below_temp}/notes; cat {below_temp}/notes")
    assert "mine" not in outcome.output.head


async def test_a_link_of_the_commands_own_shows_nothing(named: Named, place: Place, below_temp: Path) -> None:
    program(below_temp / "apps" / "bin" / "tool", "mine")
    (place.workspace / "src" / "tool").symlink_to(below_temp / "apps" / "bin" / "tool")
    outcome = await named.run(f"{place.workspace}/src/tool; cat src/tool")
    assert "mine" not in outcome.output.head


async def test_a_program_of_the_home_is_not_shown_for_being_named(named: Named, place: Place, below_temp: Path) -> None:
    program(place.home / "apps" / "bin" / "tool", "mine")
    (below_temp / "tool").symlink_to(place.home / "apps" / "bin" / "tool")
    outcome = await named.run(f"{place.home}/apps/bin/tool; {below_temp}/tool")
    assert "mine" not in outcome.output.head


async def test_secrets_and_sockets_beside_a_named_program_stay_hidden(
    named: Named, below_temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(below_temp / "env")
    for name in (".env", "id_ed25519", ".ssh/known", "lib/key.json"):
        file(env / name, "SECRET")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(env / "lib" / "key.json"))
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(env / "agent"))
        outcome = await named.run(
            f"{env}/bin/tool; cd {env}; cat .env id_ed25519 .ssh/known lib/key.json; test -S agent && echo seen; true"
        )
    assert outcome.output.head.startswith("works well")
    assert "SECRET" not in outcome.output.head


async def test_sockets_in_the_temporary_folder_are_invisible(shell: Shell, named: Named, below_temp: Path) -> None:
    env = environment(below_temp / "env")
    with socket.socket(socket.AF_UNIX) as beside, socket.socket(socket.AF_UNIX) as within:
        beside.bind(str(below_temp / "agent"))
        within.bind(str(env / "agent"))
        line = f"{env}/bin/tool; for a in {below_temp}/agent {env}/agent; do test -S $a && echo seen; done; true"
        outcome = await named.run(line)
    expected = "works well" if shell.sandbox.name == "bubblewrap" else "works well\nseen\nseen"
    assert outcome.output.head.strip() == expected, "Landlock does not hide names"


HIDDEN: dict[str, str] = {
    "by a link in the workspace": "src/linked",
    "by the first line of a script": "src/script",
    "in a folder of the line's PATH": "PATH={base}/hidden/bin:$PATH; tool",
    "in a folder of a command's PATH": "PATH={base}/hidden/bin:$PATH tool",
    "by its own path, which the line makes": "x={base}/hidden; $x/bin/tool",
}


@pytest.mark.parametrize("line", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("shell_path", ["/bin/bash", "/bin/sh"])
@pytest.mark.sampled(2, "sandbox", "line", "shell_path")
async def test_a_program_that_is_there_only_outside_the_walls_is_explained(
    named: Named, place: Place, below_temp: Path, line: str, shell_path: str
) -> None:
    tool = below_temp / "hidden" / "bin" / "tool"
    program(tool, "works")
    (place.workspace / "src" / "linked").symlink_to(tool)
    (place.workspace / "src" / "script").write_text(f"#!{tool}\n")
    (place.workspace / "src" / "script").chmod(0o755)
    confinement = named.confinement()
    outcome = await named.run(line.format(base=below_temp), confinement, shell_path)
    content = json.dumps({"output": outcome.output.head, "metadata": {"exit_code": outcome.end.exit_code}})
    result = ToolResult(content=content, is_error=True, metadata={"exit_code": outcome.end.exit_code or 0})
    said = confinement.denial_in(result)
    assert f"`{below_temp}`" in said, (outcome.output.head, said)
    assert "which the sandbox hides" in said or "The sandbox hides" in said


async def test_a_missing_file_is_not_blamed_on_the_sandbox(named: Named, place: Place, below_temp: Path) -> None:
    (place.workspace / "src" / "gone").symlink_to(below_temp / "nowhere")
    confinement = named.confinement()
    outcome = await named.run("src/gone; src/none", confinement)
    result = ToolResult(content=outcome.output.head, is_error=True, metadata={"exit_code": outcome.end.exit_code or 0})
    assert confinement.denial_in(result) == ""
