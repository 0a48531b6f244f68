"""`apply_patch`: all of a patch, in any of its forms, or none of it and the line that does not fit."""

import os
from typing import TYPE_CHECKING, Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.files import digest_of, new_file_mode
from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.patches.hunk_location import MOST_LINES_MOVED

if TYPE_CHECKING:
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


def apply(work: "Workspace", patch: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, patch=patch, **arguments)


def refusal(work: "Workspace", patch: str, **arguments: object) -> str:
    message = str(work.refused(TOOL, patch=patch, **arguments))
    assert "Nothing was" in message or "cannot be read" in message
    return message


# --- forms ------------------------------------------------------------------------------------------------------------


def test_several_files_are_changed_by_one_patch(work: "Workspace") -> None:
    """T-75, T-76, T-79."""
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
def test_every_form_says_the_same(work: "Workspace", patch: str, file_path: str | None) -> None:
    """T-74, T-75."""
    work.write("a.txt", "one\ntwo\nthree\n")
    answer = apply(work, patch, file_path=file_path)
    assert work.bytes_of("a.txt") == b"one\n2\nthree\n"
    entry = {"path": "a.txt", "action": "Update", "added": 1, "removed": 1}
    assert answer == {"ok": True, "action": "Update", "path": "a.txt", "files": [entry]}


def test_bare_pairs_need_not_stand_together(work: "Workspace") -> None:
    """T-75."""
    work.write("a.txt", "one\ntwo\nthree\n")
    apply(work, "- one\n+ 1\n- three\n+ 3\n", file_path="a.txt")
    assert work.bytes_of("a.txt") == b"1\ntwo\n3\n"
    assert "hunk 2 of 2" in refusal(work, "- 1\n+ one\n- four\n+ 4\n", file_path="a.txt")


def test_a_space_after_the_sign_is_text_where_it_is_text(work: "Workspace") -> None:
    work.write("a.py", "if x:\n    y\n z\n")
    apply(work, "-    y\n+    w\n", file_path="a.py")
    assert work.bytes_of("a.py") == b"if x:\n    w\n z\n"


@pytest.mark.parametrize(
    "header", ["*** Update File: query.sql\n@@\n", "*** Update File: query.sql\n@@ -9,9 +9,9 @@\n"]
)
def test_a_comment_with_dashes_is_no_header_of_another_file(work: "Workspace", header: str) -> None:
    work.write("query.sql", "-- slow\nSELECT 1;\n")
    apply(work, f"{header}--- slow\n+++ quick\n SELECT 1;\n*** End Patch\n")
    assert (work.root / "query.sql").read_text() == "++ quick\nSELECT 1;\n"


def test_a_git_header_alone_renames_copies_and_sets_modes(work: "Workspace") -> None:
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


def test_quoted_names_are_read_as_git_writes_them(work: "Workspace") -> None:
    work.write('gr\u00fc\u00dfe\t"x"\\.txt', "a\n")
    name = r"gr\303\274\303\237e\t\"x\"\\.txt"
    apply(work, f'diff --git "a/{name}" "b/{name}"\n--- "a/{name}"\n+++ "b/{name}"\n@@ -1 +1 @@\n-a\n+b\n')
    assert work.bytes_of('gr\u00fc\u00dfe\t"x"\\.txt') == b"b\n"


def test_a_folder_called_a_is_not_taken_for_a_prefix(work: "Workspace") -> None:
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
def test_an_added_file_has_its_lines_and_one_newline_at_the_end(work: "Workspace", body: str, content: bytes) -> None:
    """T-76."""
    assert apply(work, f"*** Add File: n.txt\n{body}")["action"] == "Add"
    assert work.bytes_of("n.txt") == content


def test_parts_of_a_patch_see_what_earlier_parts_did(work: "Workspace") -> None:
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


def test_files_that_go_away_come_last(work: "Workspace") -> None:
    """A crash in between leaves a file twice rather than not at all."""
    work.write("a.txt", "x\n")
    plan = work.plan(TOOL, patch="*** Delete File: a.txt\n*** Add File: b.txt\n+x\n")
    assert [write.path for write in plan.writes] == ["b.txt", "a.txt"]


# --- where a hunk belongs ---------------------------------------------------------------------------------------------


