"""Git makes the new files from the old ones with a patch, and the reverse."""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.changes import patch as patch_module
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.protocol.model import ChangeKind, FileChange, FileImage, FileKind
from desktop_agent.core.transcript import ChangeRecord

GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")


@dataclass(frozen=True)
class File:
    """A file as git sees it: content or link target, and the executable bit."""

    content: bytes
    kind: FileKind = "file"
    is_executable: bool = False

    def image(self) -> FileImage:
        mode = 0o777 if self.kind == "symlink" else 0o755 if self.is_executable else 0o644
        digest = blake2b(self.content, digest_size=32).hexdigest()
        return FileImage(digest=digest, size=len(self.content), mode=mode, kind=self.kind)


Tree = dict[str, File]

PIECES = (
    b"a\n", b"b\n", b"c\r\n", b"\n", b"- x\n", b"-- a/x\n", b"++ b/x\n", b"+\n", b"\\ No\n", b"\xff\n", b"d\n",
    b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"rename from x\n", b"GIT binary patch\n", b" \n", b"\r", b"\0",
    b"\xff\xfea\0\n\0", b"line\n" * 20,
)  # fmt: skip
NAMES = (
    "app.py", "a b", " lead", "trail ", 'quo"te', "back\\slash", "tab\there", "żółć", "new\nline", "bad\udcff", "-x",
    "a b/a b", "dir/file", "x b/x", "--- a", "a/b/c", "#", "\x7f", "b\r", "dev/null",
)  # fmt: skip

content = st.lists(st.sampled_from(PIECES)).map(b"".join)
loose_content = st.tuples(content, st.sampled_from([b"", b"", b"end"])).map(b"".join)
plain_file = st.builds(File, loose_content, is_executable=st.booleans())
symlink = st.sampled_from([b"target", b"../x y", b"two\nlines", b"\xff"]).map(lambda to: File(to, "symlink"))
any_file = st.one_of(plain_file, plain_file, symlink)
name = st.sampled_from(NAMES)
trees = st.dictionaries(name, any_file, max_size=3).filter(
    lambda tree: not any(other.startswith(f"{path}/") for path in tree for other in tree)
)


