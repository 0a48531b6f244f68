"""Files, folders, sessions, pasted and included contents in whole turns: read, recorded, or refused."""

import base64
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import legible_name, name_on_a_line
from desktop_agent.core.mentions.mention_grammar import written_path
from desktop_agent.core.mentions.prompts import (
    KEPT,
    LARGEST_BYTES,
    MOST_MENTIONS,
    AnyMention,
    PastedContents,
    PromptMentions,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Attachment, ImageBlock
from desktop_agent.core.providers.scripted import Call, Say
from tests.core.mentions.test_resources import attached, refusal, refused, sent, texts_of
from tests.core.session.test_session_settings import GPT, list_models
from tests.harness import Ground
from tests.odd_names import ODD_NAMES

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.write("src/app.py", "one\ntwo\nthree\nfour\n")
    ground.write("my notes.md", "Remember.\n")
    ground.write("dot.png", PNG)
    ground.write("tool.bin", b"\x7fELF\0\0")
    ground.write(".env", "KEY=1\n")
    return ground


async def test_the_model_reads_a_file_in_a_frame_behind_the_prompt(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, "Explain @src/app.py:2-3, please.")
        text, frame = texts_of(s.last_request.messages[-1])

    (attachment,) = prompt.attachments
    assert (attachment.kind, attachment.uri, attachment.lines) == ("file", "src/app.py", "2-3")
    assert (attachment.text, attachment.size) == ("two\nthree", 9)
    assert text == "Explain @src/app.py:2-3, please."
    assert '{"mention": "@src/app.py:2-3", "file": "src/app.py", "lines": "2-3"}' in frame
    assert "\ntwo\nthree\n" in frame


async def test_a_quoted_name_a_folder_and_a_picture_come_too(ground: Ground) -> None:
    ground.write(".gitignore", "build/\n")
    ground.write("build/out.o", b"\0")
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, '@"my notes.md" in @./ and @dot.png')
        images = [each for each in s.last_request.messages[-1].content if isinstance(each, ImageBlock)]

    notes, folder, picture = prompt.attachments
    assert notes.text == "Remember.\n"
    assert (folder.kind, folder.uri) == ("folder", ".")
    assert folder.text.split("\n") == [".env", ".gitignore", "dot.png", "my notes.md", "src/app.py", "tool.bin"]
    assert (picture.kind, picture.text) == ("picture", f"[PNG, 1×1 pixels, {len(PNG)} bytes.]")
    assert [each.image for each in images] == list(picture.images)


async def test_every_odd_name_that_is_offered_can_be_mentioned(ground: Ground) -> None:
    names = [name for name in ODD_NAMES if "\n" not in name]
    for number, name in enumerate(names):
        ground.write(name, f"number {number}\n")
    async with ground.session([[Say("ok")]] * len(names)) as s:
        for number, name in enumerate(names):
            prompt = await sent(s, f"Look at {written_path(legible_name(name))}: it is odd.")
            (attachment,) = prompt.attachments
            assert attachment.text == f"number {number}\n"
            about = texts_of(s.last_request.messages[-1])[1].partition("which the user mentions: ")[2]
            told = json.loads(about.partition("}. Information")[0] + "}")
            assert attachment.uri == name
            assert told["file"] == name_on_a_line(name)


async def test_a_file_of_an_odd_name_can_be_included_from_anywhere(ground: Ground, tmp_path: Path) -> None:
    outside = tmp_path / os.fsdecode(b"caf\xe9.txt")
    outside.write_text("From outside.\n")
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, "Read it.", legible_name(str(outside)))
    assert [attachment.text for attachment in prompt.attachments] == ["From outside.\n"]


async def test_of_a_long_file_the_model_reads_the_beginning_and_how_to_read_on(ground: Ground) -> None:
    ground.write("long.txt", "".join(f"line {number}\n" for number in range(40_000)))

    (attachment,) = await attached(ground, "@long.txt")

    assert len(attachment.text.encode()) < 102_400
    assert attachment.text.endswith("or search the file with grep.]")
    assert attachment.size == (ground.workspace / "long.txt").stat().st_size


