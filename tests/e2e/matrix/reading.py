"""Rows of the reading and searching tools."""

from tests.e2e.matrix.row import Row, fails, ok

READ_FILE: tuple[Row, ...] = (
    ok("read_file", {"path": "a.txt"}, exact="one\ntwo\nthree\n"),
    ok("read_file", {"path": "a.txt", "offset": 2}, exact="two\nthree"),
    ok("read_file", {"path": "a.txt", "offset": 2, "limit": 1}, exact="two"),
    ok("read_file", {"path": "a.txt", "tail_lines": 2, "offset": 1}, exact="two\nthree"),
    ok("read_file", {"path": "a.txt", "byte_offset": 4, "byte_limit": 2, "tail_lines": 1}, says=("tw",)),
    ok("read_file", {"path": "latin.txt"}, says=("caf\ufffd",)),
    ok("read_file", {"path": "latin.txt", "encoding": "latin-1"}, exact="café\n"),
    ok("read_file", {"path": "latin.txt", "errors": "ignore"}, exact="caf\n"),
    ok("read_file", {"path": "latin.txt", "errors": "backslashreplace"}, exact="caf\\xe9\n"),
    ok("read_file", {"path": "latin.txt", "errors": "replace"}, exact="caf\ufffd\n"),
    ok("read_file", {"path": "a.txt", "errors": "strict"}, exact="one\ntwo\nthree\n"),
    ok("read_file", {"path": "bytes.bin"}, says=("is not text", "3 bytes")),
    fails("read_file", {"path": "latin.txt", "errors": "strict"}, "recoverable", "not valid utf-8", "errors='replace'"),
    fails("read_file", {"path": "a.tx"}, "not_found", "a.tx does not exist", "a.txt", case="T-14 missing file"),
    fails("read_file", {"path": "src"}, "recoverable", "is a directory", "list_files", case="T-14 directory"),
    fails("read_file", {}, "validation", "path: Field required", case="T-15 missing path"),
    fails("read_file", {"path": "a.txt", "encoding": "klingon"}, "validation", "is no text encoding", "utf-8"),
    fails("read_file", {"path": "../secret"}, "permission", "../secret", case="Z-90 outside"),
    fails("read_file", {"path": "a.txt/b"}, "not_found", "does not exist"),
)

LIST_FILES: tuple[Row, ...] = (
    ok("list_files", {"path": "src"}, has={"entries": ["deep/util.py", "main.py"], "total": 2}),
    ok("list_files", {"path": "src", "recursive": False}, has={"entries": ["deep/", "main.py"]}),
    ok("list_files", {"depth": 2, "glob": "*.py"}, has={"entries": ["src/main.py"]}),
    ok("list_files", {"glob": "**/*.{py,md}"}, has={"entries": ["docs/guide.md", "src/deep/util.py", "src/main.py"]}),
    ok("list_files", {"path": "src", "ignore": ["deep"]}, has={"entries": ["main.py"]}),
    ok("list_files", {"path": "src", "include_dirs": True}, has={"entries": ["deep/", "deep/util.py", "main.py"]}),
    ok("list_files", {"path": "src", "sort": "name"}, has={"entries": ["deep/util.py", "main.py"]}),
    ok("list_files", {"path": ".", "sort": "mtime", "limit": 1}, says=("omitted",)),
    ok("list_files", {"path": "src", "sort": "size", "limit": 1}, has={"entries": ["deep/util.py"], "omitted": 1}),
    fails("list_files", {"path": "srk"}, "not_found", "srk does not exist. Did you mean src"),
    fails("list_files", {"path": "a.txt"}, "recoverable", "is a file, not a directory"),
    fails("list_files", {"path": "../.."}, "permission", "../..", case="Z-90 outside"),
    fails("list_files", {"glob": "["}, "validation", "glob"),
)

