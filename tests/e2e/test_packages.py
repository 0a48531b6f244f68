"""The packages of the frozen program: what they hold, what they need, and what they say about it."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from pkgutil import walk_packages

import pytest
import yaml
from filelock import FileLock

import desktop_agent

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "packaging/packages.sh"
VERSION = "1.2.0rc3"

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="packages are made with Debian's tools")


def told_by(*argv: str | Path, **environ: str) -> str:
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environ}
    ) as process:
        told, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, told
    return told


def make_tree(tree: Path) -> None:
    """Make a small tree like a frozen one: its program is the entry, run by Python. One of two libraries is inside."""
    inside = tree / "_internal"
    inside.mkdir(parents=True)
    program = tree / "desktop-agent"
    program.write_text(
        f'#!/bin/sh\n[ "$1" != --version ] || {{ echo "desktop-agent {VERSION}"; exit; }}\n'
        f'exec {sys.executable} {ROOT / "packaging/frozen/entry.py"} "$@"\n'
    )
    program.chmod(0o755)
    git = shutil.which("git")
    assert git is not None
    shutil.copy(git, inside / "program")
    [needed] = {line.split()[2] for line in told_by("ldd", git).splitlines() if "libz.so.1 " in line}
    shutil.copy(needed, inside / "libz.so.1")
    (tree / "install.sh").write_text("exit 1\n")
    (tree / "THIRD-PARTY-LICENCES.txt").write_text("texts\n")


def packages_of(tree: Path, folder: Path) -> Path:
    folder.mkdir()
    told_by("bash", PACKAGES, tree, folder, SOURCE_DATE_EPOCH="1700000000")
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A small tree, with its packages beside it. The first worker that wants them makes them for all of this run."""
    own = tmp_path_factory.getbasetemp()
    folder = own if worker_id == "master" else own.parent
    tree, packages = folder / "frozen/desktop-agent", folder / "packages"
    with FileLock(folder / "packages.lock"):
        if not packages.exists():
            make_tree(tree)
            packages_of(tree, folder / "unfinished").rename(packages)
    return tree


@pytest.fixture(scope="module")
def packages(tree: Path) -> tuple[Path, Path]:
    rpm, deb = sorted((tree.parents[1] / "packages").iterdir())
    return deb, rpm


def test_the_deb_names_its_version_and_the_libraries_that_it_does_not_bring(packages: tuple[Path, Path]) -> None:
    deb, _ = packages
    assert deb.name.startswith("desktop-agent_1.2.0~rc3-1_")
    fields = dict(line.split(": ", 1) for line in told_by("dpkg-deb", "--field", deb).splitlines() if ": " in line)
    assert fields["Version"] == "1.2.0~rc3-1"
    assert fields["Recommends"] == "bubblewrap, git, python3"
    assert fields["Depends"].startswith("libc6 (>= 2.")
    assert "libpcre2-8-0" in fields["Depends"]
    assert "zlib1g" not in fields["Depends"], "it is in the tree"


def test_the_rpm_names_the_same_by_the_names_of_the_libraries(packages: tuple[Path, Path]) -> None:
    _, rpm = packages
    assert rpm.name.startswith("desktop-agent-1.2.0~rc3-1.")
    needed = told_by("rpm", "--query", "--package", "--requires", rpm).split()
    assert "libpcre2-8.so.0()(64bit)" in needed
    assert any(name.startswith("libc.so.6(GLIBC_2.") for name in needed)
    assert not [name for name in needed if name.startswith("libz.")]


def test_the_deb_holds_the_program_its_entry_and_its_description(packages: tuple[Path, Path], tmp_path: Path) -> None:
    deb, rpm = packages
    told_by("dpkg-deb", "--extract", deb, tmp_path)
    program, share = tmp_path / "usr/bin/desktop-agent", tmp_path / "usr/share"
    assert told_by(program, "--version") == f"desktop-agent {VERSION}\n"
    assert not (tmp_path / "usr/lib/desktop-agent/install.sh").exists()
    assert (share / "doc/desktop-agent/THIRD-PARTY-LICENCES.txt").read_text() == "texts\n"
    entry = (share / "applications/desktop-agent.desktop").read_text()
    assert 'Exec="/usr/bin/desktop-agent" %u' in entry
    assert len(list(share.glob("icons/hicolor/*/apps/desktop-agent.*"))) == 10
    [metainfo] = (share / "metainfo").iterdir()
    [release] = ET.parse(metainfo).iter("release")
    assert release.attrib == {"version": VERSION, "date": "2023-11-14"}
    of_the_rpm = set(told_by("rpm", "--query", "--package", "--list", rpm).split())
    own = {f"/{path.relative_to(tmp_path)}" for path in (tmp_path / "usr").rglob("*") if not path.is_dir()}
    assert {path for path in own - of_the_rpm if "/share/doc/" not in path and "/lintian/" not in path} == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="rpm changes its root for it")
