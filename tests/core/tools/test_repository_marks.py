"""A rule for outside the sandbox counts in its repository until a setting changes that runs programs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.extensions.script_marks import repository_mark
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, Allowed
from desktop_agent.core.providers.scripted import Say
from tests.core.tools.execution.test_execution import run, without_sandbox
from tests.harness import Ground

ENVIRON = {"PATH": os.environ["PATH"]}


def git(*words: str, at: Path) -> None:
    subprocess.check_output(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=at)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "work"
    top.mkdir()
    git("init", "-q", at=top)
    (top / "a.py").write_text("x\n")
    git("add", ".", at=top)
    git("commit", "-qm", "x", at=top)
    return top


def mark(top: Path, line: str = "git fetch", at: str = ".") -> str:
    return repository_mark(line, top / at, ENVIRON).mark


def _write(path: str, text: str = "x\n") -> Callable[[Path], object]:
    def write(top: Path) -> None:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


_CHANGES: dict[str, Callable[[Path], object]] = {
    "a setting": lambda top: git("config", "core.fsmonitor", "./x", at=top),
    "a hook": _write(".git/hooks/pre-push"),
    "a hook that becomes executable": lambda top: (top / ".git/hooks/pre-push.sample").chmod(0o600),
    "attributes of the repository": _write(".git/info/attributes"),
    "attributes of the work tree": _write(".gitattributes"),
    "attributes of a folder": _write("src/deep/.gitattributes"),
    "settings of a worktree": _write(".git/config.worktree"),
    "submodules": _write(".gitmodules"),
    "a submodule's settings": lambda top: (_write(".git/modules/m/HEAD")(top), _write(".git/modules/m/config")(top)),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_the_mark_changes_with_everything_that_git_runs(repository: Path, change: str) -> None:
    before = mark(repository)
    _CHANGES[change](repository)
    assert mark(repository) != before


@pytest.mark.parametrize(
    ("setting", "value", "file"),
    [
        ("core.fsmonitor", "tools/watch.sh", "tools/watch.sh"), ("core.hooksPath", ".husky", ".husky/pre-push"),
        ("include.path", "../shared.cfg", "shared.cfg"), ("filter.x.clean", "sh tools/clean.sh %f", "tools/clean.sh"),
        ("diff.external", "./tools/diff", "tools/diff"), ("core.attributesFile", "attrs", "attrs"),
        ("alias.z", "!./tools/z --now", "tools/z"), ("core.hooksPath", ".husky/_", ".husky/pre-push"),
        ("core.hooksPath", "tools", "tools/lib/deep.sh"), ("core.hooksPath", "my hooks", "my hooks/pre-push"),
    ],
)  # fmt: skip
def test_the_mark_changes_with_files_that_the_settings_name(
    repository: Path, setting: str, value: str, file: str
) -> None:
    _write(file)(repository)
    git("config", setting, value, at=repository)
    before = mark(repository)
    _write(file, "changed\n")(repository)
    assert mark(repository) != before


@pytest.mark.parametrize(
    ("settings", "file"),
    [
        ("[core] hooksPath = .githooks\n", ".githooks/pre-push"), ("[include] path = ../a.cfg\n", "b.cfg"),
        ("[core]\n\thooksPath = .git\\\nhooks\n", ".githooks/pre-push"),
        ("[includeIf \"gitdir:**\"] path = ../a.cfg\n", "b.cfg"),
    ],
)  # fmt: skip
def test_the_mark_reads_the_settings_as_git_does(repository: Path, settings: str, file: str) -> None:
    _write("a.cfg", "[include] path = b.cfg\n")(repository)
    _write(file)(repository)
    with (repository / ".git" / "config").open("a") as config:
        config.write(settings)
    before = mark(repository)
    _write(file, "changed\n")(repository)
    assert mark(repository) != before


@pytest.mark.parametrize(
    ("hook", "file"),
    [
        ("#!/bin/sh\n. ./tools/lib.sh\n", "tools/lib.sh"), ("#!/bin/sh\nexec make lint\n", "Makefile"),
        ("#!/bin/sh\nnpx lint-staged\n", "package.json"),
        ("#!/bin/sh\nARGS=(hook-impl --config=.pre-commit-config.yaml)\n", ".pre-commit-config.yaml"),
    ],
)  # fmt: skip
def test_the_mark_changes_with_what_a_hook_runs(repository: Path, hook: str, file: str) -> None:
    _write(".git/hooks/pre-commit", hook)(repository)
    _write(file)(repository)
    before = mark(repository)
    _write(file, "changed\n")(repository)
    assert mark(repository) != before


def test_the_mark_changes_with_the_settings_of_a_repository_inside(repository: Path) -> None:
    """A submodule with its own `.git` is read by git itself."""
    git("init", "-q", "sub", at=repository)
    before = mark(repository)
    git("config", "core.fsmonitor", "./x", at=repository / "sub")
    assert mark(repository) != before


def test_work_does_not_change_the_mark(repository: Path) -> None:
    before = mark(repository)
    _write("src/b.py")(repository)
    git("add", ".", at=repository)
    git("commit", "-qm", "y", at=repository)
    git("switch", "-qc", "other", at=repository)
    git("gc", "-q", at=repository)
    assert mark(repository) == before == mark(repository, at="src")
    assert mark(repository, "cd src && git fetch") == before


def test_a_program_that_appears_in_a_folder_of_the_path_changes_the_mark(repository: Path) -> None:
    environ = {"PATH": f"{repository}/.venv/bin:bin:{os.environ['PATH']}"}
    marks = [repository_mark("git fetch", repository, environ).mark]
    for folder in (".venv/bin", "bin"):
        _write(f"{folder}/git")(repository)
        (repository / folder / "git").chmod(0o755)
        marks.append(repository_mark("git fetch", repository, environ).mark)
        (repository / folder / "git").unlink()
    assert len(set(marks)) == 3


@pytest.mark.parametrize(
    "line",
    ["cd evil && git fetch", "git -C evil fetch", "git --git-dir=evil/.git fetch", "git --work-tree evil fetch",
     "GIT_DIR=evil/.git git fetch", "cd $X && git fetch", "cd && git fetch", "pushd evil; git fetch",
     "git -c a.b=c fetch",
     "env GIT_WORK_TREE=evil git fetch", "cd ~/x && git fetch", "git -C src -C ../evil fetch",
     "cd src; cd ../evil; git fetch",
     "( cd evil; git fetch )", "git -C $X fetch", "env -C evil git fetch", "env --chdir=evil git fetch",
     "find evil -execdir git fetch ';'", "make -C evil", "make -Cevil", "npm --prefix=evil test",
     "HOME=evil git fetch", "XDG_CONFIG_HOME=$PWD git fetch", "export GIT_DIR=x; git fetch",
     "env -C ev* git fetch"],
)  # fmt: skip
@pytest.mark.parametrize("is_bare", [False, True])
def test_a_line_that_goes_to_another_repository_has_no_mark(repository: Path, line: str, is_bare: bool) -> None:
    (repository / "src").mkdir()
    git("init", "-q", *(["--bare"] if is_bare else []), "evil", at=repository)
    assert repository_mark(line, repository, ENVIRON).mark == ""


@pytest.mark.parametrize("kind", [["init", "-q"], ["init", "-q", "--bare"]])
def test_another_repository_inside_is_another_one(repository: Path, kind: list[str]) -> None:
    """To git, any folder with `HEAD`, `objects` and `refs` is a repository: a command can make one anywhere."""
    git(*kind, "evil", at=repository)
    inside = repository_mark("git fetch", repository / "evil", ENVIRON)
    assert inside.path == str(repository / "evil")
    before = repository_mark("git fetch", repository, ENVIRON)
    assert before.path == str(repository)
    assert before.mark != inside.mark


def test_a_folder_without_a_repository_is_a_place_until_there_is_one(tmp_path: Path) -> None:
    before = repository_mark("make", tmp_path, ENVIRON)
    assert before.path == str(tmp_path)
    git("init", "-q", at=tmp_path)
    assert repository_mark("make", tmp_path, ENVIRON).mark != before.mark


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("make", "Makefile"),
        ("npm test", "package.json"),
        ("./deploy.sh", "deploy.sh"),
        ("sh x.sh", "x.sh"),
        ("cd src && make", "src/Makefile"),
        ("cd src && ./x.sh", "src/x.sh"),
        ("make -C src", "src/Makefile"),
        ("npm --prefix=src test", "src/package.json"),
        ("npm test", ".npmrc"),
        ("pytest -x", "conftest.py"),
        ("python3 -m pytest", "conftest.py"),
        ("cargo test", ".cargo/config.toml"),
        ("go test ./...", "go.mod"),
        ("yarn install", ".yarnrc.yml"),
        ("docker compose up", "compose.yaml"),
        ("uv sync", "pyproject.toml"),
        ("pip install -r needed.txt", "needed.txt"),
    ],
)
def test_a_script_or_recipe_that_changes_changes_the_mark(repository: Path, line: str, file: str) -> None:
    (repository / "src").mkdir()
    marks = [mark(repository, line)]
    for text in ("x\n", "y\n"):
        _write(file, text)(repository)
        marks.append(mark(repository, line))
    assert len(set(marks)) == 3


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("pytest", "pytest -q tests src/a.py"), ("python3 -m pytest", "python3 -m pytest tests/test_a.py -x"),
        ("go test", "go test ./src/..."), ("cargo test", "cargo test -p src"), ("git add", "git add src a.py"),
        ("git commit", "git commit -m x src"), ("make", "make -j4"), ("git push origin", "git push origin -u main"),
        ("npm install", "npm install --no-audit"),
    ],
)  # fmt: skip
def test_what_a_rule_covers_has_the_mark_of_the_rule(repository: Path, pattern: str, line: str) -> None:
    for path in ("src/a.py", "src/conftest.py", "tests/test_a.py", "tests/conftest.py", "src/Cargo.toml"):
        _write(path)(repository)
    assert mark(repository, line) == mark(repository, pattern)


# --- in a session -------------------------------------------------------------------------------------------------

_FETCH = "git fetch -q"


async def test_a_rule_for_outside_is_asked_again_once_the_repository_changed(ground: Ground) -> None:
    without_sandbox(ground)
    git("init", "-q", at=ground.workspace)
    async with ground.session([[run(_FETCH)], [run(_FETCH)], [Say("ok")]]) as s:
        first = (await s.begin(Allowed(scope="session"))).request
        assert first.repository == str(ground.workspace)
        assert first.rule_patterns == ((_FETCH, "git fetch"),)
        await s.rx.expect(ev.TurnEnded)
        assert len(s.rx.all(ev.ToolCallFinished)) == 2
        assert len(s.rx.all(ev.ApprovalRequested)) == 1
        [rule] = s.rx.all(ev.RulesReported)[-1].rules
        assert (rule.is_exact, rule.repository, rule.repository_mark) == (True, first.repository, first.repository_mark)
    async with ground.session([[run(_FETCH)], [Say("ok")]], resume=s.id) as again:
        _write(".git/hooks/x")(ground.workspace)
        second = (await again.begin(Allowed())).request
        assert "has changed" in second.risks[0]
        await again.rx.expect(ev.TurnEnded)


async def test_a_repository_that_changes_while_the_question_waits_brings_it_back(ground: Ground) -> None:
    without_sandbox(ground)
    git("init", "-q", at=ground.workspace)
    async with ground.session([[run(_FETCH)], [Say("ok")]]) as s:
        asked = (await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)).request
        git("config", "core.fsmonitor", "./evil", at=ground.workspace)
        s.submit(ops.AnswerApproval(call_id=asked.call_id, decision=Allowed()))
        resolved = (await s.rx.expect(ev.ApprovalResolved)).decision
        assert isinstance(resolved, Aborted)
        assert "What git runs in this repository changed" in resolved.reason
        again = (await s.answer(Allowed())).request
        assert again.reason.startswith("What git runs in this repository changed")
        await s.rx.expect(ev.TurnEnded)


async def test_a_line_that_goes_to_another_repository_is_only_allowed_once(ground: Ground) -> None:
    without_sandbox(ground)
    git("init", "-q", at=ground.workspace)
    git("init", "-q", "evil", at=ground.workspace)
    async with ground.session([[run("cd evil && git fetch")], [Say("ok")]]) as s:
        asked = (await s.begin(Allowed(scope="session"))).request
        assert [offer.scope for offer in asked.scopes] == ["once"]
        assert asked.rule_patterns == ()
        await s.rx.expect(ev.TurnEnded)


@pytest.mark.parametrize(
    "env",
    [
        {"GIT_DIR": "evil/.git"}, {"GIT_CONFIG_COUNT": "1"}, {"PATH": "evil"}, {"HOME": "evil"},
        {"A": "1", "CDPATH": "."}, {"A": "x" * 4_000, "GIT_DIR": "evil/.git", "B": "x" * 2_000},
    ],
)  # fmt: skip
async def test_a_command_whose_variables_lead_it_elsewhere_is_only_allowed_once(
    ground: Ground, env: dict[str, str]
) -> None:
    without_sandbox(ground)
    async with ground.session([[run(_FETCH, env=env)], [Say("ok")]]) as s:
        asked = (await s.begin(Allowed(scope="session"))).request
        assert [offer.scope for offer in asked.scopes] == ["once"]
        await s.rx.expect(ev.TurnEnded)


async def test_in_the_sandbox_nothing_names_a_repository(walled: Ground) -> None:
    async with walled.session([[run("make")], [Say("ok")]]) as s:
        asked = (await s.begin(Allowed(scope="session"))).request
        assert (asked.repository, asked.repository_mark) == ("", "")
        await s.rx.expect(ev.TurnEnded)