def test_anchors_say_which_place_is_meant(work: "Workspace") -> None:
    for anchors, expected in {
        "@@ class B:": 2,
        "@@ class A:\n@@ def run": 1,
        "@@ class B:\n@@     def run(self):": 2,
    }.items():
        work.write("a.py", CODE)
        work.context.reads.note("a.py", digest_of(CODE.encode()))
        apply(work, f"*** Update File: a.py\n{anchors}\n-        x = 1\n+        x = 2\n")
        parts = CODE.split("x = 1")
        assert (
            work.bytes_of("a.py").decode()
            == ("x = 1" if expected == 2 else "x = 2").join(parts[:2])
            + ("x = 2" if expected == 2 else "x = 1")
            + parts[2]
        )


def test_an_ambiguous_place_is_refused_with_the_candidates(work: "Workspace") -> None:
    work.write("a.py", CODE)
    message = refusal(work, "*** Update File: a.py\n@@\n-        x = 1\n+        x = 2\n")
    assert "stand at 2 places (lines 3, 9)" in message
    message = refusal(work, "*** Update File: a.py\n@@ def run\n-        x = 1\n+        x = 2\n")
    assert "stand at 2 places (lines 3, 9)" in message
    message = refusal(work, "*** Update File: a.py\n@@ def run\n+        y = 2\n")
    assert "stands at 2 places (lines 2, 8)" in message
    assert "more than" not in message


def test_a_line_number_says_which_place_is_meant(work: "Workspace") -> None:
    work.write("a.py", CODE)
    apply(work, "--- a.py\n+++ a.py\n@@ -9,1 +9,1 @@\n-        x = 1\n+        x = 2\n")
    assert work.bytes_of("a.py").decode().splitlines()[8] == "        x = 2"
    assert "2 places" in refusal(work, "--- a.py\n+++ a.py\n@@ -5,1 +5,1 @@\n-        return x\n+        return 0\n")


def test_lines_may_have_moved_by_a_stated_number(work: "Workspace") -> None:
    patch = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    work.write("a.txt", "x\n" * MOST_LINES_MOVED + "one\ntwo\n")
    assert f"found {MOST_LINES_MOVED} lines below" in apply(work, patch)["fuzz"]
    work.write("b.txt", "x\n" * (MOST_LINES_MOVED + 1) + "one\ntwo\n")
    message = refusal(work, patch.replace("a.txt", "b.txt"))
    assert f"more than {MOST_LINES_MOVED} lines from where it says" in message


def test_lines_after_a_moved_hunk_are_expected_to_have_moved_too(work: "Workspace") -> None:
    work.write("a.txt", "new\nnew\none\nx\nx\nsame\nx\nx\nx\nsame\n")
    patch = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-same\n+other\n"
    apply(work, patch)
    assert work.bytes_of("a.txt") == b"new\nnew\n1\nx\nx\nother\nx\nx\nx\nsame\n"


def test_white_space_at_the_end_of_lines_may_differ(work: "Workspace") -> None:
    work.write("a.txt", "one  \ntwo\t\nthree\n")
    answer = apply(work, "*** Update File: a.txt\n@@\n one\n-two\n+2\n three \n")
    assert answer["fuzz"] == "a.txt: hunk 1: white space at the end of lines was ignored"
    assert work.bytes_of("a.txt") == b"one  \n2\nthree\n"


def test_many_differences_are_not_all_listed(work: "Workspace") -> None:
    work.write("a.txt", "".join(f"{number} \n" for number in range(50)))
    fuzz = apply(work, "*** Update File: a.txt\n" + "".join(f"@@\n-{number}\n+x\n" for number in range(50)))["fuzz"]
    assert fuzz.count("hunk") == 10
    assert fuzz.endswith("; and 40 more")


