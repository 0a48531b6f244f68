"""`apply_patch`: a whole patch in any form, or nothing and the line that does not fit."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.files import new_file_mode
from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.patches import MOST_LINES_MOVED
from tests.core.tools.conftest import Workspace

TOOL = ApplyPatch()
CODE = """class A:
    def run(self):
        x = 1
        return x


class B:
    def run(self):
        x = 1
        return x
"""


def apply(work: Workspace, patch: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, patch=patch, **arguments)


def refusal(work: Workspace, patch: str, **arguments: object) -> str:
    message = str(work.refused(TOOL, patch=patch, **arguments))
    assert "Nothing was" in message or "cannot be read" in message
    return message


# --- forms ------------------------------------------------------------------------------------------------------------


def test_several_files_are_changed_by_one_patch(work: Workspace) -> None:  # T-75, T-76, T-79
    work.write("a.py", CODE)
    work.write("old.txt", "one\ntwo\n")
    work.write("gone.txt", "x\ny")
    answer = apply(
        work,
        "*** Begin Patch\n*** Update File: a.py\n@@ class B:\n-        x = 1\n+        x = 2\n         return x\n"
        "*** Add File: new/b.py\n+first\n+\n+last\n*** Update File: old.txt\n*** Move to: sub/new.txt\n@@\n one\n-two\n"
        "+2\n*** Delete File: gone.txt\n*** End Patch\n",
    )
    assert answer == {
        "ok": True,
        "action": "Patch",
        "files": [
            {"path": "a.py", "action": "Update", "added": 1, "removed": 1},
            {"path": "new/b.py", "action": "Add", "added": 3, "removed": 0},
            {"path": "sub/new.txt", "action": "Move", "added": 1, "removed": 1, "from": "old.txt"},
            {"path": "gone.txt", "action": "Delete", "added": 0, "removed": 2},
        ],
    }
    assert work.bytes_of("a.py").decode() == CODE[::-1].replace("1 = x", "2 = x", 1)[::-1]
    assert work.bytes_of("new/b.py") == b"first\n\nlast\n"
    assert work.bytes_of("sub/new.txt") == b"one\n2\n"
    assert not (work.root / "old.txt").exists()
    assert not (work.root / "gone.txt").exists()


@pytest.mark.parametrize(
    ("patch", "file_path"),
    [
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch", None),
        ("*** Update File: a.txt\n@@\n-two\n+2", None),
        ("*** Update File: a.txt\n one\n-two\n+2\n three\n", "a.txt"),
        ("*** Begin Patch\n*** Update File: a.txt\n- two\n+ 2\n*** End Patch", None),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", None),
        ("--- a.txt\t2024-01-02 03:04:05.000 +0100\n+++ a.txt\t2024-01-02 03:04:06\n@@ -2 +2 @@\n-two\n+2\n", None),
        ("--- a.txt.orig\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", None),
        (
            "From: me\nSubject: x\n\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,3 +1,3 @@ heading\n one\n-two\n+2\n three\n-- \n2.39.5\n",
            None,
        ),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,7 @@\n one\n-two\n+2\n three\n", None),
        ("*** Update File: a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n*** End Patch\n", None),
        ("@@\n one\n-two\n+2\n", "a.txt"),
        ("@@ -2,1 +2,1 @@\n-two\n+2\n", "a.txt"),
        ("@@ one @@\n-two\n+2\n", "a.txt"),
        (" one\n-two\n+2\n", "a.txt"),
        ("-two\n+2", "a.txt"),
        ("- two\n+ 2", "./a.txt"),
        ("```diff\n-two\n+2\n```\n", "a.txt"),
        ("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n-two\n+2\n*** End Patch\nEOF\n", None),
        ("*** Update File: a.txt\r\n@@\r\n one\r\n-two\r\n+2\r\n", None),
    ],
)
def test_every_form_says_the_same(work: Workspace, patch: str, file_path: str | None) -> None:  # T-74, T-75
    work.write("a.txt", "one\ntwo\nthree\n")
    answer = apply(work, patch, file_path=file_path)
    assert work.bytes_of("a.txt") == b"one\n2\nthree\n"
    entry = {"path": "a.txt", "action": "Update", "added": 1, "removed": 1}
    assert answer == {"ok": True, "action": "Update", "path": "a.txt", "files": [entry]}


def test_a_git_header_alone_renames_copies_and_sets_modes(work: Workspace) -> None:
    work.write("a.sh", b"\0binary").chmod(0o640)
    work.write("link-target", "x")
    (work.root / "link").symlink_to("link-target")
    apply(work, "diff --git a/a.sh b/b.sh\nsimilarity index 100%\nrename from a.sh\nrename to b.sh\n")
    apply(work, "diff --git a/b.sh b/b.sh\nold mode 100644\nnew mode 100755\n")
    assert (work.root / "b.sh").stat().st_mode & 0o777 == 0o750
    apply(work, "diff --git a/b.sh b/b.sh\nold mode 100755\nnew mode 100644\n")
    assert (work.root / "b.sh").stat().st_mode & 0o777 == 0o640
    assert apply(work, "diff --git a/b.sh b/c.sh\ncopy from b.sh\ncopy to c.sh\n")["action"] == "Copy"
    assert work.bytes_of("b.sh") == work.bytes_of("c.sh") == b"\0binary"
    apply(work, "*** Update File: link\n*** Move to: link2\n")
    assert os.readlink(work.root / "link2") == "link-target"  # noqa: PTH115 - the text of the link itself


def test_quoted_names_are_read_as_git_writes_them(work: Workspace) -> None:
    work.write('gr\u00fc\u00dfe\t"x"\\.txt', "a\n")
    name = r"gr\303\274\303\237e\t\"x\"\\.txt"
    apply(work, f'diff --git "a/{name}" "b/{name}"\n--- "a/{name}"\n+++ "b/{name}"\n@@ -1 +1 @@\n-a\n+b\n')
    assert work.bytes_of('gr\u00fc\u00dfe\t"x"\\.txt') == b"b\n"


def test_a_folder_called_a_is_not_taken_for_a_prefix(work: Workspace) -> None:
    work.write("a/x.txt", "one\n")
    apply(work, "--- a/x.txt\n+++ a/x.txt\n@@ -1 +1 @@\n-one\n+1\n")
    apply(work, "*** Update File: a/x.txt\n-1\n+one\n")
    apply(work, "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-one\n+1\n", file_path="a/x.txt")
    assert work.bytes_of("a/x.txt") == b"1\n"


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("+a\n+b\n", b"a\nb\n"),
        ("+a\n\n\n", b"a\n"),
        ("+a\n+\n", b"a\n\n"),
        ("", b""),
        ("+a\n-ignored\n@@ ignored\n*** ignored\nliteral\n", b"a\nliteral\n"),
    ],
)
def test_an_added_file_has_its_lines_and_one_newline_at_the_end(work: Workspace, body: str, content: bytes) -> None:
    """T-76."""
    assert apply(work, f"*** Add File: n.txt\n{body}")["action"] == "Add"
    assert work.bytes_of("n.txt") == content


def test_parts_of_a_patch_see_what_earlier_parts_did(work: Workspace) -> None:
    work.write("a.txt", "one\n")
    plan = work.plan(
        TOOL,
        patch="*** Update File: a.txt\n-one\n+two\n*** Update File: a.txt\n-two\n+three\n*** Add File: b\n+b\n"
        "*** Update File: b\n-b\n+B\n*** Delete File: a.txt\n*** Add File: a.txt\n+four\n",
    )
    assert {write.path: write.after.content for write in plan.writes if write.after} == {
        "a.txt": b"four\n",
        "b": b"B\n",
    }
    assert [write.before.content for write in plan.writes if write.before] == [b"one\n"]


def test_files_that_go_away_come_last(work: Workspace) -> None:
    """A crash in between then leaves a file twice instead of nowhere."""
    work.write("a.txt", "x\n")
    plan = work.plan(TOOL, patch="*** Delete File: a.txt\n*** Add File: b.txt\n+x\n")
    assert [write.path for write in plan.writes] == ["b.txt", "a.txt"]


# --- where a hunk belongs ---------------------------------------------------------------------------------------------

UPDATE = "*** Update File: a.txt\n"
TO_2 = "-        x = 1\n+        x = 2\n"
SECOND = "x = 2".join(CODE.rsplit("x = 1", 1))
MOVED = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
FIVE = "one\ntwo\nthree\nfour\nfive\n"
BYTES = f"{UPDATE}@@\n a\n-old\n+new\n+more\n b\n"
TWO_LINES = b"one\r\ntwo"


def fits(name: str, before: str | bytes, patch: str, after: str | bytes, fuzz: str = "") -> ParameterSet:
    old, new = (text.encode() if isinstance(text, str) else text for text in (before, after))
    return pytest.param(old, patch, new, fuzz, id=name)


FITS = [
    fits("bare pairs apart", "one\ntwo\nthree\n", "- one\n+ 1\n- three\n+ 3\n", "1\ntwo\n3\n"),
    fits("a space after the sign that is text", "if x:\n    y\n z\n", "-    y\n+    w\n", "if x:\n    w\n z\n"),
    fits("a comment with dashes", "-- slow\nSELECT 1;\n",
         f"{UPDATE}@@\n--- slow\n+++ quick\n SELECT 1;\n*** End Patch\n", "++ quick\nSELECT 1;\n"),
    fits("a comment with dashes and numbers", "-- slow\nSELECT 1;\n",
         f"{UPDATE}@@ -9,9 +9,9 @@\n--- slow\n+++ quick\n SELECT 1;\n*** End Patch\n", "++ quick\nSELECT 1;\n"),
    fits("an anchor", CODE, f"{UPDATE}@@ class B:\n{TO_2}", SECOND),
    fits("two anchors", CODE, f"{UPDATE}@@ class A:\n@@ def run\n{TO_2}", CODE.replace("x = 1", "x = 2", 1)),
    fits("two whole anchors", CODE, f"{UPDATE}@@ class B:\n@@     def run(self):\n{TO_2}", SECOND),
    fits("a line number", CODE, f"--- a.txt\n+++ a.txt\n@@ -9,1 +9,1 @@\n{TO_2}", SECOND),
    fits("lines that moved", "x\n" * MOST_LINES_MOVED + "one\ntwo\n", MOVED, "x\n" * MOST_LINES_MOVED + "one\n2\n",
         f"found {MOST_LINES_MOVED} lines below"),
    fits("a hunk behind one that moved", "new\nnew\none\nx\nx\nsame\nx\nx\nx\nsame\n",
         "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-same\n+other\n",
         "new\nnew\n1\nx\nx\nother\nx\nx\nx\nsame\n"),
    fits("white space at the end of lines", "one  \ntwo\t\nthree\n", f"{UPDATE}@@\n one\n-two\n+2\n three \n",
         "one  \n2\nthree\n", "a.txt: hunk 1: white space at the end of lines was ignored"),
    fits("an indent by tabs", "class A:\n\tdef f(self):\n\t\tpass\n\n    # four\n",
         f"{UPDATE}@@\n def f(self):\n-    pass\n+    return 1\n+\n+def g(self): ...\n",
         "class A:\n\tdef f(self):\n\t\treturn 1\n\n\tdef g(self): ...\n\n    # four\n", "both ends"),
    fits("an indent by two", "if x:\n    a\n    b\n", f"{UPDATE}@@\n if x:\n-  a\n+  c\n+  d\n   b\n",
         "if x:\n    c\n    d\n    b\n"),
    fits("an indent that is missing", "  if x:\n    a\n", f"{UPDATE}@@\n if x:\n-  a\n+  c\n+      d\n",
         "  if x:\n    c\n        d\n"),
    fits("an indent too many", "if x:\n  a\n", f"{UPDATE}@@\n     if x:\n-      a\n+      c\n+        d\n",
         "if x:\n  c\n    d\n"),
    fits("lines for the end of the file", TWO_LINES, f"{UPDATE}@@\n+three\n*** End of File\n", b"one\r\ntwo\r\nthree"),
    fits("lines for an anchor", TWO_LINES, f"{UPDATE}@@ one\n+1.5\n", b"one\r\n1.5\r\ntwo"),
    fits("lines for a line number", TWO_LINES, "--- a.txt\n+++ a.txt\n@@ -1,0 +2 @@\n+1.7\n", b"one\r\n1.7\r\ntwo"),
    fits("lines for an empty file", "", f"{UPDATE}@@\n+x\n", "x\n"),
    fits("the end of the file", "x\ny\nx\n", f"{UPDATE}@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n"),
    fits("hunks in any order", "one\ntwo\nthree\n", f"{UPDATE}@@\n-three\n+3\n@@\n-one\n+1\n", "1\ntwo\n3\n"),
    fits("CRLF", b"a\r\nold\r\nb\r\n", BYTES, b"a\r\nnew\r\nmore\r\nb\r\n"),
    fits("endings of both kinds", b"a\nold\r\nb\r\n", BYTES, b"a\nnew\r\nmore\r\nb\r\n"),
    fits("no newline at the end", b"a\nold\nb", BYTES, b"a\nnew\nmore\nb"),
    fits("a byte order mark", b"\xef\xbb\xbfa\r\nold\r\nb", BYTES, b"\xef\xbb\xbfa\r\nnew\r\nmore\r\nb"),
    fits("UTF-16", "a\r\nold\r\nb\r\n".encode("utf-16"), BYTES, "a\r\nnew\r\nmore\r\nb\r\n".encode("utf-16")),
    fits("bytes that are no text", b"a\nold\nb\n\xe9\x0c\x85\n", BYTES, b"a\nnew\nmore\nb\n\xe9\x0c\x85\n"),
    fits("context that is no text", b"caf\xe9 1\nold\n", f"{UPDATE}@@\n caf\ufffd 1\n-old\n+new\n",
         b"caf\xe9 1\nnew\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "patch", "after", "fuzz"), FITS)
def test_a_hunk_is_applied_where_it_belongs_and_everything_else_stays(
    work: Workspace, before: bytes, patch: str, after: bytes, fuzz: str
) -> None:
    """T-75, Z-81, Z-82: the mode stays, too."""
    work.write("a.txt", before).chmod(0o754)
    answer = apply(work, patch, file_path=None if "a.txt" in patch else "a.txt")
    assert work.bytes_of("a.txt") == after
    assert (work.root / "a.txt").stat().st_mode & 0o777 == 0o754
    assert fuzz in answer.get("fuzz", "")


def stays(name: str, before: str | bytes, patch: str, *says: str) -> ParameterSet:
    return pytest.param(before, patch, says, id=name)


STAYS = [
    stays("a bare pair that is not there", "1\ntwo\n3\n", "- 1\n+ one\n- four\n+ 4\n", "hunk 2 of 2"),
    stays("an ambiguous hunk", CODE, f"{UPDATE}@@\n{TO_2}", "are at 2 places (lines 3, 9)"),
    stays("an ambiguous hunk behind an anchor", CODE, f"{UPDATE}@@ def run\n{TO_2}", "are at 2 places (lines 3, 9)"),
    stays("an ambiguous anchor", CODE, f"{UPDATE}@@ def run\n+        y = 2\n", "is at 2 places (lines 2, 8)"),
    stays("a line number between two", CODE,
          "--- a.txt\n+++ a.txt\n@@ -7,1 +7,1 @@\n-        return x\n+        return 0\n", "2 places"),
    stays("lines that moved too far", "x\n" * (MOST_LINES_MOVED + 1) + "one\ntwo\n", MOVED,
          f"more than {MOST_LINES_MOVED} lines from where it says"),
    stays("an indent that is not clear", "if x:\n\ta\n\tb\n", f"{UPDATE}@@\n if x:\n-    a\n-  b\n+   c\n",
          "another indent"),
    stays("an indent without its step", "if x:\n\ta\n\tb\n", f"{UPDATE}@@\n-  if x:\n-  a\n+  c\n", "another indent"),
    stays("lines without a place", TWO_LINES, f"{UPDATE}@@\n+x\n", "does not say where"),
    stays("a line number beyond the end", TWO_LINES, "--- a.txt\n+++ a.txt\n@@ -99,0 +99 @@\n+x\n", "after line 99"),
    stays("another end of the file", "x\ny\nz\n", f"{UPDATE}@@\n-y\n+z\n*** End of File\n", "does not end there"),
    stays("hunks that overlap", "1\ntwo\n3\n", f"{UPDATE}@@\n-two\n+2\n@@\n-two\n+II\n", "another hunk"),
    # T-81, E-08: the file, the hunk, the line, and the present text
    stays("a line that differs", FIVE, f"{UPDATE}@@\n-one\n+1\n@@\n three\n+x\n-fuor\n five\n",
          "a.txt: hunk 2 of 2 does not fit: line 3 of the hunk is '-fuor', but line 4 ", "of the file is 'four'"),
    stays("more lines than there are", FIVE, f"{UPDATE}@@\n four\n five\n-six\n+6\n", "has only 5 lines"),
    stays("lines of another file", FIVE, f"{UPDATE}@@\n-thre\n+3\n",
          "none of its lines is in the file", "line 3: 'three'"),
    stays("a patch that was applied", FIVE, f"{UPDATE}@@\n-2\n+two\n",
          "are already at line 2; it may have been applied"),
    stays("an anchor that is nowhere", FIVE, f"{UPDATE}@@ def nowhere\n-one\n+1\n", "'def nowhere'"),
    stays("anchors in another order", FIVE, f"{UPDATE}@@ three\n@@ one\n-one\n+1\n", "does not come after"),
    stays("new text that is no text", b"caf\xe9 1\n", f"{UPDATE}@@\n-caf\ufffd 1\n+caf\ufffd 2\n", "U+FFFD"),
    # T-78
    stays("a binary patch of git's", "x\n", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\nabc\n",
          "binary patches are not supported"),
    stays("binary files that differ", "x\n", "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
          "binary patches are not supported"),
    stays("a binary patch alone", "x\n", "GIT binary patch\nliteral 3\nabc\n", "binary patches are not supported"),
    # E-08: unreadable patches
    stays("no patch", "x\n", "hello", "this is no patch"),
    stays("an empty patch", "x\n", "*** Begin Patch\n*** End Patch\n", "this is no patch"),
    stays("only context", "x\n", " a\n b\n", "changes nothing"),
    stays("no hunks", "x\n", UPDATE, "has no hunks"),
    stays("no name", "x\n", "*** Update File:\n-x\n+y\n", "names no file"),
    stays("no place to move to", "x\n", f"{UPDATE}*** Move to:\n", "where to move"),
    stays("no sign", "x\n", f"{UPDATE}@@\none\n-x\n", "line 3 of the patch has no sign: 'one'"),
    stays("an empty hunk", "x\n", f"{UPDATE}@@\n*** End Patch\n", "the hunk at line 2 of the patch is empty"),
    stays("a line before the first file", "x\n", f"stray\n{UPDATE}-x\n+y\n", "belongs to no file"),
    stays("names that git does not write", "x\n", "diff --git x y\nold mode 100644\nnew mode 100755\n",
          "names no file"),
    stays("a symlink", "x\n", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n",
          "mode 120000"),
    stays("no file at all", "x\n", "-x\n+y\n", "names no file"),
    stays("a diff of a merge", "x\n", "--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n--x\n++y\n",
          "diffs of merges"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "patch", "says"), STAYS)
def test_what_does_not_fit_or_cannot_be_read_changes_nothing_and_is_explained(
    work: Workspace, before: str | bytes, patch: str, says: tuple[str, ...]
) -> None:
    work.write("a.txt", before)
    message = refusal(work, patch, **({"file_path": "a.txt"} if patch.startswith("- ") else {}))
    assert [piece for piece in says if piece not in message] == []
    assert ("more than" in message) == any("more than" in piece for piece in says)


def test_many_differences_are_not_all_listed(work: Workspace) -> None:
    work.write("a.txt", "".join(f"{number} \n" for number in range(50)))
    fuzz = apply(work, "*** Update File: a.txt\n" + "".join(f"@@\n-{number}\n+x\n" for number in range(50)))["fuzz"]
    assert fuzz.count("hunk") == 10
    assert fuzz.endswith("; and 40 more")


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_file_that_exists_is_not_added(work: Workspace) -> None:  # Z-77
    work.write("a.txt", "precious\n")
    assert "exists" in refusal(work, "*** Add File: a.txt\n+x\n")
    assert "create_file" in refusal(work, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n")
    assert "cannot be moved there" in refusal(
        work, "*** Add File: b.txt\n+x\n*** Update File: b.txt\n*** Move to: a.txt\n"
    )
    assert "moved to itself" in refusal(work, "*** Update File: a.txt\n*** Move to: a.txt\n")


def test_the_whole_header_path_must_match_file_path(work: Workspace) -> None:  # T-77, Z-87
    work.write("dir1/x.py", "a\n")
    work.write("dir2/x.py", "a\n")
    patch = "--- a/dir1/x.py\n+++ b/dir1/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    message = refusal(work, patch, file_path="dir2/x.py")
    assert message.startswith("patch header path 'dir1/x.py' does not match file_path 'dir2/x.py'.")
    assert "does not match" in refusal(work, "*** Update File: x.py\n-a\n+b\n", file_path="dir2/x.py")
    assert "does not match" in refusal(work, "*** Update File: ../x.py\n-a\n+b\n", file_path="dir2/x.py")
    apply(work, patch, file_path=str(work.root / "dir1" / "x.py"))
    assert work.bytes_of("dir1/x.py") == b"b\n"


def test_dev_null_is_no_path(work: Workspace) -> None:  # T-77
    apply(
        work, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n", file_path="a.txt"
    )
    assert work.bytes_of("a.txt") == b"x\ny"
    assert (work.root / "a.txt").stat().st_mode & 0o777 == new_file_mode()
    answer = apply(work, "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline at end of file\n")
    assert answer["files"] == [{"path": "a.txt", "action": "Delete", "added": 0, "removed": 2}]


def test_a_missing_file_can_be_deleted_but_not_changed(work: Workspace) -> None:  # T-79
    answer = apply(work, "*** Delete File: nope.txt\n")
    entry = {"path": "nope.txt", "action": "Delete", "added": 0, "removed": 0, "note": "file did not exist"}
    note = "file did not exist"
    assert answer == {"ok": True, "action": "Delete", "path": "nope.txt", "files": [entry], "note": note}
    work.write("there.txt", "x\n")
    assert "there.txt" in refusal(work, "*** Update File: sub/there.txt\n-x\n+y\n")
    assert "does not exist" in refusal(work, "-x\n+y\n", file_path="nope.txt")
    both = apply(work, "*** Delete File: nope.txt\n*** Delete File: there.txt\n")
    assert both["note"] == "nope.txt: file did not exist"


def test_a_file_is_deleted_only_when_it_is_what_the_patch_removes(work: Workspace) -> None:  # T-81
    work.write("a.txt", "x\ny\n")
    patch = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert "does not remove" in refusal(work, patch)
    assert "'-z'" in refusal(work, patch.replace("-x", "-x\n-z"))


# --- bytes and places -------------------------------------------------------------------------------------------------


def test_binary_files_are_refused_but_can_be_deleted(work: Workspace) -> None:  # Z-76
    work.write("a.bin", b"a\n\0\n")
    assert "binary" in refusal(work, "*** Update File: a.bin\n@@\n-a\n+b\n")
    (write,) = work.plan(TOOL, patch="*** Delete File: a.bin\n").writes
    assert write.before is not None
    assert write.before.content == b"a\n\0\n"


def test_a_link_is_followed_and_stays_a_link(work: Workspace) -> None:  # Z-82
    work.write("real.txt", "old\n")
    (work.root / "a.txt").symlink_to("real.txt")
    assert apply(work, "*** Update File: a.txt\n-old\n+new\n")["path"] == "real.txt"
    assert work.bytes_of("real.txt") == b"new\n"
    assert "symlink" in refusal(work, "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-new\n+old\n")
    apply(work, "*** Delete File: a.txt\n")
    assert not (work.root / "a.txt").is_symlink()
    assert work.bytes_of("real.txt") == b"new\n"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "folder", "."])
@pytest.mark.parametrize("form", ["*** Add File: {}\n+x\n", "*** Delete File: {}\n", "*** Update File: {}\n-x\n+y\n"])
def test_a_path_that_must_not_be_edited_is_refused(work: Workspace, path: str, form: str) -> None:  # Z-90
    (work.root / "folder").mkdir()
    with pytest.raises(ToolError):
        apply(work, form.format(path))
    with pytest.raises(ToolError):
        apply(work, f"*** Add File: a.txt\n+x\n*** Update File: a.txt\n*** Move to: {path}\n")
    assert list(work.root.iterdir()) == [work.root / "folder"]


@pytest.mark.parametrize(
    ("parts", "ends"),
    [
        (["*** Update File: a.txt", "*** Move to: b.txt"], {"b.txt": ("a.txt", ""), "a.txt": ("", "b.txt")}),
        (
            ["*** Update File: a.txt", "*** Move to: b.txt", "*** Update File: b.txt", "*** Move to: c.txt"],
            {"c.txt": ("a.txt", ""), "a.txt": ("", "c.txt")},
        ),
        (
            ["*** Update File: a.txt", "*** Move to: b.txt", "*** Add File: a.txt", "+new"],
            {"b.txt": ("", ""), "a.txt": ("", "")},
        ),
        (["*** Update File: a.txt", "*** Move to: b.txt", "*** Delete File: b.txt"], {"a.txt": ("", "")}),
    ],
)
def test_a_move_is_a_rename_of_what_was_there_before_the_patch(
    work: Workspace, parts: list[str], ends: dict[str, tuple[str, str]]
) -> None:
    """If the patch creates a new file at the old path, the old file counts as changed there."""
    work.write("a.txt", "a\n")
    plan = work.plan(TOOL, patch="\n".join(["*** Begin Patch", *parts, "*** End Patch"]))
    assert {write.path: (write.moved_from, write.moved_to) for write in plan.writes} == ends


# --- dialects ---------------------------------------------------------------------------------------------------------

CONFIGURED = [
    "diff.mnemonicPrefix=true", "diff.noprefix=true", "diff.srcPrefix=old/", "diff.dstPrefix=new/x/", "color.ui=always",
    "core.quotePath=false", "diff.suppressBlankEmpty=true", "diff.renames=copies", "diff.context=0",
]  # fmt: skip
COMPARED_WITH = [(), ("--cached",), ("HEAD",)]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("setting", CONFIGURED)
@pytest.mark.parametrize("options", COMPARED_WITH)
def test_what_a_git_of_any_configuration_writes_is_applied(
    work: Workspace, setting: str, options: tuple[str, ...]
) -> None:
    def git(*arguments: str) -> bytes:
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", setting)
        return subprocess.check_output(["git", *identity, *arguments], cwd=work.root, stderr=subprocess.DEVNULL)

    old = {"a.txt": "one\n\ntwo\n", "sub/sp ace.txt": "one\n", "ä.txt": "one\n", "gone.txt": "x\n", "m/o/v.txt": CODE}
    new = {"a.txt": "one\n\n2\n", "sub/sp ace.txt": "1\n", "ä.txt": "1\n", "m/w.txt": CODE, "n/ew.txt": "new\n"}
    git("init", "-q")
    for path, text in old.items():
        work.write(path, text)
    git("add", ".")
    git("commit", "-qm", "old")
    for path in old:
        (work.root / path).unlink()
    for path, text in new.items():
        work.write(path, text)
    git("add", ".") if options else git("add", "--intent-to-add", "n/ew.txt", "m/w.txt")
    patch = git("diff", *options).decode()
    git("reset", "-q", "--hard")
    git("clean", "-qfd")
    apply(work, patch)
    left = {Path(path).relative_to(work.root).as_posix(): data for path, data in work.everything().items()}
    files = {path: data for path, data in left.items() if not path.startswith(".git/")}
    assert files == {path: text.encode() for path, text in new.items()}


@pytest.mark.parametrize(
    ("present", "header", "changed"),
    [
        (["new"], "--- a/old\n+++ b/new", "new"),
        (["old"], "--- a/old\n+++ b/new", None),
        (["old", "new"], "--- a/old\n+++ b/new", None),
        (["new"], "--- old\n+++ new", "new"),
        (["old"], "--- old\n+++ new", None),
        (["x.py", "x.py.orig"], "--- x.py.orig\n+++ x.py", "x.py"),
        (["x.py"], "--- mine/x.py\n+++ theirs/x.py", "x.py"),
        (["mine/x.py"], "--- mine/x.py\n+++ theirs/x.py", None),
        (["x.py", "theirs/x.py"], "--- mine/x.py\n+++ theirs/x.py", None),
        (["theirs/x.py"], "--- mine/x.py\n+++ theirs/x.py", "theirs/x.py"),
        (["d/x.py"], "--- i/d/x.py\n+++ w/d/x.py", "d/x.py"),
        (["i/d/x.py"], "--- i/d/x.py\n+++ i/d/x.py", "i/d/x.py"),
    ],
)
def test_a_header_that_names_two_files_is_refused_unless_only_one_can_be_meant(
    work: Workspace, present: list[str], header: str, changed: str | None
) -> None:
    for path in present:
        work.write(path, "a\n")
    patch = f"Some words.\n{header}\n@@ -1 +1 @@\n-a\n+b\n"
    if changed is None:
        message = refusal(work, patch)
        assert "line 2 of the patch names two files" in message
        assert "rename from" in message
        return
    assert apply(work, patch)["path"] == changed
    assert work.bytes_of(changed) == b"b\n"
