"""Which errors the requirements document for which tool. Each is shown by a row."""

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
"""The errors that each tool must show, by the requirement or the trap that names them."""
