"""A home of every released version opens with all that the user had in it.

`goldens/homes/VERSION` was made by that version. To add today's, run this file with `GOLDEN_HOME=VERSION`. A home names
its project by an absolute path, so all of them use the same one, one after another.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView

from desktop_agent.core.approvals import RULES_NAME, RulesFile
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.command_line import main
from tests.e2e import orders
from tests.e2e.driver import Driver, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve

HOMES = Path(__file__).parents[1] / "goldens" / "homes"
SHOP = Path(tempfile.gettempdir()) / "desktop-agent-golden" / "shop"
COPIED = ("--accept-folder",)  # a copy of the project is another folder
DRAFT = "unfinished thought"
PROMPT = "Check the totals, and use the new logo."
MODELS = '[[model]]\nprovider = "openai-chat"\nname = "local-7b"\ncontext_tokens = 32000\n'


@pytest.fixture
def shop(ready_to_work: None) -> Iterator[Path]:
    del ready_to_work
    SHOP.parent.mkdir(exist_ok=True)
    with (SHOP.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(SHOP, ignore_errors=True)
        yield SHOP
        shutil.rmtree(SHOP)


def paths() -> AppPaths:
    return AppPaths.from_environment(os.environ)


def said(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    capsys.readouterr()
    assert main([*command, "--json", "--workspace", str(SHOP)]) == 0
    return json.loads(capsys.readouterr().out)


def seen(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what the user would miss, without what a later version may add."""
    sessions = said(capsys, "sessions", "list", "--all")["sessions"]
    (session,) = [each for each in sessions if each["is_pinned"]]
    return {
        "sessions": {
            each["id"]: [each["title"], each["turns"], each["created_at"], each["usage"], each["is_archived"]]
            for each in sessions
        },
        "conversation": [
            [entry["role"], entry["content"]] for entry in said(capsys, "sessions", "show", session["id"])["messages"]
        ],
        "settings": {
            each["key"]: each["value"]
            for each in said(capsys, "config", "show")["details"]
            if each["source"] != "default" and each["key"] != "mcp.definitions"
        },
        "servers": [[each["name"], each["where"]] for each in said(capsys, "mcp", "list")["servers"]],
        "accounts": [
            [each["provider"], each["account"], each["address"]]
            for each in said(capsys, "auth", "status")["providers"]
            if each["account"]
        ],
        "costs": said(capsys, "costs", "--days", "36500")["total"],
        "rules": [[rule.effect, rule.pattern] for rule in RulesFile(paths().config / RULES_NAME).load().rules],
        "models": [
            [model.name, model.context_tokens] for model in ModelsFile(paths().config / MODELS_FILE_NAME).load().models
        ],
    }


def make_home(folder: Path) -> None:
    """Use today's program in all the ways that leave something in its home."""
    orders.make_shop(folder)
    (folder / ".desktop-agent").mkdir()
    (folder / ".desktop-agent" / "config.toml").write_text("[execution]\nblocked_commands = ['shutdown']\n")
    for command in (
        ["config", "set", "ui.theme", "dark"],
        ["config", "trust", str(folder)],
        ["mcp", "add", "notes", "--url", "http://127.0.0.1:9/mcp"],
        ["mcp", "disable", "notes"],
    ):
        assert main(command) == 0
    rule = Rule(id="r1", effect="forbid", kind="command", pattern="rm", scope="always", created_at=datetime.now(UTC))
    RulesFile(paths().config / RULES_NAME).add(rule)
    (paths().config / "models.toml").write_text(MODELS)

    async def journey(user: Driver) -> None:
        await user.see_ready()
        await user.type("composer", PROMPT)
        await user.press(Qt.Key.Key_Return)
        await user.allow_with_mouse()
        await user.allow_with_mouse()
        await user.see_turn_end()
        view = await see_review(user)
        view.setFocus()
        await user.press(Qt.Key.Key_K)
        await user.click("undoHunkButton")
        await user.until_true(lambda: marks(view) == (1, 1), "one is kept, one undone")
        user.composer.set_text(DRAFT)
        await user.quit()

    with serve(*orders.answers()) as server:
        drive([str(folder), "--base-url", server.url], folder, journey)
    (session,) = [path.name for path in paths().sessions.iterdir()]
    with serve(reply(text("Nothing else."))) as server:
        asked = ["run", "--prompt", "Anything else?", "--base-url", server.url, "--workspace", str(folder)]
        assert main(asked) == 0
    (other,) = [path.name for path in paths().sessions.iterdir() if path.name != session]
    for command in (["rename", session, "The totals"], ["pin", session], ["archive", other]):
        assert main(["sessions", *command]) == 0


