"""Any file is imported as far as it can be read, or refused with a message."""

import json
import random
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.importing import AlreadyImportedError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.transcript import replay
from tests.core.importing.conftest import SAMPLES, Importing
from tests.core.importing.test_samples import check_imported


def claude(text: object, **more: object) -> str:
    line = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": {"content": text}}
    return json.dumps(line | more) + "\n"


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"hello\n", b"{}\n[]\n", b"\x00" * 5000, b"\xff\xfe", b"{" * 100_000]
)
def test_a_file_that_is_no_conversation_is_refused(ground: Importing, content: bytes) -> None:
    with pytest.raises(UsageError, match="is not a conversation"):
        ground.run(ground.file(content), workspace=ground.workspace)
    assert not (ground.data / "sessions").exists()


def test_a_conversation_without_a_word_leaves_nothing_behind(ground: Importing) -> None:
    with pytest.raises(UsageError, match="There is no conversation"):
        ground.run(ground.file(claude("   ")), workspace=ground.workspace)
    assert list((ground.data / "sessions").iterdir()) == []


def test_lines_that_cannot_be_read_are_named_and_the_others_come(ground: Importing) -> None:
    deep = "[" * 2000 + "]" * 2000
    file = ground.file(claude("hello") + "{broken\n" + '{"a": NaN}\n' + deep + "\n" + '"text"\n')
    imported = ground.run(file, workspace=ground.workspace)
    assert [problem.partition(":")[0] for problem in imported.problems] == ["line 2", "line 3", "line 4", "line 5"]
    assert imported.turns == 1


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_a_file_cut_off_anywhere_never_crashes_and_makes_a_valid_session(ground: Importing, name: str) -> None:
    whole = ground.sample(name).read_bytes()
    for cut in random.Random(7).sample(range(len(whole)), 40):
        try:
            imported = ground.run(ground.file(whole[:cut]), workspace=ground.workspace, is_again=True)
        except UsageError:
            continue
        events = ground.events(imported)
        assert not replay(events).turns.is_running
        check_imported(events)


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_values_of_any_other_type_never_crash(ground: Importing, name: str) -> None:
    chance = random.Random(3)
    odd: list[object] = [None, 7, -1, 1e300, "", "x" * 500, [], {}, [[]], [{}], True, {"type": 1}, "\ud800\x00\u202e"]

    def spoilt(value: object) -> object:
        if chance.random() < 0.08:
            return chance.choice(odd)
        if isinstance(value, dict):
            return {key: spoilt(item) for key, item in cast("JsonObject", value).items()}
        return [spoilt(item) for item in cast("list[object]", value)] if isinstance(value, list) else value

    lines = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    for _ in range(40):
        content = "".join(json.dumps(spoilt(line)) + "\n" for line in lines)
        try:
            imported = ground.run(ground.file(content), workspace=ground.workspace, is_again=True)
        except AgentError:
            continue
        check_imported(ground.events(imported))


def test_a_chain_that_is_a_circle_or_broken_ends(ground: Importing) -> None:
    file = ground.file(
        claude("one", uuid="a", parentUuid="b")
        + claude("two", uuid="b", parentUuid="a")
        + claude("three", uuid="c", parentUuid="nobody")
    )
    assert ground.run(file, workspace=ground.workspace).turns == 3


def test_a_conversation_is_imported_once_unless_wanted_again(ground: Importing) -> None:
    first = ground.run(ground.sample("codex.jsonl"))
    with pytest.raises(AlreadyImportedError, match=first.session_id):
        ground.run(ground.sample("codex.jsonl"))
    grown = ground.sample("codex.jsonl")
    grown.write_text(grown.read_text() + "\n")
    with pytest.raises(AlreadyImportedError):
        ground.run(grown)
    assert ground.run(grown, is_again=True).session_id != first.session_id


WIDE = [
    *("/", "/etc", "/usr/lib", "/home", "/tmp", "/var/lib", "/proc/self", "~", "~/..", "~/.ssh", "~/.config/inner"),
    *("~/bin", "~/snap/app", "~/Library/LaunchAgents", "~/proj/.git/hooks", "~/hooks", "/root", "link"),
]


