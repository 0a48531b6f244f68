"""`desktop-agent changes commit`: exactly the agent's lines are committed, and nothing else moves."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.commits import git_commit
from tests.cli.conftest import Command, RecordedSession

TEXT = b"".join(b"line %d\n" % number for number in range(60))
OURS = {5: b"five\n", 30: b"thirty\n", 50: b"fifty\n"}


def edited(text: bytes, lines: dict[int, bytes]) -> bytes:
    for number, line in lines.items():
        text = text.replace(b"line %d\n" % number, line)
    return text


class Repo:
    def __init__(self, session: RecordedSession) -> None:
        self.session = session
        self.folder = session.folder

    def git(self, *arguments: str, folder: Path | None = None) -> bytes:
        return subprocess.check_output(["git", *arguments], cwd=folder or self.folder, stderr=subprocess.PIPE)

    def said(self, *arguments: str) -> str:
        return self.git(*arguments).decode().strip()

    def blob(self, path: str, of: str = "HEAD") -> bytes:
        return self.git("cat-file", "blob", f"{of}:{path}")

    def commit(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        self.git("add", "-A")
        self.git("commit", "-qm", "files")

    def hook(self, name: str, script: str) -> None:
        place = self.folder / ".git/hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def staged(self) -> list[bytes]:
        """The lines that `git diff --cached` shows, without positions and object ids."""
        shown = self.git("diff", "--cached", "-U0", "--no-renames").splitlines()
        return [line for line in shown if not line.startswith((b"index ", b"@@"))]

    def tree(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if ".git" not in path.relative_to(self.folder).parts and (path.is_symlink() or path.is_file())
        }

    def untouched(self) -> tuple[str, list[bytes], dict[str, bytes], bool]:
        return self.said("rev-parse", "HEAD"), self.staged(), self.tree(), (self.folder / ".git/index.lock").exists()


@pytest.fixture
def bare(session: RecordedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository without a commit."""
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repo = Repo(session)
    repo.git("init", "-q")
    return repo


@pytest.fixture
def repo(bare: Repo) -> Repo:
    """A repository with `a.txt`, in which the agent changed three places."""
    bare.commit({"a.txt": TEXT})
    bare.session.write("a.txt", edited(TEXT, OURS))
    return bare


def test_the_agents_lines_are_committed_and_none_of_the_users(changes: Command, repo: Repo) -> None:
    (repo.folder / "a.txt").write_bytes(edited(repo.session.read("a.txt"), {15: b"mine\n", 59: b"also mine\n"}))
    (repo.folder / "notes.txt").write_bytes(b"mine\n")
    before = repo.tree()
    ran = changes("commit", repo.session.id, "--message", "Change three lines", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["files"], ran.json["left_out"]) == (["a.txt"], [])
    assert ran.json["commit"] == repo.said("rev-parse", "HEAD")
    assert repo.blob("a.txt") == edited(TEXT, OURS)
    assert repo.said("log", "-1", "--format=%an %ae %cn %s") == "Ada ada@example.org Ada Change three lines"
    assert repo.said("log", "-g", "-1", "--format=%gs") == "commit: Change three lines"
    assert (repo.staged(), repo.tree()) == ([], before)
    assert b"-line 15" in repo.git("diff")
    assert repo.said("status", "--porcelain") == "M a.txt\n?? notes.txt"
    again = changes("commit", repo.session.id, "--message", "Again", "--json")
    assert (again.code, again.json["commit"], again.json["files"], again.json["left_out"]) == (1, None, [], [])
    assert changes("undo", repo.session.id).code == 0
    assert repo.session.read("a.txt") == edited(TEXT, {15: b"mine\n", 59: b"also mine\n"})


def test_hunks_files_and_turns_are_committed_alone(changes: Command, repo: Repo) -> None:
    repo.session.write("b.txt", b"new\n", turn=2)
    repo.session.write("c.txt", b"new\n", turn=2)
    assert changes("commit", repo.session.id, "--file", "a.txt", "--hunk", "2", "--message", "One").code == 0
    assert repo.blob("a.txt") == edited(TEXT, {30: OURS[30]})
    assert changes("commit", repo.session.id, "--turn", "2", "--file", "b.txt", "--message", "Two").code == 0
    assert repo.said("ls-tree", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]
    rest = changes("commit", repo.session.id, "--message", "The rest", "--json")
    assert (rest.json["files"], rest.json["left_out"]) == (["a.txt", "c.txt"], [])
    assert repo.said("status", "--porcelain") == ""


