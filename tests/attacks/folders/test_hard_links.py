"""Hard links: writes stay in the folder, and a secret is recognised under all its names."""

import json
import os
from itertools import product
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, Denied, JsonObject
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.system.files import digest_of
from tests.attacks.corpus import cases
from tests.harness import Ground

OUTSIDE = "../outside.txt"
OLD = "first\nsecond\nthird\n"
SECRET = "TOKEN=hunter2-hunter2\n"

SPECIAL = [".git/config", ".env", ".desktop-agent/config.toml", "deploy/server.pem"]

WRITES: dict[str, JsonObject] = {
    "edit_file": {"path": "linked.txt", "old_str": "second", "new_str": "changed"},
    "create_file": {"path": "linked.txt", "content": "changed\n", "if_exists": "overwrite"},
    "line_edit": {"path": "linked.txt", "mode": "replace", "line": 2, "text": "changed"},
    "template_block": {"path": "linked.txt", "mode": "insert_after", "anchor": "second", "template": "changed"},
    "apply_patch": {
        "patch": "*** Begin Patch\n*** Update File: linked.txt\n@@\n first\n-second\n+changed\n third\n*** End Patch"
    },
    "delete_file": {"path": "linked.txt"},
    "rename_file": {"source_path": "linked.txt", "dest_path": "sub/moved.txt"},
}


def calls(*made: Call) -> list[Reply]:
    return [*([call] for call in made), [Say("done")]]


@pytest.fixture
def linked(ground: Ground) -> Ground:
    os.link(ground.write(OUTSIDE, OLD), ground.workspace / "linked.txt")
    return ground


@pytest.mark.parametrize("tool", cases(WRITES, str))
async def test_a_write_through_a_link_from_outside_changes_nothing_outside(linked: Ground, tool: str) -> None:
    async with linked.session(calls(Call(tool, WRITES[tool])), approval="on_request") as s:
        await s.prompt()
        [result] = s.results()
        assert not result.is_error, result.content
        assert linked.read(OUTSIDE) == OLD
        assert s.rx.all(ev.ChangesRecorded)
        await s.undo(ChangeSelection(turn=1))
    assert (linked.read("linked.txt"), linked.read(OUTSIDE)) == (OLD, OLD)


async def test_an_edit_that_breaks_a_link_says_so_before_and_after(linked: Ground) -> None:
    async with linked.session(calls(Call("edit_file", WRITES["edit_file"]))) as s:
        asked = await s.turn()
        assert "`linked.txt` has another name (a hard link)" in " ".join(asked.request.details)
        assert "`linked.txt` has another name (a hard link)" in s.results()[0].content


async def test_both_names_of_a_file_are_written_where_both_are_ordinary_files_of_the_folder(ground: Ground) -> None:
    ground.write("sub/other.txt", OLD)
    os.link(ground.workspace / "sub/other.txt", ground.workspace / "linked.txt")
    async with ground.session(calls(Call("edit_file", WRITES["edit_file"])), approval="on_request") as s:
        await s.prompt()
        assert "hard link" not in s.results()[0].content
    assert ground.read("linked.txt") == ground.read("sub/other.txt") == OLD.replace("second", "changed")


@pytest.mark.parametrize("special", cases(SPECIAL, str))
async def test_a_special_file_keeps_its_content_when_an_innocent_name_of_it_is_written(
    ground: Ground, special: str
) -> None:
    ground.write(special, OLD)
    os.link(ground.workspace / special, ground.workspace / "linked.txt")
    async with ground.session(calls(Call("edit_file", WRITES["edit_file"])), approval="on_request") as s:
        await s.prompt()
    assert ground.read(special) == OLD


async def test_what_the_user_types_into_a_linked_file_stays_in_the_folder(linked: Ground) -> None:
    async with linked.session(calls()) as s:
        op = ops.WriteFile(path="linked.txt", expected=digest_of(OLD.encode()), content=b"typed\n")
        await s.carry_out(op, ev.ChangesRecorded)
    assert (linked.read("linked.txt"), linked.read(OUTSIDE)) == ("typed\n", OLD)


READS: dict[str, tuple[str, JsonObject]] = {
    "read_file": ("read_file", {"path": "notes.txt"}),
    "read_by_a_symlink": ("read_file", {"path": "short"}),
    "grep_the_file": ("grep", {"pattern": "hunter", "path": "notes.txt"}),
    "view_image": ("view_image", {"path": "notes.txt"}),
}
SECRETS = [".env", "config/credentials.json", "~/.netrc", "~/.ssh/id_ed25519"]