def test_the_rpm_is_installed_whole_and_removed_without_a_trace(packages: tuple[Path, Path], tmp_path: Path) -> None:
    rpm = ("rpm", "--root", tmp_path, "--dbpath", "/db", "--nodeps")
    told_by(*rpm, "--noscripts", "--install", packages[1])
    assert told_by(tmp_path / "usr/bin/desktop-agent", "--version") == f"desktop-agent {VERSION}\n"
    assert told_by(*rpm, "--verify", "desktop-agent") == ""
    told_by(*rpm, "--noscripts", "--erase", "desktop-agent")
    assert [path for path in (tmp_path / "usr").rglob("*") if not path.is_dir()] == []


def test_the_flatpak_is_made_of_the_deb(packages: tuple[Path, Path], tmp_path: Path) -> None:
    manifest = yaml.safe_load((ROOT / "packaging/frozen/flatpak.yaml").read_text())
    app = tmp_path / "app"
    (app / "build").mkdir(parents=True)
    shutil.copy(packages[0], app / "build")
    [module] = manifest["modules"]
    for command in module["build-commands"]:
        told_by("env", "-C", app / "build", "bash", "-c", re.sub(r"(?<= )/app\b", str(app), command))
    assert told_by(app / "bin" / manifest["command"], "--version") == f"desktop-agent {VERSION}\n"
    entry = (app / "share/applications" / manifest["rename-desktop-file"]).read_text()
    assert "Exec=desktop-agent %u" in entry
    assert f"Icon={manifest['rename-icon']}" in entry
    [metainfo] = (app / "share/metainfo").iterdir()
    assert ET.parse(metainfo).findtext("id") == manifest["id"]


def test_the_same_tree_makes_the_same_bytes(tree: Path, packages: tuple[Path, Path], tmp_path: Path) -> None:
    again = packages_of(tree, tmp_path / "dist")
    assert [path.read_bytes() for path in sorted(again.iterdir())] == [path.read_bytes() for path in reversed(packages)]


@pytest.fixture(scope="module")
def frozen(testrun_uid: str, *, is_nightly: bool) -> Path:
    """The real program, which the first worker makes that wants it."""
    if not is_nightly:
        pytest.skip("it takes minutes: --profile nightly")
    (ROOT / "dist").mkdir(exist_ok=True)
    made = ROOT / "dist/.frozen-for"
    with FileLock(made.with_suffix(".lock")):
        if not made.exists() or made.read_text() != testrun_uid:
            told_by("bash", ROOT / "packaging/freeze.sh")
            made.write_text(testrun_uid)
    return ROOT / "dist/desktop-agent"


def test_the_package_of_the_real_program_has_no_errors_and_runs(frozen: Path, tmp_path: Path) -> None:
    [deb] = packages_of(frozen, tmp_path / "dist").glob("*.deb")
    found = told_by("lintian", "--allow-root", "--fail-on", "error", deb)
    assert "E: " not in found
    told_by("dpkg-deb", "--extract", deb, tmp_path / "root")
    workspace = shutil.copytree(ROOT / "resources/demo/pagination", tmp_path / "pagination")
    program = tmp_path / "root/usr/bin/desktop-agent"
    told = told_by(
        "env", "-C", workspace, program, "run", "--provider", "demo", "--approval", "on_request",
        "--blocked-tools", "run_terminal_cmd", "--prompt", "Fix the failing test",
    )  # fmt: skip
    assert "Edited files: pagination/pages.py" in told


def test_the_real_program_imports_all_of_its_modules(frozen: Path) -> None:
    found = [
        module.name
        for module in walk_packages(desktop_agent.__path__, "desktop_agent.")
        if "__main__" not in module.name
    ]
    program = "import sys, importlib; print(sum(bool(importlib.import_module(name)) for name in sys.argv[1:]))"
    assert told_by(frozen / "desktop-agent", "-c", program, *found) == f"{len(found)}\n"


COMMAND_LINE = (
    "tests/cli tests/e2e/batch tests/e2e/run tests/e2e/servers/test_mcp_test.py tests/e2e/test_bad_input.py "
    "tests/e2e/test_private_files.py tests/e2e/test_slash.py tests/e2e/test_tools_command.py "
    "tests/rest/test_serve_command.py tests/attacks/keyrings tests/attacks/environment/test_own_environment.py "
    "tests/app/startup/test_one_instance.py"
)
WINDOW = "tests/e2e/test_assistive.py tests/e2e/by_hand/test_new_user.py --profile nightly"
XVFB = ("env", "QT_QPA_PLATFORM=xcb", "xvfb-run", "--auto-servernum", "--server-args=-screen 0 1440x900x24")


@pytest.mark.parametrize(
    ("shown", "mark", "tests"),
    [((), "not realwindow", COMMAND_LINE), (XVFB, "realwindow", WINDOW)],
    ids=["command line", "window"],
)
def test_the_real_program_passes_the_tests_of_a_checkout(
    frozen: Path, shown: tuple[str, ...], mark: str, tests: str
) -> None:
    argv = [*shown, sys.executable, "-m", "pytest", "-q", "-m", mark, *tests.split()]
    told_by(*argv, TESTED_PROGRAM=str(frozen / "desktop-agent"))
