"""All editing tools plan, report, stay in the workspace, and notice changes by others."""

import json
import os
from typing import Any

import pytest
from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.builtin.create_file import CreateFile
from desktop_agent.core.tools.builtin.delete_file import DeleteFile
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.line_edit import LineEdit
from desktop_agent.core.tools.builtin.rename_file import RenameFile
from desktop_agent.core.tools.builtin.template_block import TemplateBlock
from desktop_agent.core.tools.tool import EditTool, is_dry_run
from tests.core.tools.conftest import Workspace


class Edit(Struct, frozen=True):
    """A tool, and a call of it that replaces `old` by `new` in a file; `{}` stands for the file's path."""

    tool: EditTool[Any]
    arguments: JsonObject
    title: str = "{}"

    def on(self, path: str) -> JsonObject:
        return {key: value.format(path) if isinstance(value, str) else value for key, value in self.arguments.items()}


EDIT_FILE = Edit(EditFile(), {"path": "{}", "old_str": "old", "new_str": "new"})
LINE_EDIT = Edit(LineEdit(), {"path": "{}", "mode": "replace", "line": 1, "text": "new"})
TEMPLATE = Edit(TemplateBlock(), {"path": "{}", "mode": "replace_block", "anchor": "old", "template": "new"})
CREATE = Edit(CreateFile(), {"path": "{}", "content": "new\n", "if_exists": "overwrite"})
PATCH = Edit(ApplyPatch(), {"patch": "*** Update File: {}\n-old\n+new\n"})
DELETE = Edit(DeleteFile(), {"path": "{}"})
RENAME = Edit(RenameFile(), {"source_path": "{}", "dest_path": "b.txt"}, title="{} → b.txt")
IN_PART = [EDIT_FILE, LINE_EDIT, TEMPLATE]
IN_PLACE = [*IN_PART, CREATE, PATCH]
ALL = [*IN_PLACE, DELETE, RENAME]


def named(edit: Edit) -> str:
    return edit.tool.name


@pytest.mark.parametrize("edit", ALL, ids=named)
def test_editing_is_writing(edit: Edit) -> None:  # T-02
    assert edit.tool.capabilities == ("write_fs",)
    assert not edit.tool.is_read_only
    assert edit.tool.title(edit.tool.parse(edit.on("a.txt"))) == edit.title.format("a.txt")


@pytest.mark.parametrize("edit", [*IN_PLACE, RENAME], ids=named)
def test_a_dry_run_plans_the_same_and_says_so(work: Workspace, edit: Edit) -> None:  # T-05, T-42
    work.write("a.txt", "old\n")
    arguments = edit.on("a.txt") | {"dry_run": True}
    plan = work.plan(edit.tool, **arguments)
    assert is_dry_run(edit.tool.parse(arguments))
    assert not is_dry_run(edit.tool.parse(edit.on("a.txt")))
    assert plan.writes == work.plan(edit.tool, **edit.on("a.txt")).writes
    assert json.loads(plan.content) == json.loads(work.plan(edit.tool, **edit.on("a.txt")).content) | {"dry_run": True}
    assert work.bytes_of("a.txt") == b"old\n"
    if edit is not CREATE:
        with pytest.raises(ToolError):
            work.plan(edit.tool, **edit.on("nowhere.txt"), dry_run=True)


@pytest.mark.parametrize("edit", IN_PART, ids=named)
def test_a_large_file_is_answered_with_a_warning(work: Workspace, edit: Edit) -> None:  # T-06, T-65
    work.write("a.txt", "old\n" + "line\n" * 1999)
    answer = json.loads(work.plan(edit.tool, **edit.on("a.txt")).content)
    assert answer["total_lines"] == 2000
    assert "large file" in answer["warning"]
    work.write("b.txt", "old\n" + "line\n" * 1998)
    assert "warning" not in json.loads(work.plan(edit.tool, **edit.on("b.txt")).content)


@pytest.mark.parametrize("edit", ALL, ids=named)
def test_a_file_that_changed_since_it_was_read_is_refused(work: Workspace, edit: Edit) -> None:  # D-12, T-81, Z-85
    work.write("a.txt", "old\n")
    work.context.reads.note("a.txt", digest_of(b"older\n"))
    with pytest.raises(ToolError, match="changed on disk since you last read it"):
        work.plan(edit.tool, **edit.on("a.txt"))
    work.context.reads.note("a.txt", digest_of(b"old\n"))
    work.plan(edit.tool, **edit.on("a.txt"))


@pytest.mark.parametrize("edit", IN_PLACE, ids=named)
def test_a_link_is_followed_and_stays_a_link_and_the_mode_is_kept(work: Workspace, edit: Edit) -> None:  # Z-82
    work.write("real.txt", "old\n").chmod(0o754)
    (work.root / "a.txt").symlink_to("real.txt")
    assert work.apply(edit.tool, **edit.on("a.txt"))["path"] == "real.txt"
    assert (work.root / "a.txt").is_symlink()
    assert work.bytes_of("real.txt") == b"new\n"
    assert (work.root / "real.txt").stat().st_mode & 0o777 == 0o754


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../a.txt", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        (".git/config", r"is in '\.git'"),
        (".", "workspace folder itself"),
        ("folder", "path is a directory"),
        ("file/x.txt", "is a file, not a directory"),
        ("pipe", "neither a file nor a symlink"),
        ("a\0b", "NUL"),
    ],
)
@pytest.mark.parametrize("edit", ALL, ids=named)
def test_a_path_that_must_not_be_edited_is_refused(work: Workspace, edit: Edit, path: str, message: str) -> None:
    """T-64, Z-68, Z-90: the message names the reason, not only the path."""
    (work.root / "folder").mkdir()
    work.write("file", "x")
    os.mkfifo(work.root / "pipe")
    with pytest.raises(ToolError, match=message):
        work.plan(edit.tool, **edit.on(path))


@pytest.mark.parametrize("edit", IN_PLACE, ids=named)
def test_a_link_that_leads_outside_is_refused(work: Workspace, edit: Edit) -> None:  # Z-90
    (work.root / "out.txt").symlink_to(work.root.parent / "outside.txt")
    with pytest.raises(ToolError, match="outside the workspace"):
        work.plan(edit.tool, **edit.on("out.txt"))


@pytest.mark.parametrize("edit", [*IN_PART, PATCH], ids=named)
def test_what_is_no_text_is_refused(work: Workspace, edit: Edit) -> None:
    work.write("a.bin", b"old\0\1\2")
    with pytest.raises(ToolError, match="binary"):
        work.plan(edit.tool, **edit.on("a.bin"))


@pytest.mark.parametrize("edit", IN_PART, ids=named)
def test_a_missing_file_is_named_with_what_is_there_instead(work: Workspace, edit: Edit) -> None:  # T-40, E-08
    work.write("notes.txt", "old\n")
    with pytest.raises(ToolError, match=r"note\.txt does not exist\. Did you mean notes\.txt"):
        work.plan(edit.tool, **edit.on("note.txt"))


def test_characters_that_an_encoding_lacks_are_replaced_and_named(work: Workspace) -> None:
    """T-47: the answer names the replaced characters."""
    answer = work.apply(CREATE.tool, path="a.txt", content="grün €", encoding="ascii")
    assert "ü €" in answer["warning"]
    assert work.bytes_of("a.txt") == b"gr?n ?"
    assert "warning" not in work.apply(CREATE.tool, path="b.txt", content="plain", encoding="ascii")