async def see_review(user: Driver) -> DiffView:
    changes = await user.see(QListView, "changeList")
    await user.until_true(lambda: changes.model().rowCount() == 2, "both files are listed")
    view = await user.see(DiffView, "diffView")
    await user.until_true(lambda: len(overlays(view).hunks.keys) == 3, "the three changes are drawn")
    return view


def overlays(view: DiffView) -> DiffReview:
    found = view.findChild(DiffReview)
    assert found
    return found


def marks(view: DiffView) -> tuple[int, int]:
    return overlays(view).hunks.counts()[:2]


@pytest.mark.parametrize("version", ["today", *sorted(path.name for path in HOMES.iterdir())])
def test_a_home_of_a_released_version_is_as_it_was_left(
    version: str, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, expected = paths().config.parent, tmp_path / "expected.json"
    if version == "today":
        make_home(shop)
        expected.write_text(json.dumps(seen(capsys), indent=1))
        if kept := os.environ.get("GOLDEN_HOME"):
            ignored = shutil.ignore_patterns("cache", "logs", "lock", "*.lock")
            shutil.copytree(home, HOMES / kept / "home", ignore=ignored)
            shutil.copytree(shop, HOMES / kept / "shop")
            shutil.copy(expected, HOMES / kept)
    else:
        shutil.copytree(HOMES / version / "home", home, dirs_exist_ok=True)
        shutil.copytree(HOMES / version / "shop", shop)
        expected = HOMES / version / "expected.json"
    assert seen(capsys) == json.loads(expected.read_text())

    async def journey(user: Driver) -> None:
        await user.see_ready()
        await user.until_true(lambda: user.transcript.session.title == "The totals", "the session is open")
        await user.until_true(lambda: user.composer.text() == DRAFT, "the draft is there")
        view = await see_review(user)
        await user.until_true(lambda: marks(view) == (1, 1), "the marks are those that were made")
        view.setFocus()
        await user.press(Qt.Key.Key_F7)
        await user.press(Qt.Key.Key_R)
        await user.until_true(lambda: (shop / orders.MODULE).read_text() == orders.AFTER, "the hunk is made again")
        await user.quit()

    (session,) = [each["id"] for each in said(capsys, "sessions", "list")["sessions"]]
    with serve(reply(text("On it goes."))) as server:
        assert main(["run", "--resume", session, "--prompt", "Go on", "--base-url", server.url, *COPIED]) == 0
        assert PROMPT in str(server.messages[-1].fields["messages"])
    drive([str(shop), "--resume", session], tmp_path, journey)
    assert main(["changes", "undo", session]) == 0
    assert (shop / orders.MODULE).read_text() == orders.BEFORE


@pytest.mark.parametrize(
    ("name", "newer", "command", "code"),
    [
        ("config.toml", '[tomorrow]\nmode = "x"\n', ["run", "--prompt", "Hi", "--provider", "demo"], 0),
        ("rules.toml", '[[rule]]\nid = "z"\neffect = "perhaps"\n', ["run", "--prompt", "Hi", "--provider", "demo"], 2),
        ("models.toml", '[[model]]\nprovider = "tomorrow"\nname = "x"\n', ["models", "list", "--provider", "xai"], 0),
        (
            "accounts.toml",
            '[[account]]\nprovider = "tomorrow"\n',
            ["auth", "set", "openai", "--account", "team", "--base-url", "https://models.example/v1"],
            2,
        ),
    ],
)
def test_what_a_newer_version_wrote_into_a_file_is_named_and_kept(
    name: str, newer: str, command: list[str], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    file = paths().config / name
    file.parent.mkdir(parents=True)
    with file.open("a", encoding="utf-8") as appended:
        appended.write(newer)
    assert main(["config", "set", "ui.theme", "dark"]) == 0
    assert main(command) == code
    assert name in capfd.readouterr().err
    assert newer in file.read_text(encoding="utf-8")