@pytest.mark.parametrize(
    ("mention", "text"), [("@alt.txt", "Größe\nStraße und Überführung\n"), ("@alt.txt:2", "Straße")]
)
async def test_a_file_that_is_not_utf_8_comes_as_the_text_that_it_is(ground: Ground, mention: str, text: str) -> None:
    ground.write("alt.txt", "Größe\nStraße und Überführung\n".encode("cp1252"))

    (attachment,) = await attached(ground, mention)

    assert attachment.text.startswith(text)


async def test_what_is_no_file_is_text(ground: Ground) -> None:
    assert await attached(ground, "@property and @types/node and `@src/app.py` and me@src/app.py") == ()


async def test_a_word_that_is_a_file_brings_it_once(ground: Ground) -> None:
    ground.write("Makefile", "all:\n")

    assert [each.uri for each in await attached(ground, "@Makefile, @Makefile and @src")] == ["Makefile", "src"]


@pytest.mark.parametrize(
    ("mention", "why", "hint"),
    [
        ("@src/ap.py", "There is no such file in the folder of this session.", "Did you mean `src/app.py`?"),
        ("@gone.md", "There is no such file", "backquotes"),
        ("@../other.txt", "It is outside the folder of this session.", "Copy it into the folder"),
        ("@tool.bin", "It is not text: ELF file, 6 bytes.", ""),
        ("@src/app.py:9", "It has no line 9: it ends with line 4.", ""),
        ("@src/:9", "It is a folder, which has no lines.", ""),
        ("@.env", "`.env` often holds secrets, and what is read goes to the model.", "Ask the agent to read it"),
        ("@pipe.md", "It is a device, pipe or socket", ""),
        ("@link.txt", "It is outside the folder of this session.", ""),
        ("@session:nowhere", "There is no session of that title or id.", ""),
    ],
)
async def test_a_prompt_whose_file_cannot_come_is_given_back_with_the_reason(
    ground: Ground, mention: str, why: str, hint: str
) -> None:
    os.mkfifo(ground.workspace / "pipe.md")
    (ground.workspace.parent / "other.txt").write_text("outside")
    (ground.workspace / "link.txt").symlink_to(ground.workspace.parent / "other.txt")
    notice = await refusal(ground, f"Look at {mention} now")

    assert notice.title.startswith(f"`{mention}` could not be fetched, so the message was not sent. {why}")
    assert hint in notice.hint


async def test_another_name_of_a_secret_is_refused(ground: Ground) -> None:
    (ground.workspace / "innocent.txt").hardlink_to(ground.workspace / ".env")
    notice = await refusal(ground, "@innocent.txt")

    assert "is another name (a hard link) of `.env`" in notice.title


async def test_more_mentions_than_a_message_may_have_are_refused(ground: Ground) -> None:
    names = [f"file{number}" for number in range(MOST_MENTIONS + 1)]
    for name in names:
        ground.write(name, "x")
    notice = await refusal(ground, " ".join(f"@{name}" for name in names))

    assert f"has {MOST_MENTIONS + 1} attachments" in notice.title


async def test_the_policy_that_asks_before_every_call_lets_the_user_mention_a_file(ground: Ground) -> None:
    async with ground.session([[Say("ok")]], approval="always") as s:
        assert [each.uri for each in (await sent(s, "@src/app.py")).attachments] == ["src/app.py"]


async def test_a_resumed_session_has_what_was_sent_and_not_what_is_there_now(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, "@src/app.py")
        before = s.last_request.messages
    ground.write("src/app.py", "other\n")

    async with ground.session([[Say("again")]], resume=s.id) as s:
        assert s.transcript.entries[0] == prompt
        await s.prompt("go on")
        assert s.last_request.messages[: len(before)] == before


async def test_an_edit_of_a_mentioned_file_that_changed_since_is_refused(ground: Ground) -> None:
    edit = Call("edit_file", {"path": "src/app.py", "old_str": "other", "new_str": "mine"})
    async with ground.session([[Say("ok")], [edit], [Say("done")]], approval="never") as s:
        await sent(s, "@src/app.py")
        ground.write("src/app.py", "other\n")
        await s.prompt("edit it")

        (result,) = s.results()
    assert "changed on disk since you last read it" in result.content


