"""The real window: published servers and one with a sign-in, in one turn that is undone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.app.settings.test_server_control import add, open_page
from tests.app.signing import BrowserOfTheDesktop
from tests.e2e.driver import Driver, drive
from tests.e2e.servers.conftest import pypi_server
from tests.e2e.test_journey_of_a_changed_tool import see_ready
from tests.git import git
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.npm.programs import npm_program
from tests.parts import visible_texts
from tests.servers.browser import UserInBrowser
from tests.servers.mcp_authorization import wanting_a_sign_in
from tests.servers.script import Part, reply, text, tool_use
from tests.servers.threaded import in_thread, serve
from tests.servers.web_server import Canned, WebServer

BEFORE = b"one\r\ntwo\xff\n"
PAGE = Canned("<html><head><title>T</title></head><body><article><p>All is well here.</p></article></body></html>")


def set_up(folder: Path) -> None:
    folder.mkdir()
    for words in ("init -q -b main", "config user.name A", "config user.email a@example.org"):
        git(folder, *words.split())
    for content, branch in ((b"older\n", "old"), (b"newer\n", "")):
        (folder / "a.txt").write_bytes(content)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "one more")
        if branch:
            git(folder, "branch", branch)
    (folder / "notes.txt").write_bytes(BEFORE)
    programs: Mapping[str, Sequence[str]] = {
        "files": [*npm_program("mcp-server-filesystem"), str(folder)],
        "everything": npm_program("mcp-server-everything"),
        "time": [pypi_server("mcp-server-time"), "--local-timezone", "UTC"],
        "git": [pypi_server("mcp-server-git"), "--repository", str(folder)],
        "fetch": [pypi_server("mcp-server-fetch"), "--allow-private-ips"],
    }
    lines = [""]
    for name, (command, *args) in programs.items():
        lines += ["[[mcp.definitions]]", f'name = "{name}"', f"command = {json.dumps(command)}"]
        lines += [f"args = {json.dumps(args)}"]
        # Without a PATH the server finds no Node.js, and installs no packages from the network.
        lines += ['env = { PATH = "" }'] if name == "fetch" else []
    with AppPaths.from_environment().settings_file().open("a") as settings:
        settings.write("\n".join(lines))


def calls(folder: Path, page: str) -> list[Part]:
    return [
        tool_use("time__convert_time", source_timezone="Asia/Tokyo", time="16:30", target_timezone="UTC"),
        tool_use("fetch__fetch", url=page),
        tool_use("everything__get-tiny-image"),
        tool_use("account__echo", text="as the user"),
        tool_use("files__write_file", path=str(folder / "notes.txt"), content="theirs\n"),
        tool_use("git__git_checkout", repo_path=str(folder), branch_name="old"),
    ]


async def add_and_sign_in(user: Driver, url: str) -> None:
    dialog = await open_page(user)
    await add(user, "account", url)
    async with UserInBrowser() as at_the_browser:
        with BrowserOfTheDesktop(at_the_browser):
            await user.click("serverSignInButton")
            await user.until_true(lambda: "Running" in visible_texts(dialog), "the server is used as the user")
    await user.press(Qt.Key.Key_Escape)


async def allow_until_the_end(user: Driver) -> None:
    await user.until_true(lambda: user.transcript.turns.is_running, "the turn runs")
    for _ in range(6):
        await user.allow_with_mouse()
    await user.see_turn_end()


@pytest.mark.nightly
@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_one_turn_with_servers_that_nobody_here_wrote_is_shown_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keyring(monkeypatch, MemoryKeyring())
    folder = tmp_path / "project"
    account, _ = wanting_a_sign_in()
    set_up(folder)

    async def journey(user: Driver) -> None:
        await see_ready(user)
        await add_and_sign_in(user, account.url)
        await user.type("composer", "Use all of them.")
        await user.press(Qt.Key.Key_Return)
        await allow_until_the_end(user)
        results = [entry.result for entry in user.transcript.entries if isinstance(entry, ToolEntry)]
        assert [result is not None and not result.is_error for result in results] == [True] * 6
        told = "\n".join(result.content for result in results if result is not None)
        assert all(words in told for words in ("T07:30:00+00:00", "All is well here.", "as the user"))
        assert [image.media_type for result in results if result for image in result.images] == ["image/png"]
        assert (folder / "notes.txt").read_text() == "theirs\n"
        assert (folder / "a.txt").read_text() == "older\n"
        view = await user.see(DiffView, "diffView")
        await user.until_true(lambda: "theirs" in "".join(view.document.rows.diff.new_lines), "the diff is shown")
        await user.click("undoTurnButton")
        await user.until_true(lambda: (folder / "notes.txt").read_bytes() == BEFORE, "the file is as it was")
        await user.until_true(lambda: (folder / "a.txt").read_text() == "newer\n", "the other is as it was")
        dialog = await open_page(user)
        await user.until_true(lambda: visible_texts(dialog).count("Running") == 6, "every server runs")
        await user.until_true(
            lambda: "\n".join(visible_texts(dialog)).count("tokens in each request") == 6, "each has its cost"
        )
        await user.press(Qt.Key.Key_Escape)
        await user.quit_with_key()

    with in_thread(WebServer({"/page": PAGE})) as (web, _), in_thread(account):
        script = calls(folder, f"{web.url}/page")
        with serve(reply(text("I use them."), *script), reply(text("Done."))) as server:
            drive([str(folder), "--base-url", server.url], tmp_path, journey)
