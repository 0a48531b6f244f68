"""`batch --variants` and `worktrees take`: one prompt in several worktrees, and hunks of several as one change."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from desktop_agent.core.base.paths import AppPaths
from tests.command_line import CommandLine, Ran
from tests.core.agents.scene import PROGRAM, said
from tests.core.worktrees.scene import CONFIG
from tests.e2e.batch.conftest import BatchHere
from tests.e2e.batch.lab import DEMO, Lab, task
from tests.git import git
from tests.system_processes import processes_with

TEST = "python3 -m unittest discover -s tests -t . && touch left-by-the-test"
PAGES = "pagination/pages.py"
Run = Callable[..., Ran]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gitconfig").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "app"
    for path in DEMO.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            place = folder / path.relative_to(DEMO)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    with (folder / PAGES).open("a", encoding="utf-8") as pages:  # so that its end is a hunk of its own
        pages.writelines(f"# {number}\n" for number in range(12))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return CommandLine(capsys)


def write_three(lab: Lab, app: Path, **more: object) -> None:
    lab.write([task(name, app) | {"test": TEST} | more for name in ("one", "two", "three")])


def work_in(tree: Path, new: str, *, first: str = "", last: str = "") -> None:
    (tree / PAGES).write_text(first + (tree / PAGES).read_text(encoding="utf-8") + last, encoding="utf-8")
    (tree / new).write_text(f"{new}\n", encoding="utf-8")


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def records(tmp_path: Path) -> list[dict[str, Any]]:
    found = (tmp_path / "home" / "data" / "variants").glob("*/variants.json")
    return [json.loads(path.read_bytes()) for path in found]


def test_three_variants_run_side_by_side_and_hunks_of_two_become_one_change_that_undo_takes_back_exactly(
    lab: Lab, batch: BatchHere, run: Run, app: Path, tmp_path: Path
) -> None:
    before = files_of(app)
    write_three(lab, app)
    ran = batch("--variants", "--json")
    assert (ran.code, ran.json["done"]) == (0, 3)
    assert files_of(app) == before
    outcomes = {outcome["id"]: outcome for outcome in lab.outcomes}
    for outcome in outcomes.values():
        assert (outcome["test"]["is_passed"], outcome["test"]["exit_code"]) == (True, 0)
        assert "OK" in outcome["test"]["output"]
        assert outcome["test"]["duration_s"] >= 0
        assert "pass" in outcome["final_response"]
        assert (outcome["cost"], outcome["usage"]["output_tokens"] > 0) == (0.0, True)
        assert "-(-total // size)" in outcome["patch"]
    (record,) = records(tmp_path)
    assert (record["folder"], record["check"]) == (str(app), TEST)
    assert {one["model"]: one["worktree"] for one in record["variants"]} == {
        name: outcome["worktree"] for name, outcome in outcomes.items()
    }
    listed = {one["name"]: one for one in run("worktrees", "list", "--json").json["worktrees"]}
    names = [outcomes[name]["worktree"] for name in ("one", "two", "three")]
    trees = [Path(listed[name]["path"]) for name in names]
    assert not [tree for tree in trees if (tree / "left-by-the-test").exists()]  # what a test leaves is undone

    work_in(trees[1], "two.txt", last="# two\n")
    work_in(trees[2], "three.txt", last="# three\n")
    (app / "mine.txt").write_text("mine\n", encoding="utf-8")
    start = files_of(app)
    parts = [f"{names[0]}:{PAGES}:1", f"{names[1]}:{PAGES}:2", f"{names[1]}:two.txt"]
    dry = run("worktrees", "take", *parts, "--dry-run", "--json")
    assert (dry.json["files"], files_of(app) == start) == ([PAGES, "two.txt"], True)
    done = run("worktrees", "take", *parts, "--json")
    assert (done.code, done.json["files"]) == (0, [PAGES, "two.txt"])
    taken = files_of(app)
    assert taken[PAGES].endswith(b"# two\n")
    assert b"-(-total // size)" in taken[PAGES]
    assert taken.keys() - start.keys() == {"two.txt"}
    session = done.json["session_id"]
    assert run("changes", "undo", session, "--file", PAGES, "--hunk", "1").code == 0  # by hunk
    assert files_of(app)[PAGES] == start[PAGES] + b"# two\n"
    assert run("changes", "redo", session).code == 0
    assert files_of(app) == taken
    assert run("changes", "undo", session).code == 0  # and as a whole
    assert files_of(app) == start
    for name in names:  # removed only by the user
        assert run("worktrees", "remove", name, "--json").json["state"] == "trashed"


def test_an_agent_of_another_program_is_a_variant_beside_a_model(
    lab: Lab, batch: BatchHere, run: Run, app: Path, tmp_path: Path
) -> None:
    steps = [{"write": ["poem.txt", "a poem\n"]}, said("A poem is there.")]
    (tmp_path / "script.json").write_text(json.dumps({"prompts": [steps]}), encoding="utf-8")
    args = json.dumps([str(PROGRAM), str(tmp_path / "script.json"), str(tmp_path / "lines")])
    settings = AppPaths.from_environment().settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[[agents]]\nname = "poet"\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n')
    agent = task("poet", app) | {"options": {"agent": "poet"}, "test": "test -f poem.txt"}
    lab.write([task("model", app) | {"test": "test -f poem.txt"}, agent])
    batch("--variants")
    outcomes = {outcome["id"]: outcome for outcome in lab.outcomes}
    assert outcomes["poet"]["final_response"] == "A poem is there."
    assert {name: outcome["test"]["is_passed"] for name, outcome in outcomes.items()} == {"model": False, "poet": True}
    parts = [outcomes["poet"]["worktree"], f"{outcomes['model']['worktree']}:{PAGES}:1"]
    assert run("worktrees", "take", *parts, "--json").json["files"] == [PAGES, "poem.txt"]
    assert (app / "poem.txt").read_text(encoding="utf-8") == "a poem\n"


def test_hunks_that_clash_are_named_and_the_folder_stays_as_it_was(
    lab: Lab, batch: BatchHere, run: Run, app: Path, tmp_path: Path
) -> None:
    write_three(lab, app, test="")
    assert batch("--variants").code == 0
    first, second, third = (one["worktree"] for one in records(tmp_path)[0]["variants"])
    trees = {one["name"]: Path(one["path"]) for one in run("worktrees", "list", "--json").json["worktrees"]}
    for name, lines in ((second, "# two\n"), (third, "# three\n")):
        work_in(trees[name], "new.txt", first=lines)
    (trees[third] / "new.txt").write_text("other\n", encoding="utf-8")
    before, sessions = files_of(app), run("sessions", "list", "--all", "--json").json
    ran = run("worktrees", "take", f"{first}:{PAGES}", f"{second}:{PAGES}:1", f"{third}:{PAGES}:1")
    assert ran.code == 1
    assert f"{PAGES}:1  {second} ↔ {third}" in ran.err
    assert first not in ran.err
    ran = run("worktrees", "take", f"{second}:new.txt", f"{third}:new.txt")
    assert (ran.code, f"new.txt  {second} ↔ {third}" in ran.err) == (1, True)
    (app / PAGES).write_bytes(b"# mine\n" + before[PAGES])
    ran = run("worktrees", "take", second)
    assert (ran.code, f"{PAGES}: " in ran.err) == (1, True)
    assert files_of(app) == before | {PAGES: b"# mine\n" + before[PAGES]}
    assert run("sessions", "list", "--all", "--json").json == sessions


def test_a_kill_in_the_middle_loses_no_variant(lab: Lab, batch: BatchHere, run: Run, app: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "asked"
    os.mkfifo(pipe)
    lab.write(
        [
            task(
                name, app, **{"approval": "always", "approval-command": f"sh -c 'echo {name} > {pipe}; exec sleep 300'"}
            )
            for name in ("one", "two", "three")
        ]
    )
    with lab.start("--variants") as process, pipe.open("r+b", buffering=0) as asking:  # open for all who write
        asked = b""
        while len({*asked.split()}) < 3:  # each has begun its turn, and asks
            asked += asking.read(100)
        for pid in {process.pid, *processes_with("BATCH_LAB", lab.environ["BATCH_LAB"])}:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
    assert lab.left() == []
    (record,) = records(tmp_path)
    listed = {one["name"]: one for one in run("worktrees", "list", "--json").json["worktrees"]}
    assert sorted(listed) == [one["worktree"] for one in record["variants"]]
    for one in listed.values():
        assert (one["state"], git(Path(one["path"]), "status", "--porcelain")) == ("made", "")
        again = run("run", "--resume", one["session_id"], "--prompt", "Go on.", "--approval", "on_request", "--json")
        assert (again.code, again.json["worktree"]) == (0, one["name"])
        assert git(Path(one["path"]), "status", "--porcelain") == f"M {PAGES}"


def test_what_cannot_be_variants_is_said_before_anything_runs(
    lab: Lab, batch: BatchHere, app: Path, tmp_path: Path
) -> None:
    def refused(*more: str) -> str:
        ran = batch("--variants", *more)
        assert ran.code == 2
        assert records(tmp_path) == []
        return ran.err

    lab.write([task("one", app), task("two", app) | {"prompt": "Something else."}])
    assert "have the same workspace, prompt and test" in refused()
    lab.write([task("one", app)])
    assert "2 to 6 variants, not 1" in refused()
    write_three(lab, app)
    assert "neither --scheduler" in refused("--scheduler", "tls://head:8786")
    plain = tmp_path / "plain"
    plain.mkdir()
    write_three(lab, plain)
    assert "Run `git init`" in refused()
    git(plain, "init", "-q")
    assert "with a commit" in refused()