@pytest.mark.parametrize("mention", ["@dot.png", "@pasted:picture-1.png"])
async def test_a_picture_is_refused_for_a_model_that_takes_none(ground: Ground, mention: str) -> None:
    list_models(ground, GPT, takes_images=False)
    (ground.paths.data / "pasted").mkdir(parents=True)
    (ground.paths.data / "pasted" / "picture-1.png").write_bytes(PNG)
    async with ground.session([[Say("ok")]]) as s:
        s.submit(ops.SetMode(model=GPT))
        notice = await refused(s, mention)

    assert "It is a picture, and this session's model does not accept pictures." in notice.title
    assert "Choose another model." in notice.hint


async def test_another_session_comes_as_its_transcript(ground: Ground) -> None:
    async with ground.session([[Say("The answer is 42.")]]) as s:
        await s.prompt("What is the answer?")
        await s.carry_out(ops.RenameSession(title="Deep thought"), ev.SessionRenamed)
    earlier = s.id
    async with ground.session([[Say("ok")], [Say("ok")]]) as s:
        (by_title,) = (await sent(s, '@session:"Deep thought" says')).attachments
        (by_id,) = (await sent(s, f"@session:{earlier}")).attachments

    assert (by_title.kind, by_title.uri, by_title.name) == ("session", earlier, "Deep thought")
    assert "What is the answer?" in by_title.text
    assert "The answer is 42." in by_title.text
    assert by_id.uri == earlier


NOW = datetime(2026, 11, 25, 23, 45, 1, tzinfo=UTC)


def pasted_in(ground: Ground) -> Path:
    return ground.paths.data / "pasted"


def paste(ground: Ground, content: bytes, kind: str, suffix: str) -> str:
    return PastedContents.of(ground.paths).keep(content, kind, suffix, NOW)


async def test_a_picture_and_a_text_come_with_the_message(ground: Ground) -> None:
    picture, text = paste(ground, PNG, "picture", "png"), paste(ground, b"long\n" * 100_000, "text", "txt")
    shown, read = await attached(ground, f"@pasted:{picture} @pasted:{text}.")

    assert (picture, text) == ("picture-234501.png", "text-234501.txt")
    assert (shown.kind, shown.uri, len(shown.images)) == ("picture", picture, 1)
    assert (read.kind, read.size, len(read.text) < 400_001) == ("file", 500_000, True)
    assert read.content is not None
    assert (read.content.size, read.text.count("omitted")) == (500_000, 1)


def test_two_of_one_second_have_names_of_their_own_and_are_private(ground: Ground) -> None:
    names = [paste(ground, PNG, "picture", "png") for _ in range(3)]

    assert names == ["picture-234501.png", "picture-234501-2.png", "picture-234501-3.png"]
    assert {(pasted_in(ground) / name).stat().st_mode & 0o777 for name in names} == {0o600}


def test_what_is_old_goes_when_something_is_pasted_and_nothing_else(ground: Ground) -> None:
    old = paste(ground, PNG, "picture", "png")
    other = pasted_in(ground) / "mine.png"
    other.write_bytes(PNG)
    before = (NOW - KEPT - timedelta(seconds=1)).timestamp()
    for path in (pasted_in(ground) / old, other):
        os.utime(path, (before, before))
    new = paste(ground, b"x", "text", "txt")

    assert {path.name for path in pasted_in(ground).iterdir()} == {"mine.png", new}


def test_too_much_is_refused(ground: Ground) -> None:
    with pytest.raises(UsageError, match="no more than 10 MiB"):
        paste(ground, bytes(LARGEST_BYTES + 1), "text", "txt")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("picture-1.png", "It is not kept any more."),
        ("../secret-1.txt", "Nothing of that name was pasted."),
        ("text-7.txt", "It is not kept any more."),
        ("picture-2.png", "It cannot be shown to a model"),
    ],
)
async def test_what_is_no_content_of_ours_gives_the_message_back(ground: Ground, name: str, why: str) -> None:
    pasted_in(ground).mkdir(parents=True)
    (ground.paths.data / "secret-1.txt").write_text("secret")
    (pasted_in(ground) / "text-7.txt").symlink_to(ground.paths.data / "secret-1.txt")
    (pasted_in(ground) / "picture-2.png").write_bytes(b"no picture")
    notice = await refusal(ground, f"See @pasted:{name} now")

    assert why in notice.title


