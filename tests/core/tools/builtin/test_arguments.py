"""Wrong arguments are named for every tool, before the user is asked."""

from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.builtin import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools(Path("unused"))}
WRONG: dict[str, list[tuple[JsonObject, str]]] = {
    "apply_patch": [  # T-74
        ({"patch": ""}, "patch: the patch is empty"),
        ({"patch": "-a\n+\ud800"}, "patch"),
    ],
    "codebase_search": [({"query": "x", "glob": "{a"}, "glob")],
    "edit_file": [  # T-38, Z-86
        ({"path": "a.py", "old_str": "", "new_str": ""}, "new_str must differ from old_str"),
        ({"path": "a.py", "old_str": "a", "new_str": "\ud800"}, "new_str"),
    ],
    "glob_file_search": [
        ({"glob_pattern": "/etc/*"}, "relative"),
        ({"glob_pattern": "../*"}, "relative"),
    ],
    "grep": [({"pattern": "x", "include": "{a"}, "include")],
    "job_control": [({"action": "wait"}, "wait needs a job_id")],
    "line_edit": [  # T-62, Z-68: the message is the error, not a JSON text that fails to parse
        ({"path": "a", "mode": 1, "line": 1}, "mode must be one of"),
        ({"path": "a", "mode": "delete", "anchor": "x\ny"}, "within one line"),
    ],
    "list_files": [({"ignore": ["{a"]}, "ignore")],
    "read_file": [({"path": "a", "encoding": "hex"}, "encoding")],  # T-15
    "request_approval": [({"action": "x", "reason": ""}, "reason: must not be blank")],
    "run_terminal_cmd": [  # T-84, T-88: before the user is asked to approve them
        ({"command": ""}, "command must contain text"),
        ({"command": "x", "timeout": "inf"}, "timeout"),
        ({"command": "x", "env": {"": "c"}}, "not a variable name"),
        ({"command": "x", "env": {"A": "\0"}}, "NUL"),
        ({"command": "x", "env": {"A": "\ud800"}}, "surrogate"),
        (
            {"command": "vim a.txt", "tty": True},
            r"Refusing to run interactive program 'vim'.* flag\. Its arguments are",
        ),
        ({"command": "git log | less", "tty": True}, "Refusing to run interactive program 'less'"),
    ],
}
"""Errors beyond the schemas and the rows of `tests/e2e/matrix`; `test_tool_matrix.py` breaks each schema rule."""


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [(name, arguments, message) for name, rows in WRONG.items() for arguments, message in rows],
)
def test_wrong_arguments_are_named(name: str, arguments: JsonObject, message: str) -> None:  # T-08, V-01, Z-60, Z-68
    with pytest.raises(ToolError, match=message) as caught:
        TOOLS[name].parse(arguments)
    assert caught.value.error_type == "validation"