def test_an_indent_that_differs_everywhere_by_the_same_is_put_right(work: "Workspace") -> None:
    work.write("a.py", "class A:\n\tdef f(self):\n\t\tpass\n\n    # four\n")
    answer = apply(work, "*** Update File: a.py\n@@\n def f(self):\n-    pass\n+    return 1\n+\n+def g(self): ...\n")
    assert work.bytes_of("a.py") == b"class A:\n\tdef f(self):\n\t\treturn 1\n\n\tdef g(self): ...\n\n    # four\n"
    assert "both ends" in answer["fuzz"]
    work.write("b.py", "if x:\n    a\n    b\n")
    apply(work, "*** Update File: b.py\n@@\n if x:\n-  a\n+  c\n+  d\n   b\n")
    assert work.bytes_of("b.py") == b"if x:\n    c\n    d\n    b\n"
    work.write("c.py", "  if x:\n    a\n")
    apply(work, "*** Update File: c.py\n@@\n if x:\n-  a\n+  c\n+      d\n")
    assert work.bytes_of("c.py") == b"  if x:\n    c\n        d\n"
    work.write("d.py", "if x:\n  a\n")
    apply(work, "*** Update File: d.py\n@@\n     if x:\n-      a\n+      c\n+        d\n")
    assert work.bytes_of("d.py") == b"if x:\n  c\n    d\n"


def test_an_indent_that_is_not_clear_is_refused(work: "Workspace") -> None:
    work.write("a.py", "if x:\n\ta\n\tb\n")
    assert "another indent" in refusal(work, "*** Update File: a.py\n@@\n if x:\n-    a\n-  b\n+   c\n")
    assert "another indent" in refusal(work, "*** Update File: a.py\n@@\n-  if x:\n-  a\n+  c\n")


def test_lines_without_any_others_need_a_place(work: "Workspace") -> None:
    work.write("a.txt", "one\r\ntwo")
    assert "does not say where" in refusal(work, "*** Update File: a.txt\n@@\n+x\n")
    apply(work, "*** Update File: a.txt\n@@\n+three\n*** End of File\n")
    assert work.bytes_of("a.txt") == b"one\r\ntwo\r\nthree"
    apply(work, "*** Update File: a.txt\n@@ one\n+1.5\n")
    assert work.bytes_of("a.txt") == b"one\r\n1.5\r\ntwo\r\nthree"
    apply(work, "--- a.txt\n+++ a.txt\n@@ -2,0 +3 @@\n+1.7\n")
    assert work.bytes_of("a.txt") == b"one\r\n1.5\r\n1.7\r\ntwo\r\nthree"
    assert "after line 99" in refusal(work, "--- a.txt\n+++ a.txt\n@@ -99,0 +99 @@\n+x\n")
    work.write("empty.txt")
    apply(work, "*** Update File: empty.txt\n@@\n+x\n")
    assert work.bytes_of("empty.txt") == b"x\n"


def test_the_end_of_the_file_is_a_place(work: "Workspace") -> None:
    work.write("a.txt", "x\ny\nx\n")
    apply(work, "*** Update File: a.txt\n@@\n-x\n+z\n*** End of File\n")
    assert work.bytes_of("a.txt") == b"x\ny\nz\n"
    assert "does not end there" in refusal(work, "*** Update File: a.txt\n@@\n-y\n+z\n*** End of File\n")


def test_hunks_may_come_in_any_order_but_not_overlap(work: "Workspace") -> None:
    work.write("a.txt", "one\ntwo\nthree\n")
    apply(work, "*** Update File: a.txt\n@@\n-three\n+3\n@@\n-one\n+1\n")
    assert work.bytes_of("a.txt") == b"1\ntwo\n3\n"
    assert "another hunk" in refusal(work, "*** Update File: a.txt\n@@\n-two\n+2\n@@\n-two\n+II\n")


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_mismatch_names_the_file_the_hunk_the_line_and_what_is_there(work: "Workspace") -> None:
    """T-81, E-08."""
    work.write("sub/a.txt", "one\ntwo\nthree\nfour\nfive\n")
    message = refusal(work, "*** Update File: sub/a.txt\n@@\n-one\n+1\n@@\n three\n+x\n-fuor\n five\n")
    assert message.startswith("sub/a.txt: hunk 2 of 2 does not fit: line 3 of the hunk is '-fuor', but line 4 ")
    assert "of the file is 'four'" in message
    assert "has only 5 lines" in refusal(work, "*** Update File: sub/a.txt\n@@\n four\n five\n-six\n+6\n")
    message = refusal(work, "*** Update File: sub/a.txt\n@@\n-thre\n+3\n")
    assert "none of its lines is in the file" in message
    assert "line 3: 'three'" in message
    message = refusal(work, "*** Update File: sub/a.txt\n@@\n-2\n+two\n")
    assert "already stand at line 2; it may have been applied" in message
    assert "'def nowhere'" in refusal(work, "*** Update File: sub/a.txt\n@@ def nowhere\n-one\n+1\n")
    assert "does not come after" in refusal(work, "*** Update File: sub/a.txt\n@@ three\n@@ one\n-one\n+1\n")


