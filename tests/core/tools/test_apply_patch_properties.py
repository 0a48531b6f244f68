"""Every git patch between two files turns the first exactly into the second."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch, apply_hunks
from desktop_agent.core.tools.files.text_files import TextFile
from desktop_agent.core.tools.patches import parse_patch, read_diff
from tests.core.tools.conftest import Workspace

TOOL = ApplyPatch()
TEXTS = [
    "", "a", "b", "c", "-- x", "++ y", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No", "*** End Patch", "é\x0c\u2028",
    " ", "+",
]  # fmt: skip
LINES = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(["\n", "\n", "\n", "\r\n"])), max_size=14)
CONTENT = st.tuples(LINES, st.sampled_from(["", "", "end"]), st.sampled_from(["", "", "\ufeff"])).map(
    lambda parts: (parts[2] + "".join(text + ending for text, ending in parts[0]) + parts[1]).encode()
)
SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def git_diff(folder: Path, before: bytes | None, after: bytes | None, *options: str) -> str:
    for name, content in (("old", before), ("new", after)):
        (folder / name).write_bytes(content or b"")
    names = ["old" if before is not None else "/dev/null", "new" if after is not None else "/dev/null"]
    argv = ["git", "diff", "--no-index", "--no-color", *options, "--", *names]
    run = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=False)  # noqa: TID251 - a yardstick
    return run.stdout.decode()


@SLOW
@given(before=CONTENT, after=CONTENT, context=st.sampled_from(["-U3", "-U1", "-U20"]))
def test_what_git_says_is_what_comes_out(tmp_path: Path, before: bytes, after: bytes, context: str) -> None:
    """T-75, T-81, Z-80, Z-81."""
    text = git_diff(tmp_path, before, after, context)
    if before == after:
        assert text == ""
        return
    (patch,) = parse_patch(text)
    result = apply_hunks(TextFile(before), patch.hunks)
    assert result.content == after
    assert result.notes == ()


@SLOW
@given(before=CONTENT, after=CONTENT)
def test_a_patch_without_line_numbers_finds_its_place(tmp_path: Path, before: bytes, after: bytes) -> None:
    """T-75: the same hunks in the other format; enough context makes each place unique."""
    text = git_diff(tmp_path, before, after, "-U99")
    if not text or not before:
        return
    body = text.split("\n", 4)[4] if "\n+++ " in text else ""
    lines = [line for line in body.split("\n")[1:] if not line.startswith("\\ ")]
    (patch,) = parse_patch("*** Begin Patch\n*** Update File: a\n@@\n" + "\n".join(lines) + "*** End Patch\n")
    result = apply_hunks(TextFile(before), patch.hunks).content
    # This format has no final newline, so the file's end stays as it was.
    assert result.rstrip(b"\r\n") == after.rstrip(b"\r\n")


@SLOW
@given(before=CONTENT, index=st.integers(0, 20), text=st.sampled_from(["new", "neu é"]))
def test_every_line_but_the_changed_one_keeps_its_bytes(before: bytes, index: int, text: str) -> None:
    """Z-81, for a patch by a model, which does not mention line endings."""
    file = TextFile(b"first\r\n" + before)
    lines = [line.removesuffix("\n").removesuffix("\r") for line in file.lines]
    index %= len(lines)
    signed = [f"-{line}\n+{text}" if number == index else f" {line}" for number, line in enumerate(lines)]
    (patch,) = parse_patch("*** Update File: a\n@@\n" + "\n".join(signed) + "\n*** End Patch")
    after = apply_hunks(file, patch.hunks).content
    old, new = file.lines, TextFile(after).lines
    assert new[:index] == old[:index]
    assert new[index + 1 :] == old[index + 1 :]
    assert new[index] == text + old[index][len(lines[index]) :]


def test_added_and_deleted_files_come_out_as_git_says(work: Workspace, tmp_path: Path) -> None:
    for number, content in enumerate([b"a\nb\n", b"a\r\nb", b"\xef\xbb\xbfx\n", b"\n\n", b"--- a\n+++ b\n"]):
        name = f"f{number}"
        text = git_diff(tmp_path, None, content).replace("b/new", f"b/{name}")
        work.apply(TOOL, patch=text)
        assert work.bytes_of(name) == content
        text = git_diff(tmp_path, content, None).replace("a/old", f"a/{name}")
        work.apply(TOOL, patch=text)
        assert not (work.root / name).exists()


@pytest.mark.parametrize("options", [[], ["-M"], ["--no-prefix"], ["-C", "--find-copies-harder"]])
def test_a_whole_commit_comes_out_as_git_says(work: Workspace, tmp_path: Path, options: list[str]) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*argv: str) -> bytes:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"]
        return subprocess.check_output(["git", *identity, *argv], cwd=repository)

    body = "".join(f"line {number}\n" for number in range(40))
    before = {"a.txt": body, "gone.txt": "x\n", "moved.txt": body * 2, "with space.txt": "s\n", "grüße\t.txt": "g\r\n"}
    after = {
        "a.txt": body.replace("line 3\n", "LINE 3\n").replace("line 30\n", ""),
        "sub/moved.txt": body * 2 + "more\n",
        "with space.txt": "S",
        "grüße\t.txt": "G\r\n",
        "empty": "",
        "copy.txt": body + "copied\n",
        "run.sh": "#!/bin/sh\n",
    }
    git("init", "-q")
    for name, text in before.items():
        (repository / name).write_bytes(text.encode())
        work.write(name, text)
    git("add", "-A")
    git("commit", "-qm", "before")
    git("rm", "-rqf", ".")
    for name, text in after.items():
        (repository / name).parent.mkdir(exist_ok=True, parents=True)
        (repository / name).write_bytes(text.encode())
    (repository / "run.sh").chmod(0o755)
    git("add", "-A")
    patch = git("diff", "--cached", *options).decode()
    answer = work.apply(TOOL, patch=patch)
    left = {
        path.relative_to(work.root).as_posix(): path.read_bytes() for path in work.root.rglob("*") if path.is_file()
    }
    assert left == {name: text.encode() for name, text in after.items()}
    assert (work.root / "run.sh").stat().st_mode & 0o111
    assert len(answer["files"]) == len(read_diff(patch.split("\n")))


@SLOW
@given(content=CONTENT)
def test_a_file_that_is_added_has_the_lines_it_says(content: bytes) -> None:  # T-76
    lines = content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n") if content else []
    text = "*** Begin Patch\n*** Add File: a\n" + "".join(f"+{line}\n" for line in lines) + "*** End Patch\n"
    (patch,) = parse_patch(text)
    added = apply_hunks(TextFile(b""), patch.hunks).content if lines else b""
    assert added == "".join(f"{line}\n" for line in lines).encode()
