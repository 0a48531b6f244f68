"""`desktop-agent batch`: every task has exactly one result, and its folder is unchanged."""

import json
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from desktop_agent.cli.batch_worker import arguments_of
from desktop_agent.headless.batch.tasks import read_tasks
from tests.e2e.batch.conftest import BatchHere
from tests.e2e.batch.lab import DEMO, Lab, task
from tests.git import git
from tests.system_processes import running_with


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    subprocess.check_call(["cp", "-r", str(DEMO), str(folder)])
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def test_each_task_runs_in_a_copy_and_has_one_result_also_after_a_cut_and_with_later_tasks(
    lab: Lab, batch: BatchHere, tmp_path: Path
) -> None:
    before = (DEMO / "pagination" / "pages.py").read_bytes()
    lab.write_demo(3)
    ran = batch("--workers", "2", "--json")
    assert (ran.code, ran.json) == (0, ran.json | {"tasks": 3, "done": 3, "skipped": 0, "failed": 0})
    assert sorted(outcome["id"] for outcome in lab.outcomes) == ["t0", "t1", "t2"]
    assert (DEMO / "pagination" / "pages.py").read_bytes() == before
    assert list((tmp_path / "home" / "cache" / "batch").iterdir()) == []
    outcome = lab.outcomes[0]
    assert (outcome["exit_code"], outcome["stopped_reason"], outcome["attempts"]) == (0, "completed", 1)
    assert outcome["session_id"]
    assert outcome["usage"]["output_tokens"] > 0

    lab.results.write_bytes(lab.results.read_bytes()[:-20])  # as a kill leaves it
    assert batch().code == 0
    assert sorted(outcome["id"] for outcome in lab.outcomes) == ["t0", "t1", "t2"]

    earlier = lab.results.read_bytes()
    lab.write_demo(4)
    ran = batch("--resume", "--json")
    assert (ran.code, ran.json["skipped"]) == (0, 3)
    assert lab.results.read_bytes().startswith(earlier)
    assert [outcome["id"] for outcome in lab.outcomes][3:] == ["t3"]


def test_a_repository_is_cloned_and_the_patch_of_a_result_applies_to_the_folder(
    lab: Lab, batch: BatchHere, repository: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "app.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    (repository / "not-committed.txt").write_text("mine\n", encoding="utf-8")
    lab.write([task("folder", repository), task("path", bare), task("address", bare) | {"workspace": bare.as_uri()}])
    assert batch("--workers", "2").code == 0
    assert all("-(-total // size)" in outcome["patch"] for outcome in lab.outcomes)
    assert git(repository, "status", "--porcelain") == "?? not-committed.txt"
    patch = tmp_path / "one.patch"
    [folder] = (outcome for outcome in lab.outcomes if outcome["id"] == "folder")
    patch.write_text(folder["patch"], encoding="utf-8", errors="surrogateescape")
    git(repository, "apply", str(patch))
    assert "-(-total // size)" in (repository / "pagination" / "pages.py").read_text(encoding="utf-8")


def test_what_cannot_be_run_is_a_result_in_words(lab: Lab, batch: BatchHere, tmp_path: Path) -> None:
    lab.write(
        [task("gone", tmp_path / "nowhere"), task("far", tmp_path) | {"workspace": "https://example.invalid/a.git"}]
    )
    ran = batch("--workers", "2")
    assert ran.code == 1
    outcomes = {outcome["id"]: outcome for outcome in lab.outcomes}
    assert outcomes["gone"]["stopped_reason"] == outcomes["far"]["stopped_reason"] == "not_run"
    assert "does not exist" in outcomes["gone"]["problems"][0]
    assert "is not on this machine" in outcomes["far"]["problems"][0]
    assert "2 failed" in ran.err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_results_are_no_device(lab: Lab, batch: BatchHere) -> None:
    lab.write_demo(1)
    lab.results.symlink_to("/dev/zero")
    ran = batch()
    assert ran.code == 2
    assert "is no regular file" in ran.err


@pytest.mark.parametrize("prompt", ["--fix it", "--help", "one line\u2028another\x85and\x0ba third"])
def test_any_prompt_is_taken_as_it_is(lab: Lab, prompt: str) -> None:
    asked = task("one", DEMO) | {"prompt": prompt}
    lab.tasks.write_text("\ufeff" + json.dumps(asked, ensure_ascii=False), encoding="utf-8")
    read = read_tasks(lab.tasks, lambda one: None)
    assert [arguments_of(one, one.workspace).prompt for one in read] == [[prompt]]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["nonsense"], "line 1 is no JSON object"),
        (['{"id": "a"}'], "line 1 is no task"),
        (['{"id": "a", "workspace": ".", "prompt": " "}'], "may not be empty"),
        (['{"id": "a", "workspace": ".", "prompt": "x"}'] * 2, "line 2 has the id 'a' of line 1"),
        (
            ['{"id": "a", "workspace": ".", "prompt": "x", "options": {"tone": "kind"}}'],
            "unrecognized arguments: --tone",
        ),
        (['{"id": "a", "workspace": ".", "prompt": "x", "options": {"json": true}}'], "no option 'json'"),
        (['{"id": "a", "workspace": ".", "prompt": "x", "options": {"max-turns": 0}}'], "is not a whole number"),
        ([""], "There is no task"),
    ],
)
def test_a_bad_line_is_named_before_anything_runs(lab: Lab, batch: BatchHere, lines: list[str], why: str) -> None:
    lab.tasks.write_text("\n".join(lines), encoding="utf-8")
    ran = batch()
    assert ran.code == 2
    assert why in ran.err
    assert not lab.results.exists()


def test_other_files_are_not_taken_for_results(lab: Lab, batch: BatchHere) -> None:
    lab.write_demo(1)
    lab.results.write_text("my diary\n", encoding="utf-8")
    ran = batch()
    assert (ran.code, lab.results.read_text(encoding="utf-8")) == (2, "my diary\n")
    assert "line 1 is no result" in ran.err


def test_killed_workers_and_coordinators_lose_and_repeat_nothing(lab: Lab, batch: BatchHere, is_nightly: bool) -> None:
    count, kills = (200, 10) if is_nightly else (6, 2)
    lab.write_demo(count)
    chance = random.Random(7)
    seen: list[str] = []
    for _ in range(kills):
        process = lab.start("--workers", "2", "--retries", "9")
        assert process.stderr is not None
        for _ in range(chance.randint(1, 2)):
            process.stderr.readline()  # a tenth is done, or the batch has ended
        workers = running_with("batch_worker", psutil.Process(process.pid).children())
        if workers and chance.random() < 0.7:
            with suppress(psutil.NoSuchProcess):  # its last task is done
                chance.choice(workers).kill()
            process.stderr.readline()
        process.kill()
        process.communicate()
        if lab.results.exists():
            whole = lab.results.read_bytes().rpartition(b"\n")[0].splitlines()
            written = [json.loads(line)["id"] for line in whole]
            assert written[: len(seen)] == seen  # written results stay
            seen = written
    assert batch("--workers", "2", "--retries", "9").code == 0
    assert sorted(outcome["id"] for outcome in lab.outcomes) == sorted(f"t{number}" for number in range(count))
    assert lab.left() == []