@pytest.mark.parametrize("folder", WIDE)
def test_a_folder_that_holds_more_than_a_project_is_not_taken_from_a_file(ground: Importing, folder: str) -> None:
    home = Path.home()
    for name in (".ssh", ".config/inner", "bin", "snap/app", "Library/LaunchAgents", "proj/.git/hooks"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "hooks").symlink_to("proj/.git/hooks")
    link = ground.data.parent / "link"
    link.symlink_to("/")
    named = str(link) if folder == "link" else folder.replace("~", str(home))
    content = claude("hello", cwd=named)
    with pytest.raises(UsageError, match="names a folder that"):
        ground.run(ground.file(content))
    imported = ground.run(ground.file(content), fallback=ground.workspace)
    assert imported.workspace == str(ground.workspace)
    notice = next(event for event in ground.events(imported) if isinstance(event, ev.Notice))
    assert str(ground.workspace) in notice.hint


def test_a_project_below_the_home_is_still_taken_from_a_file(ground: Importing) -> None:
    project = Path.home() / "code" / "project"
    project.mkdir(parents=True)
    imported = ground.run(ground.file(claude("hello", cwd=str(project))), fallback=ground.workspace)
    assert imported.workspace == str(project)


@pytest.mark.parametrize(
    "folder", ["", "relative", "/nowhere/at/all", "//server/share", "\\\\server\\share", "a\x00b", "/" + "x" * 9000]
)
def test_a_folder_that_is_not_here_must_be_named(ground: Importing, folder: str) -> None:
    with pytest.raises(UsageError, match="folder of this conversation is not here"):
        ground.run(ground.file(claude("hello", cwd=folder)))


def test_a_long_result_is_cut_for_the_model_and_kept_whole_beside_it(ground: Importing) -> None:
    call: JsonObject = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": "y" * 200_000}
    file = ground.file(
        claude("go", uuid="1")
        + claude([call], uuid="2", parentUuid="1", type="assistant")
        + claude([result], uuid="3", parentUuid="2")
    )
    events = ground.events(ground.run(file, workspace=ground.workspace))
    finished = next(event for event in events if isinstance(event, ev.ToolCallFinished))
    assert len(finished.result.content) < 41_000
    assert finished.result.output is not None
    assert ground.blobs.get(finished.result.output.blob) == b"y" * 200_000


def test_a_picture_that_is_none_is_left_out(ground: Importing) -> None:
    parts: list[JsonObject] = [
        {"type": "image", "source": {"data": data}} for data in ("!!!", "aGVsbG8=", "A" * 20_000_000)
    ]
    call: JsonObject = {"type": "tool_use", "id": "t", "name": "x", "input": {}}
    file = ground.file(
        claude("go", uuid="1")
        + claude([call], uuid="2", parentUuid="1", type="assistant")
        + claude([{"type": "tool_result", "tool_use_id": "t", "content": parts}], uuid="3", parentUuid="2")
    )
    assert "pictures that cannot be shown (3)" in ground.run(file, workspace=ground.workspace).left_out


def test_an_import_that_fails_leaves_nothing_behind(ground: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    from desktop_agent.core.store.journal.journal import Journal

    def full(_self: object, _event: object, *, is_durable: bool) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(AgentError):
        ground.run(ground.sample("codex.jsonl"))
    assert list((ground.data / "sessions").iterdir()) == []
    assert not (ground.data / "imports.jsonl").exists()


def test_a_link_is_not_followed(ground: Importing, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(ground.sample("codex.jsonl"))
    with pytest.raises(AgentError):
        ground.run(link)


def test_an_import_that_cannot_be_remembered_is_one_all_the_same(ground: Importing) -> None:
    (ground.data / "imports.jsonl").mkdir(parents=True)
    imported = ground.run(ground.file(claude("hello")), workspace=ground.workspace, is_again=True)
    assert [path.name for path in (ground.data / "sessions").iterdir()] == [imported.session_id]