def test_later_changes_to_committed_lines_are_committed_in_turn(changes: Command, repo: Repo) -> None:
    assert changes("commit", repo.session.id, "--file", "a.txt", "--hunk", "1", "--message", "One").code == 0
    last = edited(TEXT, {**OURS, 5: b"FIVE\n"})
    repo.session.write("a.txt", last, turn=2)
    ran = changes("commit", repo.session.id, "--message", "Two", "--json")
    assert (ran.json["left_out"], repo.blob("a.txt")) == ([], last)


@pytest.mark.parametrize("later", [b"newer\n", b"new\nmore\n"])
def test_a_created_file_that_was_committed_is_committed_again_as_it_became(
    changes: Command, bare: Repo, later: bytes
) -> None:
    bare.session.write("a.txt", b"new\n")
    assert changes("commit", bare.session.id, "--message", "One").code == 0
    bare.session.write("a.txt", later, turn=2)
    ran = changes("commit", bare.session.id, "--message", "Two", "--json")
    assert (ran.json["left_out"], bare.blob("a.txt")) == ([], later)
    assert changes("commit", bare.session.id, "--message", "Three").code == 1


def test_staged_changes_stay_staged(changes: Command, repo: Repo) -> None:
    ours = repo.session.read("a.txt")
    (repo.folder / "a.txt").write_bytes(edited(TEXT, {15: b"mine\n", 30: b"my thirty\n"}))
    (repo.folder / "b.txt").write_bytes(b"staged\n")
    repo.git("add", "-A")
    (repo.folder / "a.txt").write_bytes(ours)
    before = repo.staged(), repo.tree()
    ran = changes("commit", repo.session.id, "--message", "Ours", "--json")
    assert ran.code == 0, ran.err
    (left,) = ran.json["left_out"]
    assert (left["path"], left["reason"]) == ("a.txt", "You staged another version of the same lines.")
    assert repo.blob("a.txt") == edited(TEXT, {5: OURS[5], 50: OURS[50]})
    assert (repo.staged(), repo.tree()) == before
    assert repo.blob("b.txt", of="") == b"staged\n"


def test_lines_that_are_staged_already_are_committed(changes: Command, repo: Repo) -> None:
    repo.git("add", "-A")
    assert changes("commit", repo.session.id, "--message", "Ours").code == 0
    assert (repo.blob("a.txt"), repo.said("status", "--porcelain")) == (repo.session.read("a.txt"), "")


def test_kinds_of_changes(changes: Command, bare: Repo) -> None:
    bare.commit({"old.txt": TEXT, "gone.txt": b"x\n", "data.bin": b"\0\1", "d/e.txt": b"e\n", "run.sh": b"#!/bin/sh\n"})
    session = bare.session
    session.rename("old.txt", "place.txt")
    session.write("place.txt", edited(TEXT, OURS), turn=2)
    session.write("gone.txt", None)
    session.write("data.bin", b"\0\2")
    session.write("d/e.txt", None)
    session.write("ümläut – \t.txt", b"odd name\n")
    ran = changes("commit", session.id, "--message", "All kinds", "--json")
    assert ran.json["left_out"] == []
    assert bare.said("status", "--porcelain") == ""
    assert bare.blob("place.txt") == edited(TEXT, OURS)
    assert set(ran.json["files"]) == {"data.bin", "d/e.txt", "gone.txt", "place.txt", "old.txt", "ümläut – \t.txt"}


def test_lines_that_the_user_changed_or_removed_since_are_left_out(changes: Command, repo: Repo) -> None:
    repo.session.write("b.txt", b"new\n")
    (repo.folder / "b.txt").unlink()
    (repo.folder / "a.txt").write_bytes(edited(TEXT, {5: OURS[5], 30: b"my thirty\n", 50: OURS[50]}))
    ran = changes("commit", repo.session.id, "--message", "What is left", "--json")
    assert [one["path"] for one in ran.json["left_out"]] == ["a.txt", "b.txt"]
    assert repo.blob("a.txt") == edited(TEXT, {5: OURS[5], 50: OURS[50]})