@pytest.fixture
def including(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.write("app.py", "one\ntwo\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "spec.md").write_text("Count to three.\n", encoding="utf-8")
    (outside / "dot.png").write_bytes(PNG)
    (outside / "tool.bin").write_bytes(b"\x7fELF\0\0")
    (outside / "id_rsa").write_text("secret\n", encoding="utf-8")
    (outside / "hard.txt").hardlink_to(ground.write(".env", "KEY=1\n"))
    (outside / "soft.txt").symlink_to(outside / "id_rsa")
    return ground


async def test_a_file_comes_along_from_wherever_it_is_before_what_the_text_mentions(including: Ground) -> None:
    spec, picture = (
        including.workspace.parent / "outside" / "spec.md",
        including.workspace.parent / "outside" / "dot.png",
    )
    async with including.session([[Say("ok")]]) as s:
        prompt = await sent(s, "Do it in @app.py.", str(spec), "app.py", str(spec), str(picture))
        content = s.last_request.messages[-1].content

    assert [(each.kind, each.uri, each.text) for each in prompt.attachments] == [
        ("file", str(spec), "Count to three.\n"),
        ("file", "app.py", "one\ntwo\n"),
        ("picture", str(picture), f"[PNG, 1×1 pixels, {len(PNG)} bytes.]"),
        ("file", "app.py", "one\ntwo\n"),
    ]
    assert [each.digest is None for each in prompt.attachments] == [True, False, True, False]
    assert any("Count to three." in text for text in texts_of(s.last_request.messages[-1]))
    assert any(isinstance(block, ImageBlock) for block in content)


async def test_an_included_file_of_the_workspace_was_read_so_it_can_be_edited(including: Ground) -> None:
    edit = Call("edit_file", {"path": "app.py", "old_str": "two", "new_str": "2"})
    async with including.session([[edit], [Say("ok")]], approval="on_request") as s:
        await sent(s, "Edit.", "app.py")
    assert (including.workspace / "app.py").read_text() == "one\n2\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.txt", "There is no such file."),
        ("", "It is a folder. Include its files by name."),
        ("tool.bin", "It is not text: ELF file, 6 bytes."),
        ("id_rsa", "often holds secrets, and what is read goes to the model. Copy the part that the model may read"),
        ("hard.txt", "is another name (a hard link) of"),
        ("soft.txt", "often holds secrets"),
    ],
)
async def test_what_cannot_come_along_is_named_and_nothing_is_sent(including: Ground, name: str, reason: str) -> None:
    path = str(including.workspace.parent / "outside" / name)
    notice = await refusal(including, "Do it.", "app.py", path)
    assert f"`{path}` could not be included, so the message was not sent." in notice.title
    assert reason in f"{notice.title} {notice.hint}"


async def test_no_more_come_along_than_can_be_mentioned(including: Ground) -> None:
    paths = [including.write(f"{number}.txt", "x").name for number in range(MOST_MENTIONS)]
    notice = await refusal(including, "@app.py", *paths)
    assert notice.title == f"The message has {MOST_MENTIONS + 1} attachments, so it was not sent."


async def test_a_prompt_sent_while_the_one_before_arrives_comes_behind_it(
    including: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = PromptMentions.fetched

    async def fetched(
        self: PromptMentions, mentions: Sequence[AnyMention], include: Sequence[str] = ()
    ) -> tuple[Attachment, ...]:
        found = await fetch(self, mentions, include)
        if mentions:
            s.submit(ops.SubmitPrompt(text="And test it."))
        return found

    monkeypatch.setattr(PromptMentions, "fetched", fetched)
    async with including.session([[Say("ok")]] * 2) as s:
        s.submit(ops.SubmitPrompt(text="Do it in @app.py."))
        for text in ("Do it in @app.py.", "And test it."):
            assert (await s.rx.expect((ev.PromptSubmitted, ev.PromptRejected))).text == text
        assert s.rx.all(ev.PromptRejected) == []
        await s.rx.expect(ev.TurnEnded)
