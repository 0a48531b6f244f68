"""Arguments that do not fit are named, for every tool and before the user is asked: the message is the whole error."""

from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.builtin.web_fetch import LARGEST_BYTES
from desktop_agent.core.tools.builtin.web_search import MOST_RESULTS

TOOLS = {tool.name: tool for tool in builtin_tools(Path("unused"))}
WRONG: dict[str, list[tuple[JsonObject, str]]] = {
    "apply_patch": [  # T-74, T-08, V-01
        ({}, "patch"),
        ({"patch": ""}, "patch: the patch is empty"),
        ({"patch": " \n"}, "patch: the patch is empty"),
        ({"patch": "-a\n+b", "file_path": ""}, "file_path"),
        ({"patch": "-a\n+b", "path": "x"}, "path"),
        ({"patch": "-a\n+\ud800"}, "patch"),
    ],
    "codebase_search": [
        ({}, "query: Field required"),
        ({"query": ""}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"query": "x", "max_results": 0}, "max_results"),
        ({"query": "x", "max_results": 51}, "max_results"),
        ({"query": "x", "glob": "{a"}, "glob"),
        ({"query": "x", "target_directory": ""}, "target_directory"),
        ({"query": "x", "path": "."}, "path"),
    ],
    "create_file": [  # T-46
        ({}, "path"),
        ({"path": ""}, "path"),
        ({"path": "a", "if_exists": "append"}, "if_exists must be one of error, overwrite, skip"),
        ({"path": "a", "if_exists": 3}, "if_exists must be one of error, overwrite, skip"),
        ({"path": "a", "encoding": "klingon"}, "encoding"),
        ({"path": "a", "overwrite": True}, "overwrite"),
    ],
    "delete_file": [
        ({}, "path"),
        ({"path": ""}, "path"),
        ({"path": "a", "f": 1}, "f"),
    ],
    "edit_file": [  # T-38, T-08, Z-86
        ({"old_str": "a", "new_str": "b"}, "path"),
        ({"path": "", "old_str": "a", "new_str": "b"}, "path"),
        ({"path": "a.py", "new_str": "b"}, "old_str"),
        ({"path": "a.py", "old_str": "b"}, "new_str"),
        ({"path": "a.py", "old_str": "a", "new_str": "a"}, "new_str must differ from old_str"),
        ({"path": "a.py", "old_str": "", "new_str": ""}, "new_str must differ from old_str"),
        ({"path": "a.py", "old_str": "a", "new_str": "b", "replaceAll": True}, "replaceAll"),
        ({"path": "a.py", "old_str": "a", "new_str": "\ud800"}, "new_str"),
    ],
    "glob_file_search": [
        ({}, "glob_pattern: Field required"),
        ({"glob_pattern": ""}, "glob_pattern"),
        ({"glob_pattern": "[a"}, "glob_pattern"),
        ({"glob_pattern": "/etc/*"}, "relative"),
        ({"glob_pattern": "../*"}, "relative"),
        ({"glob_pattern": "*", "target_directory": ""}, "target_directory"),
        ({"glob_pattern": "*", "limit": 0}, "limit"),
        ({"glob_pattern": "*", "limit": 2001}, "limit"),
        ({"glob_pattern": "*", "path": "src"}, "path"),
    ],
    "grep": [  # T-30, Z-60: an unknown output mode or parameter is an error, not ignored
        ({}, "pattern"),
        ({"pattern": ""}, "pattern"),
        ({"pattern": "x", "path": ""}, "path"),
        ({"pattern": "x", "output_mode": "colourful"}, "output_mode"),
        ({"pattern": "x", "context_lines": 11}, "context_lines"),
        ({"pattern": "x", "before": -1}, "before"),
        ({"pattern": "x", "after": -1}, "after"),
        ({"pattern": "x", "around": -1}, "around"),
        ({"pattern": "x", "max_results": 0}, "max_results"),
        ({"pattern": "x", "max_results": 1001}, "max_results"),
        ({"pattern": "x", "head_limit": 0}, "head_limit"),
        ({"pattern": "x", "include": "{a"}, "include"),
        ({"pattern": "x", "-i": True}, "-i"),
    ],
    "job_control": [
        ({}, "action"),
        ({"action": "kill"}, "action"),
        ({"action": "wait"}, "wait needs a job_id"),
        ({"action": "wait", "job_id": "x", "timeout": 0}, "timeout"),
        ({"action": "wait", "job_id": "x", "timeout": 601}, "timeout"),
        ({"action": "output", "job_id": "x", "tail_lines": 0}, "tail_lines"),
        ({"action": "output", "job_id": "x", "tail_bytes": 10_241}, "tail_bytes"),
        ({"action": "list", "id": "x"}, "id"),
    ],
    "line_edit": [  # T-62, T-63, T-08, V-01, Z-68: the message is the error, not a JSON text that fails to parse
        ({"mode": "delete", "line": 1}, "path"),
        ({"path": "", "mode": "delete", "line": 1}, "path"),
        ({"path": "a", "line": 1}, "mode"),
        (
            {"path": "a", "mode": "swap", "line": 1},
            r"mode must be one of \[insert_before, insert_after, replace, delete\]",
        ),
        ({"path": "a", "mode": 1, "line": 1}, "mode must be one of"),
        ({"path": "a", "mode": "delete"}, "specify either line or anchor"),
        ({"path": "a", "mode": "delete", "line": 1, "anchor": "x"}, "specify either line or anchor"),
        ({"path": "a", "mode": "delete", "line": 0}, "line"),
        ({"path": "a", "mode": "delete", "anchor": ""}, "anchor"),
        ({"path": "a", "mode": "delete", "anchor": "x\ny"}, "within one line"),
        ({"path": "a", "mode": "delete", "line": 1, "occurrence": 0}, "occurrence"),
        ({"path": "a", "mode": "delete", "line": 1, "line_count": 0}, "line_count"),
        ({"path": "a", "mode": "insert_after", "line": 1, "line_count": 2, "text": "x"}, "line_count is only valid"),
        ({"path": "a", "mode": "replace", "line": 1}, "text is required for insert/replace modes"),
        ({"path": "a", "mode": "replace", "line": 1, "text": ""}, "text is required for insert/replace modes"),
        ({"path": "a", "mode": "insert_before", "line": 1}, "text is required for insert/replace modes"),
        ({"path": "a", "mode": "delete", "line": 1, "text": "x"}, "text must be omitted for delete mode"),
        ({"path": "a", "mode": "delete", "line": 1, "count": 2}, "count"),
    ],
    "list_files": [
        ({"path": ""}, "path"),
        ({"depth": 0}, "depth"),
        ({"limit": 0}, "limit"),
        ({"limit": 5001}, "limit"),
        ({"sort": "colour"}, "sort"),
        ({"glob": "[a"}, "glob"),
        ({"ignore": ["{a"]}, "ignore"),
        ({"pattern": "*"}, "pattern"),
    ],
    "read_file": [  # T-15, SC-02
        ({}, "path"),
        ({"path": ""}, "path"),
        ({"path": "a", "offset": 0}, "offset"),
        ({"path": "a", "limit": 0}, "limit"),
        ({"path": "a", "tail_lines": 0}, "tail_lines"),
        ({"path": "a", "byte_offset": -1}, "byte_offset"),
        ({"path": "a", "byte_limit": 0}, "byte_limit"),
        ({"path": "a", "encoding": "klingon"}, "encoding"),
        ({"path": "a", "encoding": "hex"}, "encoding"),
        ({"path": "a", "errors": "explode"}, "errors"),
        ({"path": "a", "lines": 3}, "lines"),
    ],
    "rename_file": [  # T-57, T-08, V-01, Z-68
        ({"dest_path": "b"}, "source_path"),
        ({"source_path": "a"}, "dest_path"),
        ({"source_path": "", "dest_path": "b"}, "source_path"),
        ({"source_path": "a", "dest_path": ""}, "dest_path"),
        ({"source_path": "a", "dest_path": "b", "force": True}, "force"),
    ],
    "request_approval": [
        ({"reason": "x"}, "action"),
        ({"action": "x"}, "reason"),
        ({"action": " ", "reason": "x"}, "action: must not be blank"),
        ({"action": "x", "reason": ""}, "reason: must not be blank"),
        ({"action": "x" * 201, "reason": "x"}, "action"),
        ({"action": "x", "reason": "x" * 1_001}, "reason"),
        ({"action": "x", "reason": "x", "details": "x" * 4_001}, "details"),
        ({"action": "x", "reason": "x", "scope": "always"}, "scope"),
    ],
    "run_terminal_cmd": [  # T-84, T-86, T-88, Z-47: before the user is asked to approve them
        ({}, "command"),
        ({"command": ""}, "command must contain text"),
        ({"command": " \n"}, "command must contain text"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "cat", "stdin": "x", "is_background": True}, "stdin not supported with background jobs"),
        ({"command": "x", "timeout": 0}, "timeout"),
        ({"command": "x", "timeout": -1}, "timeout"),
        ({"command": "x", "timeout": "inf"}, "timeout"),
        ({"command": "x", "env": {"A=B": "c"}}, "not a variable name"),
        ({"command": "x", "env": {"": "c"}}, "not a variable name"),
        ({"command": "x", "env": {"A": "\0"}}, "NUL"),
        ({"command": "x", "env": {"A": "\ud800"}}, "surrogate"),
        ({"command": "x", "workdir": "."}, "workdir"),
        ({"command": "vim a.txt", "tty": True}, "Refusing to run interactive program 'vim'"),
        ({"command": "vim a.txt"}, "Refusing to run interactive program 'vim' in foreground; set is_background=true"),
        ({"command": "git log | less"}, "Refusing to run interactive program 'less'"),
    ],
    "view_image": [
        ({}, "path"),
        ({"path": ""}, "path"),
        ({"path": "a", "x": 1}, "x"),
    ],
    "web_fetch": [
        ({}, "url"),
        ({"url": ""}, "url"),
        ({"url": "http://x/", "max_bytes": 0}, "max_bytes"),
        ({"url": "http://x/", "max_bytes": LARGEST_BYTES + 1}, "max_bytes"),
        ({"url": "http://x/", "method": "POST"}, "method"),
    ],
    "web_search": [
        ({}, "search_term"),
        ({"search_term": ""}, "search_term"),
        ({"search_term": "x" * 501}, "search_term"),
        ({"search_term": "x", "max_results": 0}, "max_results"),
        ({"search_term": "x", "max_results": MOST_RESULTS + 1}, "max_results"),
        ({"search_term": "x", "engine": "bing"}, "engine"),
    ],
}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [(name, arguments, message) for name, rows in WRONG.items() for arguments, message in rows],
)
def test_wrong_arguments_are_named(name: str, arguments: JsonObject, message: str) -> None:
    """T-08, V-01, Z-60, Z-68."""
    with pytest.raises(ToolError, match=message) as caught:
        TOOLS[name].parse(arguments)
    assert caught.value.error_type == "validation"