def test_ignored_files_and_those_of_other_repositories_are_left_out(changes: Command, bare: Repo) -> None:
    bare.commit({".gitignore": b"*.log\n"})
    bare.git("init", "-q", "inner")
    for path in ("a.log", "inner/b.txt", "c.txt"):
        bare.session.write(path, b"new\n")
    ran = changes("commit", bare.session.id, "--message", "New", "--json")
    assert ran.json["files"] == ["c.txt"]
    assert {one["path"]: one["reason"] for one in ran.json["left_out"]} == {
        "a.log": "Git ignores it.",
        "inner/b.txt": "It belongs to the repository in inner.",
    }


def test_a_branch_without_a_commit_gets_its_first(changes: Command, bare: Repo) -> None:
    (bare.folder / "staged.txt").write_bytes(b"mine\n")
    bare.git("add", "-A")
    bare.session.write("a.txt", b"new\n")
    assert changes("commit", bare.session.id, "--message", "First").code == 0
    assert bare.said("ls-tree", "--name-only", "HEAD") == "a.txt"
    assert bare.said("status", "--porcelain") == "A  staged.txt"
    assert changes("commit", bare.session.id, "--undo").code == 0
    assert bare.said("status", "--porcelain").split("\n") == ["A  staged.txt", "?? a.txt"]
    assert subprocess.call(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=bare.folder) == 1


def test_on_a_detached_head_only_head_moves(changes: Command, repo: Repo) -> None:
    main = repo.said("rev-parse", "main")
    repo.git("checkout", "-q", "--detach")
    assert changes("commit", repo.session.id, "--message", "Detached").code == 0
    assert (repo.said("rev-parse", "main"), repo.said("rev-parse", "HEAD~1")) == (main, main)