def test_a_file_that_exists_is_not_added(work: "Workspace") -> None:
    """Z-77."""
    work.write("a.txt", "precious\n")
    assert "exists" in refusal(work, "*** Add File: a.txt\n+x\n")
    assert "create_file" in refusal(work, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n")
    assert "cannot be moved there" in refusal(
        work, "*** Add File: b.txt\n+x\n*** Update File: b.txt\n*** Move to: a.txt\n"
    )
    assert "moved to itself" in refusal(work, "*** Update File: a.txt\n*** Move to: a.txt\n")


def test_the_whole_header_path_must_match_file_path(work: "Workspace") -> None:
    """T-77, Z-87."""
    work.write("dir1/x.py", "a\n")
    work.write("dir2/x.py", "a\n")
    patch = "--- a/dir1/x.py\n+++ b/dir1/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    message = refusal(work, patch, file_path="dir2/x.py")
    assert message.startswith("patch header path 'dir1/x.py' does not match file_path 'dir2/x.py'.")
    assert "does not match" in refusal(work, "*** Update File: x.py\n-a\n+b\n", file_path="dir2/x.py")
    assert "does not match" in refusal(work, "*** Update File: ../x.py\n-a\n+b\n", file_path="dir2/x.py")
    apply(work, patch, file_path=str(work.root / "dir1" / "x.py"))
    assert work.bytes_of("dir1/x.py") == b"b\n"


def test_a_rename_that_does_not_match_file_path_is_told_what_to_do(work: "Workspace") -> None:
    """T-77."""
    work.write("new.py", "a\n")
    work.write("old.py", "a\n")
    renamed = "diff --git a/old.py b/new2.py\nrename from old.py\nrename to new2.py\n"
    message = refusal(work, renamed, file_path="new.py")
    assert "does not match file_path 'new.py'" in message
    assert "run rename_file first" in message
    message = refusal(work, "--- a/old.py\n+++ b/other.py\n@@ -1 +1 @@\n-a\n+b\n", file_path="new.py")
    assert "run rename_file first" in message
    assert apply(work, renamed, file_path="old.py")["files"][0]["from"] == "old.py"


def test_dev_null_is_no_path(work: "Workspace") -> None:
    """T-77."""
    apply(
        work, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n", file_path="a.txt"
    )
    assert work.bytes_of("a.txt") == b"x\ny"
    assert (work.root / "a.txt").stat().st_mode & 0o777 == new_file_mode()
    answer = apply(work, "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline at end of file\n")
    assert answer["files"] == [{"path": "a.txt", "action": "Delete", "added": 0, "removed": 2}]


@pytest.mark.parametrize(
    "patch",
    [
        "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\nabc\n",
        "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
        "GIT binary patch\nliteral 3\nabc\n",
    ],
)
def test_binary_patches_are_refused(work: "Workspace", patch: str) -> None:
    """T-78."""
    assert "binary patches are not supported" in refusal(work, patch)


def test_a_missing_file_can_be_deleted_but_not_changed(work: "Workspace") -> None:
    """T-79."""
    answer = apply(work, "*** Delete File: nope.txt\n")
    entry = {"path": "nope.txt", "action": "Delete", "added": 0, "removed": 0, "note": "file did not exist"}
    note = "file did not exist"
    assert answer == {"ok": True, "action": "Delete", "path": "nope.txt", "files": [entry], "note": note}
    work.write("there.txt", "x\n")
    assert "there.txt" in refusal(work, "*** Update File: sub/there.txt\n-x\n+y\n")
    assert "does not exist" in refusal(work, "-x\n+y\n", file_path="nope.txt")
    both = apply(work, "*** Delete File: nope.txt\n*** Delete File: there.txt\n")
    assert both["note"] == "nope.txt: file did not exist"


def test_a_file_is_deleted_only_when_it_is_what_the_patch_removes(work: "Workspace") -> None:
    """T-81."""
    work.write("a.txt", "x\ny\n")
    patch = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert "does not remove" in refusal(work, patch)
    assert "'-z'" in refusal(work, patch.replace("-x", "-x\n-z"))


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("hello", "this is no patch"),
        ("*** Begin Patch\n*** End Patch\n", "this is no patch"),
        (" a\n b\n", "changes nothing"),
        ("*** Update File: a.txt\n", "has no hunks"),
        ("*** Update File:\n-x\n+y\n", "names no file"),
        ("*** Update File: a.txt\n*** Move to:\n", "where to move"),
        ("*** Update File: a.txt\n@@\none\n-x\n", "line 3 of the patch has no sign: 'one'"),
        ("*** Update File: a.txt\n@@\n*** End Patch\n", "the hunk at line 2 of the patch is empty"),
        ("stray\n*** Update File: a.txt\n-x\n+y\n", "belongs to no file"),
        ("diff --git x y\nold mode 100644\nnew mode 100755\n", "names no file"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n", "mode 120000"),
        ("-x\n+y\n", "names no file"),
        ("--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n--x\n++y\n", "diffs of merges"),
    ],
)
def test_what_cannot_be_read_is_explained(work: "Workspace", patch: str, message: str) -> None:
    """E-08."""
    work.write("a.txt", "x\n")
    assert message in refusal(work, patch)