def plant(ground: Ground, secret: str) -> None:
    place = ground.workspace / secret
    if secret.startswith("~/"):
        place = Path(os.environ["HOME"]) / secret.removeprefix("~/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(SECRET)
    os.link(place, ground.workspace / "notes.txt")
    (ground.workspace / "short").symlink_to("notes.txt")


@pytest.mark.parametrize("case", cases(product(READS, SECRETS), " of ".join))
async def test_reading_a_secret_by_an_innocent_name_asks_as_the_secret_does(
    ground: Ground, case: tuple[str, str]
) -> None:
    how, secret = case
    plant(ground, secret)
    tool, arguments = READS[how]
    async with ground.session(calls(Call(tool, arguments))) as s:
        asked = await s.turn(Denied())
        assert "notes.txt" in asked.request.reason
        assert Path(secret).name in asked.request.reason
        assert "hunter2" not in s.results()[0].content


SEARCHES: dict[str, tuple[str, JsonObject]] = {
    "grep": ("grep", {"pattern": "hunter"}),
    "codebase_search": ("codebase_search", {"query": "TOKEN hunter2"}),
    "files": ("grep", {"pattern": "hunter", "output_mode": "files_with_matches"}),
    "count": ("grep", {"pattern": "hunter", "output_mode": "count"}),
    "command": ("run_terminal_cmd", {"command": "cat notes.txt plain.txt; echo plain.txt"}),
}


@pytest.mark.parametrize("case", cases(product(SEARCHES, SECRETS), " of ".join))
async def test_a_search_leaves_out_a_secret_under_every_name(ground: Ground, case: tuple[str, str]) -> None:
    how, secret = case
    plant(ground, secret)
    tool, arguments = SEARCHES[how]
    ground.write("plain.txt", "TOKEN hunter is here")
    async with ground.session(calls(Call(tool, arguments))) as s:
        await s.prompt()
        content = s.results()[0].content
        assert "plain.txt" in content
        assert "hunter2" not in content
        assert how == "command" or "notes.txt" not in json.dumps(s.results()[0].content)


@pytest.mark.parametrize("link", ["hard", "symbolic"])
@pytest.mark.parametrize("secret", cases(SECRETS, str))
async def test_guidance_that_is_a_secret_is_not_read_and_its_names_are_told(
    ground: Ground, secret: str, link: str
) -> None:
    plant(ground, secret)
    if link == "hard":
        (ground.workspace / "notes.txt").rename(ground.workspace / "AGENTS.md")
    else:
        (ground.workspace / "AGENTS.md").symlink_to("notes.txt")
    async with ground.session([[Say("done")]]) as s:
        await s.prompt()
        [notice] = [event for event in s.rx.all(ev.Notice) if event.code == "guidance"]
        assert "AGENTS.md was not used, or not in full" in notice.title
        assert Path(secret).name in notice.title
        assert "hunter2" not in s.last_request.system


async def test_guidance_is_not_read_from_a_secret_of_the_folder_by_its_own_name(ground: Ground) -> None:
    ground.write(".env", SECRET)
    (ground.workspace / "AGENTS.md").symlink_to(".env")
    async with ground.session([[Say("done")]]) as s:
        await s.prompt()
        [notice] = [event for event in s.rx.all(ev.Notice) if event.code == "guidance"]
        assert "`.env`" in notice.title
        assert "hunter2" not in s.last_request.system


async def test_guidance_is_read_once_it_is_no_secret_any_more(ground: Ground) -> None:
    ground.write(".env", "Use tabs.")
    os.link(ground.workspace / ".env", ground.workspace / "AGENTS.md")
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt()
        assert "Use tabs." not in s.last_request.system
        (ground.workspace / ".env").unlink()
        await s.prompt("again")
        assert "Use tabs." in s.last_request.system


@pytest.mark.parametrize("secret", cases(SECRETS, str))
async def test_a_command_of_a_project_that_is_a_secret_is_not_sent(ground: Ground, secret: str) -> None:
    plant(ground, secret)
    commands = ground.workspace / ".desktop-agent/commands"
    commands.mkdir(parents=True)
    (ground.workspace / "notes.txt").rename(commands / "look.md")
    async with ground.session([[Say("done")]]) as s:
        said = await s.carry_out(ops.RunCommand(text="/look"), (ev.CommandRun, ev.TurnStarted))
        assert isinstance(said, ev.CommandRun), "it was sent"
        assert "/look cannot be used" in said.output
        assert "often holds secrets" in said.output
        assert "hunter2" not in said.output


async def test_a_linked_tree_without_secrets_is_read_without_a_question(ground: Ground) -> None:
    """pnpm and `cp -al` make such trees: every file has another name outside."""
    store = ground.workspace.parent / "store"
    store.mkdir()
    (store / "index.js").write_text("module.exports = 1\n")
    (ground.workspace / "node_modules").mkdir()
    os.link(store / "index.js", ground.workspace / "node_modules/index.js")
    async with ground.session(calls(Call("read_file", {"path": "node_modules/index.js"}))) as s:
        assert (await s.prompt()).reason == "completed"
        assert "module.exports" in s.results()[0].content