GREP: tuple[Row, ...] = (
    ok("grep", {"pattern": "two"}, exact=["a.txt:2:two", "crlf.txt:2:two"]),
    ok("grep", {"pattern": "two", "path": "a.txt"}, exact=["a.txt:2:two"]),
    ok("grep", {"pattern": "def", "include": "**/main.*"}, exact=["src/main.py:1:def main():"]),
    ok("grep", {"pattern": "two", "output_mode": "content", "path": "a.txt"}, exact=["a.txt:2:two"]),
    ok("grep", {"pattern": "def", "output_mode": "files_with_matches"}, exact=["src/deep/util.py", "src/main.py"]),
    ok("grep", {"pattern": "x", "output_mode": "count", "path": "twice.txt"}, exact={"twice.txt": 2}),
    ok("grep", {"pattern": "todo", "case_insensitive": True, "output_mode": "count"}, says=("main.py", "util.py")),
    ok("grep", {"pattern": "one\\ntwo", "multiline": True, "path": "a.txt"}, exact=["a.txt:1:one", "a.txt:2:two"]),
    ok("grep", {"pattern": "two", "path": "a.txt", "context_lines": 1}, says=("a.txt-1-one", "a.txt-3-three")),
    ok("grep", {"pattern": "two", "path": "a.txt", "before": 1}, exact=["a.txt-1-one", "a.txt:2:two"]),
    ok("grep", {"pattern": "two", "path": "a.txt", "after": 1}, exact=["a.txt:2:two", "a.txt-3-three"]),
    ok("grep", {"pattern": "two", "path": "a.txt", "around": 1}, says=("a.txt-1-one", "a.txt-3-three")),
    ok("grep", {"pattern": "x", "path": "twice.txt", "max_results": 1}, exact=["twice.txt:1:x"]),
    ok("grep", {"pattern": "x", "path": "twice.txt", "head_limit": 1}, exact=["twice.txt:1:x"]),
    fails("grep", {}, "validation", "pattern: Field required", case="T-30 missing pattern"),
    fails("grep", {"pattern": "("}, "validation", "(", case="a pattern that is none"),
    fails("grep", {"pattern": "a\nb"}, "validation", "set multiline to true"),
    fails("grep", {"pattern": "a", "path": "srk"}, "not_found", "srk does not exist. Did you mean src"),
    fails("grep", {"pattern": "a", "path": "/etc"}, "permission", "/etc", case="Z-90 outside"),
    *(fails("grep", {"pattern": "a", name: 1}, "validation", name) for name in ("-A", "-B", "-C", "-i")),  # Z-60
)

GLOB_FILE_SEARCH: tuple[Row, ...] = (
    ok("glob_file_search", {"glob_pattern": "*.py"}, exact=["src/deep/util.py", "src/main.py"]),
    ok("glob_file_search", {"glob_pattern": "*.py", "target_directory": "src/deep"}, exact=["util.py"]),
    ok("glob_file_search", {"glob_pattern": "*.py", "limit": 1}, says=("src/deep/util.py", "1 of 2 files")),
    fails("glob_file_search", {}, "validation", "glob_pattern: Field required"),
    fails("glob_file_search", {"glob_pattern": "["}, "validation", "glob_pattern"),
    fails("glob_file_search", {"glob_pattern": "*", "target_directory": "srk"}, "not_found", "Did you mean src"),
    fails("glob_file_search", {"glob_pattern": "*", "target_directory": "a.txt"}, "recoverable", "not a directory"),
    fails("glob_file_search", {"glob_pattern": "*", "target_directory": ".."}, "permission", "..", case="Z-90 outside"),
)

CODEBASE_SEARCH: tuple[Row, ...] = (
    ok("codebase_search", {"query": "how is a session resumed?"}, says=("docs/guide.md",)),
    ok("codebase_search", {"query": "main util", "target_directory": "src/deep"}, says=("src/deep/util.py",)),
    ok("codebase_search", {"query": "main util", "glob": "**/main.py"}, says=("src/main.py",)),
    ok("codebase_search", {"query": "main util", "max_results": 1}, says=("src/",)),
    fails("codebase_search", {"query": "?!"}, "validation", "no words"),
    fails("codebase_search", {"query": "main", "target_directory": "srk"}, "not_found", "Did you mean src"),
    fails("codebase_search", {"query": "main", "target_directory": "a.txt"}, "recoverable", "is a file"),
    fails("codebase_search", {"query": "x", "target_directory": "../x"}, "permission", "../x", case="Z-90 outside"),
)

VIEW_IMAGE: tuple[Row, ...] = (
    ok("view_image", {"path": "picture.png"}, says=("picture.png: PNG", "pixels")),
    fails("view_image", {"path": "nothing.png"}, "not_found", "does not exist"),
    fails("view_image", {"path": "src"}, "recoverable", "is a directory"),
    fails("view_image", {"path": "a.txt"}, "recoverable", "cannot be shown", case="T-110 no picture"),
    fails("view_image", {"path": "../x.png"}, "permission", "../x.png", case="Z-90 outside"),
)

ROWS = (*READ_FILE, *LIST_FILES, *GREP, *GLOB_FILE_SEARCH, *CODEBASE_SEARCH, *VIEW_IMAGE)