def test_without_a_message_it_is_bad_usage_but_a_dry_run_needs_none(changes: Command, repo: Repo) -> None:
    before = repo.untouched()
    assert changes("commit", repo.session.id).code == 2
    ran = changes("commit", repo.session.id, "--dry-run", "--json")
    assert (ran.code, ran.json["commit"], ran.json["files"]) == (0, None, ["a.txt"])
    assert repo.untouched() == before


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        (("merge", "-q", "other"), "A merge is in progress."),
        (("cherry-pick", "other"), "A cherry-pick is in progress."),
        (("rebase", "-q", "other"), "A rebase is in progress."),
    ],
)
def test_a_conflict_in_progress_is_refused_with_words(
    changes: Command, bare: Repo, begin: tuple[str, ...], words: str
) -> None:
    bare.commit({"x.txt": b"1\n"})
    bare.git("checkout", "-qb", "other")
    bare.commit({"x.txt": b"2\n"})
    bare.git("checkout", "-q", "main")
    bare.commit({"x.txt": b"3\n"})
    assert subprocess.call(["git", *begin], cwd=bare.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bare.session.write("a.txt", b"new\n")
    before = bare.said("rev-parse", "HEAD"), bare.tree()
    ran = changes("commit", bare.session.id, "--message", "No")
    assert (ran.code, words in ran.err) == (1, True)
    assert (bare.said("rev-parse", "HEAD"), bare.tree()) == before


def test_a_locked_index_is_waited_for_and_then_said(
    changes: Command, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_commit, "LOCK_PATIENCE_S", 0.1)
    lock = repo.folder / ".git/index.lock"
    lock.write_bytes(b"somebody's")
    before = repo.said("rev-parse", "HEAD")
    ran = changes("commit", repo.session.id, "--message", "Ours")
    assert (ran.code, "Another program has locked the index" in ran.err) == (1, True)
    assert (lock.read_bytes(), repo.said("rev-parse", "HEAD")) == (b"somebody's", before)
    monkeypatch.setattr(git_commit, "LOCK_PATIENCE_S", 30.0)
    waiting = subprocess.Popen(["sh", "-c", f"sleep 0.3; rm '{lock}'"])
    assert changes("commit", repo.session.id, "--message", "Ours").code == 0
    waiting.wait()


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
def test_a_hook_that_fails_leaves_everything_as_it_was(changes: Command, repo: Repo, name: str) -> None:
    repo.hook(name, f"echo no from {name} >&2; exit 3")
    before = repo.untouched()
    ran = changes("commit", repo.session.id, "--message", "Ours")
    assert (ran.code, f"The hook {name} refused the commit." in ran.err, f"no from {name}" in ran.err) == (
        1,
        True,
        True,
    )
    assert repo.untouched() == before


def test_hooks_see_the_commit_and_what_they_change_is_reported(changes: Command, repo: Repo) -> None:
    (repo.folder / "z.txt").write_bytes(b"mine, staged\n")
    repo.git("add", "z.txt")
    repo.hook("pre-commit", "git diff --cached --name-only; echo made > made.txt; git add made.txt; echo x >> a.txt")
    repo.hook("prepare-commit-msg", 'sed -i "1s/^/[$2] /" "$1"')
    repo.hook("commit-msg", 'echo >> "$1"; echo "Checked-by: hook" >> "$1"')
    repo.hook("post-commit", "git log -1 --format=%s; exit 1")
    ran = changes("commit", repo.session.id, "--message", "Ours", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["hooks_output"] == "pre-commit: a.txt\npost-commit: [message] Ours"
    assert ran.json["changed_by_hooks"] == ["a.txt", "made.txt"]
    assert ran.json["files"] == ["a.txt", "made.txt"]
    assert repo.said("log", "-1", "--format=%B") == "[message] Ours\n\nChecked-by: hook"
    assert repo.blob("a.txt") == edited(TEXT, OURS)
    assert repo.said("status", "--porcelain").split("\n") == ["M a.txt", "A  z.txt"]


def test_a_hook_is_heard_while_it_runs_and_ends_with_the_command(repo: Repo) -> None:
    repo.hook("pre-commit", "echo checking; sleep 1000")
    before = repo.untouched()
    argv = [sys.executable, "-m", "desktop_agent", "changes", "commit", repo.session.id, "--message", "Ours"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "checking\n"
        running.send_signal(signal.SIGINT)
        output, complaint = running.communicate()
    assert (running.returncode, output, complaint) == (130, "", "")
    assert repo.untouched() == before


def test_an_undone_commit_leaves_files_and_staged_changes(changes: Command, repo: Repo) -> None:
    (repo.folder / "a.txt").write_bytes(edited(repo.session.read("a.txt"), {15: b"mine\n"}))
    repo.git("add", "-A")
    head, tree = repo.said("rev-parse", "HEAD"), repo.tree()
    assert changes("commit", repo.session.id, "--message", "Ours").code == 0
    staged = repo.staged()
    assert b"+mine" in staged
    assert b"+five" not in staged
    ran = changes("commit", repo.session.id, "--undo", "--json")
    assert ran.code == 0, ran.err
    assert (repo.said("rev-parse", "HEAD"), repo.staged(), repo.tree()) == (head, staged, tree)
    assert changes("commit", repo.session.id, "--undo").code == 2


def test_a_commit_that_is_not_the_tip_or_was_pushed_is_not_undone(changes: Command, repo: Repo, tmp_path: Path) -> None:
    assert changes("commit", repo.session.id, "--message", "Ours").code == 0
    repo.git("init", "-q", "--bare", str(tmp_path / "remote"))
    repo.git("push", "-q", str(tmp_path / "remote"), "main")
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    repo.git("fetch", "-q")
    assert "pushed already" in changes("commit", repo.session.id, "--undo").err
    repo.commit({"later.txt": b"1\n"})
    assert "not the last commit" in changes("commit", repo.session.id, "--undo").err


Setting = Callable[[Repo], None]


def filtered(repo: Repo) -> None:
    repo.git("config", "filter.rot.clean", "tr a-z n-za-m")
    repo.git("config", "filter.rot.smudge", "tr n-za-m a-z")
    repo.commit({".gitattributes": b"*.txt filter=rot\n"})


def autocrlf(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")


def assumed(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.txt")


def sparse(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!/a.txt")
    (repo.folder / "a.txt").write_bytes(TEXT.replace(b"\n", b"\n"))


def split(repo: Repo) -> None:
    repo.git("update-index", "--split-index")


@pytest.mark.parametrize("setting", [filtered, autocrlf, assumed, sparse, split])
def test_settings_of_the_repository_are_followed(changes: Command, bare: Repo, setting: Setting) -> None:
    eol = b"\r\n" if setting is autocrlf else b"\n"
    setting(bare) if setting in (filtered, autocrlf) else None
    bare.commit({"a.txt": TEXT.replace(b"\n", eol), "b.txt": b"b\n"})
    setting(bare) if setting not in (filtered, autocrlf) else None
    bare.session.write("a.txt", edited(TEXT, OURS).replace(b"\n", eol))
    (bare.folder / "a.txt").write_bytes(edited(edited(TEXT, OURS), {15: b"mine\n"}).replace(b"\n", eol))
    ran = changes("commit", bare.session.id, "--message", "Ours", "--json")
    assert (ran.code, ran.json["left_out"]) == (0, []), ran.err
    assert bare.git("cat-file", "--filters", "HEAD:a.txt") == edited(TEXT, OURS).replace(b"\n", eol)
    assert bare.said("diff", "--numstat", "HEAD~1", "HEAD") == "3\t3\ta.txt"
    assert bare.staged() == []


def test_in_a_linked_worktree_and_in_a_subfolder(changes: Command, repo: Repo, tmp_path: Path) -> None:
    place = tmp_path / "linked"
    repo.git("worktree", "add", "-q", str(place), "-b", "side")
    (place / "sub").mkdir()
    session = RecordedSession(place / "sub")
    session.write("b.txt", b"new\n")
    main = repo.said("rev-parse", "main"), repo.said("status", "--porcelain")
    ran = changes("commit", session.id, "--message", "Beside", "--json")
    assert ran.json["files"] == ["b.txt"], ran.err
    assert repo.said("ls-tree", "-r", "--name-only", "side").split() == ["a.txt", "sub/b.txt"]
    assert (repo.said("rev-parse", "main"), repo.said("status", "--porcelain")) == main


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="there is no ssh-keygen")
def test_commits_are_signed_as_configured(changes: Command, repo: Repo, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.check_call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)])
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingkey", f"{key}.pub")
    repo.git("config", "commit.gpgsign", "true")
    assert changes("commit", repo.session.id, "--message", "Signed").code == 0
    assert b"gpgsig -----BEGIN SSH SIGNATURE-----" in repo.git("cat-file", "commit", "HEAD")
    repo.git("config", "user.signingkey", str(tmp_path / "none.pub"))
    repo.session.write("b.txt", b"new\n")
    before = repo.untouched()
    assert changes("commit", repo.session.id, "--message", "Unsigned").code == 1
    assert repo.untouched() == before


def test_a_key_that_needs_a_passphrase_is_said_and_asks_nobody(
    changes: Command, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, asking = tmp_path / "key", tmp_path / "askpass"
    subprocess.check_call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key)])
    asking.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'; sleep 1000\n")
    asking.chmod(0o755)
    for name, value in (("SSH_ASKPASS", str(asking)), ("SSH_ASKPASS_REQUIRE", "force"), ("DISPLAY", ":9")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", f"{key}.pub"), ("commit.gpgsign", "true")):
        repo.git("config", name, value)
    before = repo.untouched()
    ran = changes("commit", repo.session.id, "--message", "Signed")
    assert (ran.code, "passphrase" in ran.err, (tmp_path / "asked").exists()) == (1, True, False)
    assert repo.untouched() == before


def test_a_repository_of_reftable(changes: Command, bare: Repo) -> None:
    if not _is_at_least(bare.said("version"), 2, 45):
        pytest.skip("git knows no reftable before 2.45")
    shutil.rmtree(bare.folder / ".git")
    bare.git("init", "-q", "--ref-format=reftable")
    bare.session.write("a.txt", b"new\n")
    assert changes("commit", bare.session.id, "--message", "First").code == 0
    bare.session.write("a.txt", b"newer\n", turn=2)
    assert changes("commit", bare.session.id, "--message", "Second").code == 0
    assert changes("commit", bare.session.id, "--undo").code == 0
    assert (bare.said("log", "--format=%s"), bare.staged()) == ("First", [])


def _is_at_least(version: str, *wanted: int) -> bool:
    return tuple(map(int, version.split()[2].split(".")[:2])) >= wanted


def test_outside_a_repository_it_says_so(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"new\n")
    ran = changes("commit", session.id, "--message", "No")
    assert (ran.code, "not in a git repository" in ran.err) == (2, True)  # as any folder that cannot be used


def test_a_repository_of_sha256(changes: Command, bare: Repo) -> None:
    shutil.rmtree(bare.folder / ".git")
    bare.git("init", "-q", "--object-format=sha256")
    bare.session.write("a.txt", b"new\n")
    assert changes("commit", bare.session.id, "--message", "First").code == 0
    assert len(bare.said("rev-parse", "HEAD")) == 64
    assert changes("commit", bare.session.id, "--undo").code == 0
