"""`run --include F…`: files for the first prompt, or a usage error before any request."""

from pathlib import Path
from typing import Any, cast

import pytest

from tests.core.mentions.test_files import PNG
from tests.e2e.run.agent import Agent
from tests.e2e.run.test_stream_input import program
from tests.servers.script import reply, text
from tests.servers.threaded import serve


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "spec.md").write_text("Count to three.\n", encoding="utf-8")
    (folder / "dot.png").write_bytes(PNG)
    (folder / "tool.bin").write_bytes(b"\x7fELF\0\0")
    (folder / ".env").write_text("KEY=1\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def users_blocks(message: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", cast("dict[str, Any]", message)["content"])


def test_files_come_with_the_first_prompt_from_the_current_folder(agent: Agent, workspace: Path, files: Path) -> None:
    with serve(reply(text("Read.")), reply(text("Again."))) as server:
        options = ("--include", "spec.md", "dot.png", "--include", str(workspace / "a.py"), "--prompt", "b")
        ran = agent.run(workspace, server.url, *options)
        first, second = (cast("list[Any]", each.fields["messages"]) for each in server.messages)
        assert server.violations == []
    assert (ran.code, len(first), len(second)) == (0, 1, 3)
    blocks = users_blocks(first[0])
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    assert texts[0] == "make it two"
    assert ["Count to three." in each for each in texts[1:]] == [True, False, False]
    assert "def f():" in texts[-1]
    assert [block["type"] for block in blocks].count("image") == 1
    assert len(users_blocks(second[2])) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--include", "spec.md", "none.md"), "The file to include is not there: none.md."),
        (("--include", "."), "--include takes files, and . is a folder."),
        (
            ("--include", "tool.bin"),
            "tool.bin` could not be included, so the message was not sent. It is not text: ELF",
        ),
        (("--include", ".env"), "often holds secrets"),
        (("--include",), "expected at least one argument"),
    ],
)
def test_what_cannot_be_included_is_bad_usage_and_leaves_no_session(
    agent: Agent, workspace: Path, files: Path, options: tuple[str, ...], words: str
) -> None:
    del files
    with serve() as server:
        ran = agent("run", "--prompt", "x", "--workspace", workspace, "--base-url", server.url, *options)
        assert server.messages == []
    assert (ran.code, words in ran.err) == (2, True), ran.err
    assert agent("sessions", "list", "--json").json == {"sessions": []}


def test_a_slash_command_takes_no_files(agent: Agent, workspace: Path, files: Path) -> None:
    del files
    ran = agent("run", "--prompt", "/help", "--workspace", workspace, "--include", "spec.md")
    assert (ran.code, "not a slash command" in ran.err) == (2, True)


def test_a_program_that_writes_ops_includes_files_with_each_prompt(workspace: Path, files: Path) -> None:
    with serve(reply(text("Read."))) as server, program(workspace, server.url) as other:
        other.send(type="submit_prompt", text="go", include=[str(files / "spec.md"), "a.py"])
        submitted = other.hear("prompt_submitted")
        assert other.end()[0] == 0
    assert [each["name"] for each in submitted["attachments"]] == [str(files / "spec.md"), "a.py"]
