"""Roles of sub-agents in the files of Claude Code, Copilot, Codex and ours: read leniently, and granting nothing."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.extensions.agent_files import (
    MOST_ROLES,
    ListedRole,
    RoleFolders,
    listed,
    role_items,
    roles_in_force,
)
from desktop_agent.core.extensions.skills import secret_by_name
from desktop_agent.core.tools.secret_files import finder_of_secrets
from tests.core.extensions.homes import homes_in


class Place:
    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.config = (folder / name for name in ("project", "home", "config"))
        for each in (self.root, self.home, self.config):
            each.mkdir()
        secrets = finder_of_secrets(self.root, {})
        self.folders = RoleFolders(self.root, homes_in(self.home, self.config), lambda: secrets().secret_at)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def found(self, *, is_trusted: bool = True) -> dict[str, ListedRole]:
        return {one.file.role.name: one for one in listed(self.folders.read(), is_trusted=is_trusted)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


CLAUDE = """---
name: code-reviewer
description: Reviews code: use it after changes.
tools: Read, Grep, Glob, Bash(git diff:*), mcp__github__search, mcp__linear
disallowedTools: [WebFetch]
model: opus
effort: high
maxTurns: 12
permissionMode: plan
hooks:
  PreToolUse: []
---

Review what changed.
"""


def test_a_sub_agent_of_claude_code_is_read_with_our_names_of_its_tools(place: Place) -> None:
    path = place.write(place.root / ".claude/agents/team/reviewer.md", CLAUDE)
    role = place.found()["code-reviewer"].file.role
    assert role.description == "Reviews code: use it after changes."
    assert role.tools == (
        "read_file", "view_image", "grep", "glob_file_search", "run_terminal_cmd", "github/search", "linear",
    )  # fmt: skip
    assert role.blocked_tools == ("web_fetch",)
    assert (role.model, role.effort, role.max_requests, role.only_reads) == ("opus", "high", 12, True)
    assert role.instructions == "Review what changed."
    assert role.path == str(path)


def test_those_of_copilot_codex_and_ours_are_read(place: Place) -> None:
    place.write(
        place.root / ".github/agents/docs.agent.md", "---\ndescription: Writes\ntools: ['read', 'edit']\n---\nW."
    )
    place.write(place.root / ".github/agents/README.md", "no agent")
    place.write(
        place.root / ".codex/agents/sec.toml",
        'name = "sec"\ndescription = "Looks"\ndeveloper_instructions = "L."\nsandbox_mode = "read-only"\n'
        'model_reasoning_effort = "low"\nmcp_servers = {a = {command = "x"}}\n',
    )
    place.write(place.root / ".desktop-agent/agents/mine.md", "---\ndescription: Mine\nmodel: inherit\n---\nM.")
    found = place.found()
    assert set(found) == {"docs", "sec", "mine"}
    tools = found["docs"].file.role.tools
    assert tools is not None
    assert {"read_file", "edit_file"} <= set(tools)
    assert (found["sec"].file.role.only_reads, found["sec"].file.role.effort) == (True, "low")
    assert (found["mine"].file.role.model, found["mine"].file.role.tools) == ("", None)


def test_nothing_of_a_project_is_offered_before_it_is_trusted_and_the_users_own_is(place: Place) -> None:
    place.write(place.root / ".claude/agents/theirs.md", "---\ndescription: d\n---\nt")
    place.write(place.home / ".claude/agents/own.md", "---\ndescription: d\n---\no")
    place.write(place.config / "agents/mine.md", "---\ndescription: d\n---\nm")
    files = place.folders.read()
    assert [role.name for role in roles_in_force(files, is_trusted=False)] == ["general", "explore", "mine", "own"]
    assert [item.name for item in role_items(files)] == ["theirs"]
    assert place.found(is_trusted=False)["theirs"].state == "untrusted"
    assert "theirs" in [role.name for role in roles_in_force(files, is_trusted=True)]


def test_a_file_replaces_our_role_of_its_name_and_the_nearest_one_wins(place: Place) -> None:
    place.write(place.home / ".claude/agents/explore.md", "---\ndescription: far\n---\nfar")
    place.write(place.root / ".claude/agents/explore.md", "---\ndescription: near\n---\nnear")
    (explore,) = (role for role in roles_in_force(place.folders.read(), is_trusted=True) if role.name == "explore")
    assert explore.instructions == "near"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no front matter", "no description"),
        ("---\nname: a\n---\nbody", "no description"),
        ("---\ndescription: d\n---\n", "no instructions"),
        ("---\nname: a b: c\ndescription: d\n---\nbody", "characters other than"),
        ("---\ndescription: d\n---\n" + "x" * 70_000, "more than"),
    ],
)
def test_what_cannot_be_used_says_why(place: Place, text: str, why: str) -> None:
    place.write(place.root / ".claude/agents/bad.md", text)
    (found,) = place.found().values()
    assert found.state == "unusable"
    assert why in found.reason


def test_no_link_leads_out_and_no_secret_is_read_and_the_number_is_limited(place: Place, tmp_path: Path) -> None:
    outside = place.write(tmp_path / "outside.md", "---\ndescription: d\n---\nsecret")
    folder = place.root / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "link.md").symlink_to(outside)
    secret = place.write(place.root / ".env", "---\ndescription: d\n---\nTOKEN=1")
    (folder / "hard.md").hardlink_to(secret)
    found = place.found()
    assert {one.state for one in found.values()} == {"unusable"}
    assert not any(
        "secret" in one.file.role.instructions or "TOKEN" in one.file.role.instructions for one in found.values()
    )
    for number in range(2 * MOST_ROLES):
        place.write(folder / f"many{number:03}.md", "---\ndescription: d\n---\nx")
    assert len(place.folders.read()) == MOST_ROLES


def test_a_changed_file_is_read_again_also_where_the_user_moved_the_folder(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    moved = tmp_path / "elsewhere"
    homes = replace(homes_in(place.home, place.config), claude=moved)
    folders = RoleFolders(place.root, homes, lambda: secret_by_name)
    path = place.write(moved / "agents" / "tester.md", CLAUDE)
    (first,) = folders.read()
    assert first.place == f"{moved}/agents"
    path.write_text(f"{CLAUDE}And be brief.\n")
    (again,) = folders.read()
    assert again.role.instructions == f"{first.role.instructions}\nAnd be brief."
    path.unlink()
    assert not folders.read()
