"""The files of an editor: what it has not saved is what tools read, and it saves what they edit."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.files.open_texts import OpenTexts
from tests.acp.editor import CAPABILITIES, Editor, RefusedError, demo_in, editing, first_option, program_with_demo
from tests.harness import PATIENCE_S, Ground

ABLE = CAPABILITIES | {"fs": {"readTextFile": True, "writeTextFile": True}}
POEM = "".join(f"line {number}\n" for number in range(1, 41))
TYPED = POEM.replace("line 20\n", "line 20, as I type\n")
EDIT = Call("edit_file", {"path": "poem.txt", "old_str": "line 2\n", "new_str": "LINE 2\n"})
LATER = Call("edit_file", {"path": "poem.txt", "old_str": "line 39\n", "new_str": "LINE 39\n"})
READ = Call("read_file", {"path": "poem.txt"})
GREP = Call("grep", {"path": "poem.txt", "pattern": "type"})


def ground_with_poem(folder: Path) -> tuple[Ground, Path]:
    ground = Ground(folder)
    ground.write("poem.txt", POEM)
    return ground, ground.workspace / "poem.txt"


def results(editor: Editor) -> list[str]:
    done = [one for one in editor.seen("tool_call_update") if one.get("status") in ("completed", "failed")]
    return ["\n".join(part["content"]["text"] for part in one["content"] if part["type"] == "content") for one in done]


def authors(ground: Ground, session: str) -> list[str]:
    records = (json.loads(line) for line in ground.journal(session).read_text().splitlines())
    recorded = [one for one in records if one["type"] == "changes_recorded"]
    return [change["author"] for one in recorded for change in one["changes"]]


async def test_unsaved_text_is_read_searched_edited_and_survives_the_undo_of_the_edit(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    script = [[READ], [GREP], [EDIT], [LATER], [Say("Done.")]]
    async with editing(ground, script) as (editor, _):
        session = await editor.start(ground.workspace, ABLE)
        editor.buffers[poem] = TYPED
        assert await editor.prompt(session, "go") == "end_turn"
        read, found, *_ = results(editor)
        assert "line 20, as I type" in read
        assert json.loads(found) == ["poem.txt:20:line 20, as I type"]
        questions = [params["toolCall"] for method, params in editor.asked if method == "session/request_permission"]
        (diff,) = (one for one in questions[0]["content"] if one["type"] == "diff")
        assert diff["oldText"] == TYPED, "the question is about the text that the user sees"
        assert "unsaved changes in the editor" in questions[0]["content"][0]["content"]["text"]
        assert "unsaved" not in questions[1]["content"][0]["content"]["text"]
        assert editor.saves == [poem, poem]
        both = TYPED.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")
        assert poem.read_text() == both
        assert authors(ground, session) == ["person", "agent", "agent"]
        (row,) = (await editor.ask("_desktop-agent/changes", sessionId=session))["changes"]
        first = row["hunks"][0]["key"]
        await editor.ask("_desktop-agent/undo", sessionId=session, selection={"path": "poem.txt", "hunks": [first]})
        assert poem.read_text() == TYPED.replace("line 39\n", "LINE 39\n")
        await editor.ask("_desktop-agent/redo", sessionId=session)
        assert poem.read_text() == both
        await editor.ask("_desktop-agent/undo", sessionId=session)
        assert poem.read_text() == TYPED, "what the user typed is not the agent's to undo"


@pytest.mark.parametrize("can_save", [True, False], ids=["saves", "reads only"])
@pytest.mark.parametrize("is_slash", [True, False], ids=["slash", "extension"])
async def test_what_is_typed_after_an_edit_stays_when_the_edit_is_undone_and_redone(
    tmp_path: Path, is_slash: bool, can_save: bool
) -> None:
    ground, poem = ground_with_poem(tmp_path)
    files = {"readTextFile": True, "writeTextFile": can_save}
    async with editing(ground, [[EDIT], [Say("Done.")]]) as (editor, _):
        session = await editor.start(ground.workspace, CAPABILITIES | {"fs": files})
        await editor.prompt(session, "go")
        for way, line, other in (("undo", "LINE 2\n", "line 2\n"), ("redo", "line 2\n", "LINE 2\n")):
            shown = poem.read_text().replace("line 30", f"typed before {way}\nline 30")
            editor.buffers[poem] = shown
            if is_slash:
                await editor.prompt(session, f"/{way}")
            else:
                await editor.ask(f"_desktop-agent/{way}", sessionId=session)
            assert poem.read_text() == shown.replace(line, other)
            assert editor.buffers == ({} if can_save else {poem: shown}), "an editor that saves shows the result"
            editor.buffers.clear()
        assert authors(ground, session) == ["agent", "person", "person"]


async def test_text_that_clashes_with_an_undo_is_shown_and_kept(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[EDIT], [Say("Done.")]]) as (editor, _):
        session = await editor.start(ground.workspace, ABLE)
        await editor.prompt(session, "go")
        editor.buffers[poem] = mine = POEM.replace("line 2\n", "my line 2\n")
        (outcome,) = (await editor.ask("_desktop-agent/undo", sessionId=session))["outcomes"]
        assert outcome["state"] == "conflict"
        assert poem.read_text() == mine


async def test_nothing_is_saved_by_reading_or_by_a_denied_edit(tmp_path: Path) -> None:
    async def deny(_params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": "deny"}}

    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[READ], [EDIT], [Say("As you wish.")]]) as (editor, _):
        editor.answers["session/request_permission"] = deny
        session = await editor.start(ground.workspace, ABLE)
        editor.buffers[poem] = TYPED
        assert await editor.prompt(session, "go") == "end_turn"
        assert (poem.read_text(), editor.buffers, editor.saves) == (POEM, {poem: TYPED}, [])
        assert authors(ground, session) == []


async def test_an_edit_is_refused_if_the_editor_shows_something_else_than_was_read_or_approved(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    script = [[READ], [Say("Read.")], [EDIT], [Say("Stale.")], [READ], [EDIT], [Say("Late.")]]
    async with editing(ground, script) as (editor, _):

        async def type_then_allow(params: dict[str, Any]) -> dict[str, Any]:
            editor.buffers[poem] = TYPED + "and on\n"
            return await first_option(params)

        editor.answers["session/request_permission"] = type_then_allow
        session = await editor.start(ground.workspace, ABLE)
        await editor.prompt(session, "read it")
        editor.buffers[poem] = TYPED
        await editor.prompt(session, "edit it")
        assert "since you last read it" in results(editor)[-1]
        await editor.prompt(session, "read and edit it")
        assert "edited in the editor meanwhile" in results(editor)[-1]
        assert (poem.read_text(), editor.buffers, editor.saves) == (POEM, {poem: TYPED + "and on\n"}, [])


async def test_an_editor_that_cannot_save_has_its_text_saved_to_disk(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[EDIT], [Say("Done.")]]) as (editor, _):
        session = await editor.start(ground.workspace, CAPABILITIES | {"fs": {"readTextFile": True}})
        editor.buffers[poem] = TYPED
        await editor.prompt(session, "go")
        assert poem.read_text() == TYPED.replace("line 2\n", "LINE 2\n")
        assert not editor.saves
        assert authors(ground, session) == ["person", "agent"]


async def test_an_editor_without_files_is_not_asked_for_them(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[READ, EDIT], [Say("Done.")]]) as (editor, _):
        session = await editor.start(ground.workspace, {})
        await editor.prompt(session, "go")
        assert {method for method, _ in editor.asked} == {"session/request_permission"}
        assert poem.read_text() == POEM.replace("line 2\n", "LINE 2\n")


async def test_an_editor_that_formats_is_named_and_its_version_counts_as_the_users(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[EDIT], [LATER], [READ], [LATER], [Say("Done.")]]) as (editor, _):

        async def save_formatted(params: dict[str, Any]) -> dict[str, Any]:
            return await editor.save_file(params | {"content": params["content"].replace("line 9\n", "line  9\n")})

        editor.answers["fs/write_text_file"] = save_formatted
        session = await editor.start(ground.workspace, ABLE)
        await editor.prompt(session, "go")
        said = results(editor)
        assert "saved something else than this edit" in said[0]
        assert "since you last read it" in said[1]
        edited = POEM.replace("line 9\n", "line  9\n").replace("line 2\n", "LINE 2\n")
        assert poem.read_text() == edited.replace("line 39\n", "LINE 39\n")
        assert authors(ground, session) == ["agent", "person", "agent"]
        await editor.ask("_desktop-agent/undo", sessionId=session)
        assert poem.read_text() == POEM.replace("line 9\n", "line  9\n")


async def _refuse(_params: dict[str, Any]) -> dict[str, Any]:
    raise RefusedError({"message": "The file is locked."})


async def _lie(_params: dict[str, Any]) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(("answer", "words"), [(_refuse, "The file is locked."), (_lie, "")])
async def test_what_an_editor_does_not_save_is_written_to_disk(tmp_path: Path, answer: Any, words: str) -> None:
    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[EDIT], [Say("Done.")]]) as (editor, _):
        editor.answers["fs/write_text_file"] = answer
        session = await editor.start(ground.workspace, ABLE)
        await editor.prompt(session, "go")
        assert words in results(editor)[0]
        assert poem.read_text() == POEM.replace("line 2\n", "LINE 2\n")
        assert authors(ground, session) == ["agent"]


async def test_an_editor_that_hangs_is_named_and_not_asked_again(tmp_path: Path) -> None:
    async def hang(_params: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    ground, poem = ground_with_poem(tmp_path)
    async with editing(ground, [[READ], [EDIT], [LATER], [Say("Done.")]], patience_s=0.05) as (editor, _):
        editor.answers |= {"fs/read_text_file": hang, "fs/write_text_file": hang}
        session = await editor.start(ground.workspace, ABLE)
        await editor.prompt(session, "go")
        assert [one["title"] for one in editor.seen("notice")] == [
            "The editor did not answer when asked to read poem.txt.",
            "The editor did not answer when asked to save poem.txt.",
        ]
        assert len(editor.cancelled) == 2
        assert "written to disk" in results(editor)[1]
        assert poem.read_text() == POEM.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")


async def test_large_files_are_read_beside_each_other(tmp_path: Path) -> None:
    ground, names = Ground(tmp_path), [f"large-{number}.txt" for number in range(20)]
    for name in names:
        ground.write(name, "line\n" * 60_000)
    async with editing(ground, [[Call("read_file", {"path": name}) for name in names], [Say("Done.")]]) as (editor, _):
        session = await editor.start(ground.workspace, ABLE)
        editor.buffers = {ground.workspace / name: "unsaved\n" + "line\n" * 60_000 for name in names}
        await editor.prompt(session, "go")
        assert not editor.seen("notice"), "more of them than threads wait, and their answers are long"
        assert all("unsaved" in said for said in results(editor))
        assert len(results(editor)) == len(names)


async def test_a_mode_that_the_editor_drops_is_given_back(tmp_path: Path) -> None:
    ground, poem = ground_with_poem(tmp_path)
    poem.chmod(0o750)
    async with editing(ground, [[EDIT], [Say("Done.")]]) as (editor, _):

        async def save_by_rename(params: dict[str, Any]) -> dict[str, Any]:
            poem.unlink()
            return await editor.save_file(params)

        editor.answers["fs/write_text_file"] = save_by_rename
        await editor.prompt(await editor.start(ground.workspace, ABLE), "go")
        assert poem.stat().st_mode & 0o777 == 0o750
        assert poem.read_text() == POEM.replace("line 2\n", "LINE 2\n")


async def test_an_edit_that_the_editor_saved_just_before_a_crash_is_recorded_and_undone(tmp_path: Path) -> None:
    workspace, environ = demo_in(tmp_path)
    pages = workspace / "pagination" / "pages.py"
    before, session = pages.read_text(), ""
    async with program_with_demo(environ) as (program, editor):

        async def save_and_kill(params: dict[str, Any]) -> dict[str, Any]:
            await editor.save_file(params)
            program.kill()
            return {}

        editor.answers["fs/write_text_file"] = save_and_kill
        session = await editor.start(workspace, ABLE)
        editor.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        async with asyncio.timeout(PATIENCE_S):
            await program.wait()
    saved = pages.read_text()
    assert saved != before
    async with program_with_demo(environ) as (_, editor):
        await editor.ask("initialize", protocolVersion=1, clientCapabilities=ABLE)
        await editor.ask("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        (row,) = (await editor.ask("_desktop-agent/changes", sessionId=session))["changes"]
        assert (row["path"], row["kind"]) == ("pagination/pages.py", "modified")
        await editor.ask("_desktop-agent/undo", sessionId=session)
        assert pages.read_text() == before


class _Buffer:
    can_write = False

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, path: Path) -> str | None:
        return self.text

    def write(self, path: Path, text: str) -> str:
        raise AssertionError(f"it cannot save {path}: {text}")


_LINES = st.lists(st.sampled_from(["a", "bé", "", "  c"]), min_size=1, max_size=6)


@given(old=_LINES, new=_LINES, ending=st.sampled_from(["\n", "\r\n"]), mark=st.sampled_from(["", "\ufeff"]))
def test_a_text_that_editors_show_with_their_own_line_ends_keeps_those_of_the_file(
    old: list[str], new: list[str], ending: str, mark: str
) -> None:
    on_disk = (mark + "".join(line + ending for line in old)).encode()

    def shown(lines: list[str]) -> bytes:
        return OpenTexts(_Buffer("".join(f"{line}\n" for line in lines))).shown(Path("x"), on_disk)

    assert shown(old) == on_disk, "nothing is unsaved"
    assert shown(new) == (mark + "".join(line + ending for line in new)).encode()


@pytest.mark.parametrize(
    "on_disk",
    [
        "Grüße aus Köln\n".encode("latin-1"),
        "Grüße\n".encode("utf-16"),
        b"\x89PNG\r\n\0",
        b"old\rlines\r",
        "Grüße ".encode() * 99 + b"\xff\n",
    ],
)
def test_editors_are_not_asked_for_what_some_of_them_read_wrongly(on_disk: bytes) -> None:
    lossy = on_disk.decode("utf-8", "ignore").replace("\r", "\n")
    assert OpenTexts(_Buffer(lossy)).shown(Path("x"), on_disk) == on_disk
