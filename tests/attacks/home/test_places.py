"""A confined command looks for the secrets of its user's home, root's, and others'."""

import os
import shlex
import sys
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.system.processes.runner import Command
from tests.attacks.corpus import cases
from tests.attacks.home.places import PLACES
from tests.core.sandbox.conftest import Place, Shell

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")

CANARY = "CANARY-7f3a"
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def plant(home: Path, places: tuple[str, ...] = PLACES) -> None:
    for name in places:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{CANARY} {name}\n")


def open_for_all(place: Place) -> None:
    for path in (place.home.parent, *place.home.parent.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() else 0o666)


def confined(place: Place, mode: str) -> ConfinementSpec:
    return ConfinementSpec(workspace=place.workspace, is_workspace_writable=mode == "restricted", temp=place.temp)


async def look(shell: Shell, place: Place, mode: str, user: str, script: str) -> str:
    command = Command(
        argv=("/bin/bash", "-c", script),
        cwd=place.workspace,
        environ={"PATH": os.defpath, "HOME": str(place.home)},
    )
    if user == "another":
        os.seteuid(NOBODY)  # it reads the disk as that user
        try:
            wrapped = shell.sandbox.wrap(command, confined(place, mode))
        finally:
            os.seteuid(0)
        wrapped = replace(wrapped, argv=(*AS_NOBODY, *wrapped.argv))
    else:
        wrapped = shell.sandbox.wrap(command, confined(place, mode))
    outcome = await shell.runner.run(wrapped, timeout_s=30)
    assert outcome.output.head.startswith("started"), outcome.output.head
    return outcome.output.head


@pytest.fixture(params=["itself", "another"])
def user(request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "another":
        if os.getuid() != 0:
            pytest.skip("only root can become another user")
        if not Path("/usr/bin/python3").exists():
            pytest.skip("the interpreter of the tests may be closed to others, and the system has none")
        monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
        plant(place.home)
        open_for_all(place)
    return str(request.param)


@pytest.mark.parametrize("mode", ["restricted", "strict"])
async def test_no_place_in_the_home_can_be_read(shell: Shell, place: Place, user: str, mode: str) -> None:
    plant(place.home)
    names = " ".join(shlex.quote(str(place.home / name)) for name in PLACES)
    printed = await look(shell, place, mode, user, f"echo started; cat {names} 2>/dev/null")
    read = [line.removeprefix(f"{CANARY} ") for line in printed.splitlines() if line.startswith(CANARY)]
    assert read == []


@pytest.mark.parametrize("name", cases(PLACES, lambda name: name.replace("/", ":")))
async def test_a_place_is_closed_on_every_way_to_it(shell: Shell, place: Place, name: str) -> None:
    plant(place.home, (name,))
    ways = (f"cat {shlex.quote(str(place.home / name))}", f"grep -rs {CANARY} {shlex.quote(str(place.home))}")
    links = f"ln -s {shlex.quote(str(place.home))} src/h; cat {shlex.quote(f'src/h/{name}')}"
    proc = f"cat {shlex.quote(f'/proc/self/root{place.home}/{name}')}"
    script = "echo started; " + "; ".join((*ways, links, proc))
    assert CANARY not in await look(shell, place, "restricted", "itself", script)


def files_of_others() -> list[Path]:
    """Some files of other users. This checkout is left out: its interpreter must stay readable."""
    checkout = Path(__file__).parents[3]
    found = (path for home in Path("/home").iterdir() for path in home.rglob("*") if path.is_file())
    return list(islice((path for path in found if not path.is_relative_to(checkout)), 50))


async def test_the_homes_of_others_are_closed(shell: Shell, place: Place) -> None:
    if os.getuid() != 0 or not (files := files_of_others()):
        pytest.skip("only root could read other users' homes, and only where there are some")
    names = " ".join(shlex.quote(str(path)) for path in files)
    printed = await look(shell, place, "restricted", "itself", f"echo started; cat {names} 2>/dev/null | wc -c")
    assert printed.split() == ["started", "0"]