# --- bytes and places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\r\nb\r\n", b"a\r\nnew\r\nmore\r\nb\r\n"),
        (b"a\nold\r\nb\r\n", b"a\nnew\r\nmore\r\nb\r\n"),
        (b"a\nold\nb", b"a\nnew\nmore\nb"),
        (b"\xef\xbb\xbfa\r\nold\r\nb", b"\xef\xbb\xbfa\r\nnew\r\nmore\r\nb"),
        ("a\r\nold\r\nb\r\n".encode("utf-16"), "a\r\nnew\r\nmore\r\nb\r\n".encode("utf-16")),
        (b"a\nold\nb\n\xe9\x0c\x85\n", b"a\nnew\nmore\nb\n\xe9\x0c\x85\n"),
    ],
)
def test_everything_but_the_edit_stays(work: "Workspace", before: bytes, after: bytes) -> None:
    """Z-81, Z-82."""
    work.write("a.txt", before).chmod(0o754)
    apply(work, "*** Update File: a.txt\n@@\n a\n-old\n+new\n+more\n b\n")
    assert work.bytes_of("a.txt") == after
    assert (work.root / "a.txt").stat().st_mode & 0o777 == 0o754


def test_bytes_that_are_no_text_can_be_context_but_not_written(work: "Workspace") -> None:
    work.write("a.txt", b"caf\xe9 1\nold\n")
    apply(work, "*** Update File: a.txt\n@@\n caf\ufffd 1\n-old\n+new\n")
    assert work.bytes_of("a.txt") == b"caf\xe9 1\nnew\n"
    assert "U+FFFD" in refusal(work, "*** Update File: a.txt\n@@\n-caf\ufffd 1\n+caf\ufffd 2\n")


def test_binary_files_are_refused_but_can_be_deleted(work: "Workspace") -> None:
    """Z-76."""
    work.write("a.bin", b"a\n\0\n")
    assert "binary" in refusal(work, "*** Update File: a.bin\n@@\n-a\n+b\n")
    (write,) = work.plan(TOOL, patch="*** Delete File: a.bin\n").writes
    assert write.before is not None
    assert write.before.content == b"a\n\0\n"


def test_a_link_is_followed_and_stays_a_link(work: "Workspace") -> None:
    """Z-82."""
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
def test_a_path_that_must_not_be_edited_is_refused(work: "Workspace", path: str, form: str) -> None:
    """Z-90."""
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
    work: "Workspace", parts: list[str], ends: dict[str, tuple[str, str]]
) -> None:
    """A file whose old path is taken again by the same patch was changed there, and another one came."""
    work.write("a.txt", "a\n")
    plan = work.plan(TOOL, patch="\n".join(["*** Begin Patch", *parts, "*** End Patch"]))
    assert {write.path: (write.moved_from, write.moved_to) for write in plan.writes} == ends
