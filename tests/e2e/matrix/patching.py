"""Rows of `apply_patch`, by form and by refusal."""

from tests.e2e.matrix.row import WORKSPACE, Row, fails, ok

UPDATE = "*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n"
UPDATED = b"one\n2\nthree\n"
GIT = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
BINARY = "diff --git a/bytes.bin b/bytes.bin\nindex 1..2\nBinary files a/bytes.bin and b/bytes.bin differ\n"
RENAME = "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n"
SEVERAL = f"*** Begin Patch\n{UPDATE}*** Add File: n.txt\n+new\n*** Delete File: twice.txt\n*** End Patch\n"
HALF = "*** Begin Patch\n*** Add File: n.txt\n+new\n*** Update File: a.txt\n@@\n-four\n+4\n*** End Patch\n"

ROWS: tuple[Row, ...] = (
    ok("apply_patch", {"patch": UPDATE}, has={"ok": True, "action": "Update", "path": "a.txt"},
       changes={"a.txt": UPDATED}),
    ok("apply_patch", {"patch": GIT}, has={"action": "Update"}, changes={"a.txt": UPDATED}),
    ok("apply_patch", {"patch": "@@\n-two\n+2\n", "file_path": "a.txt"}, changes={"a.txt": UPDATED}),
    ok("apply_patch", {"patch": "- two\n+ 2\n", "file_path": "a.txt"}, changes={"a.txt": UPDATED}),
    ok("apply_patch", {"patch": "@@\n-two\n+2\n", "file_path": "crlf.txt"}, changes={"crlf.txt": b"one\r\n2\r\n"}),
    ok("apply_patch", {"patch": "*** Add File: n/n.txt\n+new\n"}, has={"action": "Add"},
       changes={"n/n.txt": b"new\n"}),
    ok("apply_patch", {"patch": "*** Delete File: a.txt\n"}, has={"action": "Delete"}, changes={"a.txt": None}),
    ok("apply_patch", {"patch": "*** Delete File: b.txt\n"}, has={"note": "file did not exist"}),
    ok("apply_patch", {"patch": RENAME}, has={"action": "Move"},
       changes={"a.txt": None, "b.txt": WORKSPACE["a.txt"]}),
    ok("apply_patch", {"patch": SEVERAL}, has={"action": "Patch"},
       changes={"a.txt": UPDATED, "n.txt": b"new\n", "twice.txt": None}),
    ok("apply_patch", {"patch": SEVERAL, "dry_run": True}, has={"dry_run": True}),
    fails("apply_patch", {"patch": " \n"}, "validation", "the patch is empty", case="T-74 empty"),
    fails("apply_patch", {"patch": "*** Add File: src/../crlf.txt\n+x\n"}, "recoverable", "crlf.txt exists",
          case="Z-77 add over a file"),
    fails("apply_patch", {"patch": UPDATE, "file_path": "src/a.txt"}, "validation",
          "patch header path 'a.txt' does not match file_path 'src/a.txt'.", case="T-77 other path", status=2),
    fails("apply_patch", {"patch": RENAME, "file_path": "b.txt"}, "validation", "run rename_file first",
          case="T-77 rename", status=2),
    fails("apply_patch", {"patch": "*** Update File: docs/main.py\n@@\n-x\n+y\n", "file_path": "src/main.py"},
          "validation", "does not match", case="Z-87 same name", status=2),
    fails("apply_patch", {"patch": BINARY}, "recoverable", "binary patches are not supported", case="T-78 binary"),
    fails("apply_patch", {"patch": "*** Update File: b.txt\n@@\n-x\n+y\n"}, "not_found", "b.txt does not exist",
          case="T-79 missing file"),
    fails("apply_patch", {"patch": HALF}, "recoverable", "a.txt", "Nothing was", case="T-81 mismatch"),
    fails("apply_patch", {"patch": HALF, "dry_run": True}, "recoverable", "a.txt"),
    fails("apply_patch", {"patch": "@@\n-two\n+2\n"}, "recoverable", "names no file"),
    fails("apply_patch", {"patch": "please change it"}, "recoverable", "The patch cannot be read"),
    fails("apply_patch", {"patch": "*** Add File: ../n.txt\n+x\n"}, "permission", "../n.txt", case="Z-90 outside"),
    fails("apply_patch", {"patch": "*** Add File: .git/hooks/x\n+x\n"}, "permission", "git"),
)  # fmt: skip
