"""The requirements of each tool: its errors, and the bounds of its parameters."""

from collections.abc import Mapping

DOCUMENTED: Mapping[str, tuple[str, ...]] = {
    "read_file": ("T-14 missing file", "T-14 directory", "T-15 missing path", "Z-90 outside"),
    "list_files": ("Z-90 outside",),
    "grep": ("T-30 missing pattern", "a pattern that is none", "Z-90 outside"),
    "glob_file_search": ("Z-90 outside",),
    "codebase_search": ("Z-90 outside",),
    "view_image": ("T-110 no picture", "Z-90 outside"),
    "edit_file": (
        "T-38 identical", "T-40 absent", "T-40 missing file", "Z-86 ambiguous", "Z-86 whole file", "Z-90 outside",
    ),
    "apply_patch": (
        "T-74 empty", "T-77 other path", "T-77 rename", "T-78 binary", "T-79 missing file", "T-81 mismatch",
        "Z-77 add over a file", "Z-87 same name", "Z-90 outside",
    ),
    "line_edit": (
        "T-63 neither", "T-63 both", "T-63 no text", "T-63 empty text", "T-63 text to delete", "T-63 mode",
        "T-64 missing file", "T-64 no regular file", "Z-90 outside",
    ),
    "template_block": ("T-69 expected_block", "T-70 anchor", "T-70 expected_block", "Z-90 outside"),
    "create_file": ("T-46 if_exists", "T-48 parent", "T-49 exists", "Z-90 outside"),
    "delete_file": ("T-53 directory", "Z-90 outside"),
    "rename_file": ("T-57 identical", "T-58 missing source", "T-58 directory", "Z-90 outside"),
    "run_terminal_cmd": (
        "T-85 dangerous", "T-86 blank", "T-86 stdin in the background", "T-88 interactive", "T-90 exit code",
        "T-91 timeout", "Z-47 timeout 0", "Z-90 outside",
    ),
    "job_control": ("Z-47 job",),
    "todo_write": ("T-97 status",),
    "request_approval": ("T-109 nobody to ask",),
    "web_search": ("nobody to ask",),
    "web_fetch": ("nobody to ask",),
}  # fmt: skip
"""Each tool's errors, with the requirement or trap that names them."""

PARAMETERS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "read_file": {  # T-10
        "path": {"minLength": 1},
        "encoding": {"default": "utf-8"},
        "errors": {"default": "replace"},
        "byte_offset": {"minimum": 0},
        "byte_limit": {"exclusiveMinimum": 0},
        "offset": {"minimum": 1},
        "limit": {"exclusiveMinimum": 0},
        "tail_lines": {"exclusiveMinimum": 0},
    },
    "list_files": {"path": {"default": "."}, "recursive": {"default": True}, "depth": {"minimum": 1}},  # T-20
    "grep": {  # T-25
        "pattern": {"minLength": 1},
        "path": {"default": "."},
        "context_lines": {"minimum": 0, "maximum": 10, "default": 0},
        "case_insensitive": {"default": False},
        "max_results": {"minimum": 1, "maximum": 1000, "default": 100},
        "output_mode": {"default": "content", "enum": ["content", "files_with_matches", "count"]},
        "before": {"minimum": 0, "default": 0},
        "after": {"minimum": 0, "default": 0},
        "around": {"minimum": 0, "default": 0},
        "multiline": {"default": False},
        "head_limit": {"minimum": 1},
    },
    "edit_file": {"path": {"minLength": 1}, "dry_run": {"default": False}},  # T-38
    "create_file": {  # T-46
        "content": {"default": ""},
        "if_exists": {"default": "error", "enum": ["error", "overwrite", "skip"]},
        "create_parents": {"default": True},
        "encoding": {"default": "utf-8"},
        "dry_run": {"default": False},
    },
    "rename_file": {  # T-57
        "overwrite": {"default": False},
        "create_dest_parent": {"default": True},
        "dry_run": {"default": False},
    },
    "line_edit": {  # T-62
        "mode": {"enum": ["insert_before", "insert_after", "replace", "delete"]},
        "line": {"minimum": 1},
        "occurrence": {"minimum": 1, "default": 1},
        "line_count": {"minimum": 1, "default": 1},
        "dry_run": {"default": False},
    },
    "template_block": {  # T-69
        "mode": {"enum": ["insert_before", "insert_after", "replace_block"]},
        "anchor": {"minLength": 1},
        "occurrence": {"minimum": 1, "default": 1},
        "template": {"minLength": 1},
        "dry_run": {"default": False},
    },
    "apply_patch": {"dry_run": {"default": False}},  # T-74
    "run_terminal_cmd": {"is_background": {"default": False}, "timeout": {"exclusiveMinimum": 0}},  # T-84, Z-47
    "todo_write": {
        "merge": {"default": False},
        "todos[].status": {"enum": ["pending", "in_progress", "completed", "cancelled"]},
    },  # T-97
}
"""The required bounds, choices and defaults of parameters."""