def change(path: str, before: File | None, after: File | None, moved_from: str = "") -> PatchFile:
    kind: ChangeKind = "created" if before is None else "deleted" if after is None else "modified"
    made = FileChange(
        id="1.1",
        path=path,
        kind="renamed" if moved_from else kind,
        author="agent",
        before=before.image() if before else None,
        after=after.image() if after else None,
        moved_from=moved_from,
    )
    return PatchFile(made, before.content if before else None, after.content if after else None)


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = {f"GIT_{role}_{what}": "t@t" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(  # noqa: TID251 - a test may wait for git
        [GIT, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        env={**environment, **who, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )


def lay_out(folder: Path, tree: Tree) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, file in tree.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.kind == "symlink":
            place.symlink_to(os.fsdecode(file.content))
        else:
            place.write_bytes(file.content)
            place.chmod(0o755 if file.is_executable else 0o644)


def read(folder: Path) -> Tree:
    found: Tree = {}
    for place in folder.rglob("*"):
        path = place.relative_to(folder).as_posix()
        if path.split("/")[0] == ".git":
            continue
        if place.is_symlink():
            found[path] = File(os.fsencode(place.readlink()), "symlink")
        elif place.is_file():
            found[path] = File(place.read_bytes(), is_executable=bool(place.stat().st_mode & 0o100))
    return found


def check(folder: Path, before: Tree, after: Tree, *files: PatchFile) -> bytes:
    """Apply the patch to real files, forwards and in reverse; return the patch."""
    patch = make_patch(files)
    if before == after:
        assert patch == b""
        return patch
    for start, end, options in ((before, after, []), (after, before, ["-R"])):
        lay_out(folder, start)
        result = git(folder, "apply", "--whitespace=nowarn", *options, "-", stdin=patch)
        assert result.returncode == 0, (result.stderr, patch)
        assert read(folder) == end, patch
    return patch


def changes_between(before: Tree, after: Tree) -> list[PatchFile]:
    return [change(path, before.get(path), after.get(path)) for path in sorted({*before, *after})]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "folder"


oracle = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@oracle
@given(path=name, before=st.none() | any_file, after=st.none() | any_file)
def test_git_makes_the_new_file_of_the_old_one_and_back(
    folder: Path, path: str, before: File | None, after: File | None
) -> None:
    """Z-80: created, deleted, emptied and changed files, executable or not, text or not, and links."""
    old, new = {path: before} if before else {}, {path: after} if after else {}
    if old or new:
        check(folder, old, new, change(path, before, after))


@oracle
@given(old=name, new=name, before=any_file, after=any_file, is_edited=st.booleans())
def test_git_renames_a_file_and_back(
    folder: Path, old: str, new: str, before: File, after: File, is_edited: bool
) -> None:
    if old == new:
        return
    after = after if is_edited else before
    check(folder, {old: before}, {new: after}, change(new, before, after, moved_from=old))


@oracle
@given(before=trees, after=trees)
def test_it_makes_the_same_of_a_tree_as_the_patch_of_git_itself(tmp_path: Path, before: Tree, after: Tree) -> None:
    if before == after:
        return
    check(tmp_path / "folder", before, after, *changes_between(before, after))
    repository = tmp_path / "repository"
    lay_out(repository, before)
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "before", "--allow-empty")
    keep = tmp_path / "git"
    shutil.rmtree(keep, ignore_errors=True)
    shutil.move(repository / ".git", keep)
    lay_out(repository, after)
    shutil.move(keep, repository / ".git")
    git(repository, "add", "-A")
    of_git = git(repository, "diff", "--cached", "--binary", "--full-index", "--no-renames").stdout
    lay_out(tmp_path / "folder", before)
    assert git(tmp_path / "folder", "apply", "-", stdin=of_git).returncode == 0
    assert read(tmp_path / "folder") == after
    # Git writes the same headers; hunks may differ.
    ours = make_patch(changes_between(before, after))
    assert headers(ours) == headers(of_git)


def headers(patch: bytes) -> list[bytes]:
    """The header lines of a patch whose files contain no such lines."""
    starts = (b"old mode ", b"new mode ", b"new file ", b"deleted file ", b"index ")
    return sorted(line for line in patch.splitlines() if line.startswith(starts))


def test_files_that_changed_places_change_them(folder: Path) -> None:
    before = {"a": File(b"first\n" * 9), "b": File(b"\0second")}
    after = {"a": before["b"], "b": File(b"first\n" * 9 + b"more\n")}
    files = change("a", before["b"], after["a"], "b"), change("b", before["a"], after["b"], "a")
    check(folder, before, after, *files)
    check(folder, before, after, *reversed(files))


@pytest.mark.parametrize("is_new_first", [True, False])
def test_a_new_file_comes_to_where_a_renamed_one_was(folder: Path, is_new_first: bool) -> None:
    before, after = {"a": File(b"text\n")}, {"b": File(b"text\n"), "a": File(b"new\n")}
    files = [change("b", before["a"], after["b"], "a"), change("a", None, after["a"])]
    check(folder, before, after, *(files[::-1] if is_new_first else files))


@pytest.mark.parametrize("is_reversed", [True, False])
def test_a_renamed_file_comes_to_where_one_was_that_became_a_link_elsewhere(folder: Path, is_reversed: bool) -> None:
    before = {"a": File(b"a\n"), "b": File(b"b\n"), "c": File(b"c\n")}
    after = {"b": File(b"edited\n"), "c": File(b"to", "symlink"), "d": before["c"]}
    files = [
        change("b", before["a"], after["b"], "a"),
        change("c", before["b"], after["c"], "b"),
        change("d", before["c"], after["d"], "c"),
    ]
    check(folder, before, after, *(files[::-1] if is_reversed else files))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_new_file_comes_to_where_one_was_that_became_a_link_elsewhere(folder: Path, is_reversed: bool) -> None:
    before, after = {"a": File(b"a\n")}, {"a": File(b"new\n"), "b": File(b"to", "symlink")}
    files = [change("a", None, after["a"]), change("b", before["a"], after["b"], "a")]
    check(folder, before, after, *(files[::-1] if is_reversed else files))


@oracle
@given(chance=st.randoms(use_true_random=False), steps=st.integers(1, 9))
def test_whatever_happened_to_the_files_of_a_session_is_one_patch(
    folder: Path, chance: random.Random, steps: int
) -> None:
    paths = ["a", "b", "c d", "sub/e"]
    tree = {path: File(f"{path}\n".encode() * 9) for path in paths[: chance.randint(0, 4)]}
    before, records = dict(tree), list[ChangeRecord]()

    def record(path: str, old: File | None, new: File | None, moved_from: str = "", moved_to: str = "") -> None:
        made = replace(change(path, old, new, moved_from).change, id=f"1.{len(records)}", moved_to=moved_to)
        records.append(ChangeRecord(made, turn=1, call_id="", at=datetime(2026, 11, 22, tzinfo=UTC)))

    for step in range(steps):
        written = chance.choice([File(f"step {step}\n".encode()), File(b"\0%d" % step), File(b"to", "symlink")])
        old, new = chance.choice(sorted(tree) or paths), chance.choice(paths)
        match chance.choice(["write", "delete", "rename"]):
            case "delete" if old in tree:
                record(old, tree.pop(old), None)
            case "rename" if old in tree and old != new:
                moved, replaced = tree.pop(old), tree.get(new)
                tree[new] = chance.choice([moved, moved, written])
                record(old, moved, None, moved_to=new)
                record(new, replaced, tree[new], moved_from=old)
            case _:
                record(new, tree.get(new), written)
                tree[new] = written
    contents = {file.image().digest: file.content for file in (*before.values(), *tree.values())}
    files = [
        PatchFile(
            row.change,
            contents[row.change.before.digest] if row.change.before else None,
            contents[row.change.after.digest] if row.change.after else None,
        )
        for row in net_changes(records)
    ]
    check(folder, before, tree, *files)


def test_a_chain_of_renames_moves_every_file_on(folder: Path) -> None:
    before = {path: File(f"{path}\n".encode()) for path in "abc"}
    after = {"b": before["a"], "c": before["b"], "d": before["c"]}
    moves = [change(new, after[new], after[new], old) for old, new in ("ab", "bc", "cd")]
    check(folder, before, after, *moves)
    check(folder, before, after, *reversed(moves))


def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(folder: Path) -> None:
    check(folder, {"x/y": File(b"in\n")}, {"x": File(b"file\n")}, change("x/y", File(b"in\n"), None),
          change("x", None, File(b"file\n")))  # fmt: skip
    check(folder, {"x": File(b"in\n")}, {"x/y": File(b"in\n")}, change("x/y", File(b"in\n"), File(b"in\n"), "x"))


def test_a_conversion_of_line_endings_is_a_patch_too(folder: Path) -> None:
    before = b"".join(b"line %d\r\n" % number for number in range(30))
    after = before.replace(b"\r\n", b"\n").replace(b"line 12", b"changed")
    patch = check(folder, {"dos": File(before)}, {"dos": File(after)}, change("dos", File(before), File(after)))
    assert b"GIT binary patch" not in patch


def test_text_in_another_encoding_stays_text_unless_it_has_nuls(folder: Path) -> None:
    latin, utf16 = "Zażółć gęślą jaźń\n".encode("cp1250"), "żółć\n".encode("utf-16")
    changed = change("a", File(latin), File(latin * 2))
    assert b"+" + latin in check(folder, {"a": File(latin)}, {"a": File(latin * 2)}, changed)
    assert "\n+Zażółć gęślą jaźń\n" in make_patch([changed], is_for_reading=True).decode()
    patch = check(folder, {"a": File(utf16)}, {"a": File(latin)}, change("a", File(utf16), File(latin)))
    assert b"GIT binary patch" in patch


def test_binary_content_of_any_length_survives(folder: Path) -> None:
    long = bytes(range(256)) * 5_000 + os.urandom(1_300_000)
    for size in (1, 2, 51, 52, 53, 104, len(long)):
        before, after = File(b"\0" + os.urandom(size)), File(long[:size] + b"\0")
        check(folder, {"data": before}, {"data": after}, change("data", before, after))


def test_a_file_too_large_to_compare_goes_in_as_a_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch_module, "MAX_COMPARED_BYTES", 50)
    before, after = File(b"line\n" * 10), File(b"line\n" * 12)
    patch = check(folder, {"big": before}, {"big": after}, change("big", before, after))
    assert b"GIT binary patch" in patch


def test_a_rename_says_how_much_stayed() -> None:
    before = File(b"same\n" * 9 + b"old!\n")
    assert b"similarity index 100%\n" in make_patch([change("b", before, before, "a")])
    assert b"similarity index 90%\n" in make_patch([change("b", before, File(b"same\n" * 9 + b"new!\n"), "a")])
    assert b"similarity index 0%\n" in make_patch([change("b", File(b"\0"), File(b"\0\0"), "a")])


def test_folders_are_named_and_do_not_stop_the_others(folder: Path) -> None:
    made = File(b"", "folder")
    files = change("new\ndir", None, made), change("old", made, None), change("a", File(b"a\n"), File(b"b\n"))
    patch = check(folder, {"a": File(b"a\n")}, {"a": File(b"b\n")}, *files)
    assert patch.startswith(
        b'# not in this patch: the folder "new\\ndir", which is new\n'
        b"# not in this patch: the folder old, which is gone\ndiff --git "
    )


def test_a_file_in_the_place_of_an_empty_folder_is_in_the_patch(folder: Path) -> None:
    patch = make_patch([change("x", File(b"", "folder"), File(b"text\n"))])
    assert b"the folder x, which is gone" in patch
    assert b"new file mode 100644" in patch


def test_permissions_that_git_does_not_know_are_named() -> None:
    made = change("a", File(b"a\n"), File(b"a\n")).change
    private = FileImage(digest="0" * 64, size=2, mode=0o600)
    made = FileChange(id="1.1", path="a", kind="mode_changed", author="shell", before=made.before, after=private)
    assert make_patch([PatchFile(made, b"a\n", b"a\n")]) == "# not in this patch: mode 644 → 600 of a\n".encode()


def test_what_was_created_and_deleted_again_is_not_in_the_patch() -> None:
    assert make_patch([change("a", None, None)]) == b""
