"""Files that a user names for a prompt otherwise than in its text: wherever they are, and recorded like mentions."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from desktop_agent.core.mentions.prompts import MOST_MENTIONS, AnyMention, PromptMentions
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Attachment, ImageBlock
from desktop_agent.core.providers.scripted import Call, Say
from tests.core.mentions.test_files import PNG
from tests.core.mentions.test_resources import refusal, sent, texts_of
from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
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


async def test_a_file_comes_along_from_wherever_it_is_before_what_the_text_mentions(ground: Ground) -> None:
    spec, picture = ground.workspace.parent / "outside" / "spec.md", ground.workspace.parent / "outside" / "dot.png"
    async with ground.session([[Say("ok")]]) as s:
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


async def test_an_included_file_of_the_workspace_was_read_so_it_can_be_edited(ground: Ground) -> None:
    edit = Call("edit_file", {"path": "app.py", "old_str": "two", "new_str": "2"})
    async with ground.session([[edit], [Say("ok")]], approval="on_request") as s:
        await sent(s, "Edit.", "app.py")
    assert (ground.workspace / "app.py").read_text() == "one\n2\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.txt", "There is no such file."),
        ("", "It is a folder. Include its files by their names."),
        ("tool.bin", "It is not text: ELF file, 6 bytes."),
        ("id_rsa", "often holds secrets, and what is read goes to the model. Copy what the model may read"),
        ("hard.txt", "is another name (a hard link) of"),
        ("soft.txt", "often holds secrets"),
    ],
)
async def test_what_cannot_come_along_is_named_and_nothing_is_sent(ground: Ground, name: str, reason: str) -> None:
    path = str(ground.workspace.parent / "outside" / name)
    notice = await refusal(ground, "Do it.", "app.py", path)
    assert f"`{path}` could not be included, so the message was not sent." in notice.title
    assert reason in f"{notice.title} {notice.hint}"


async def test_no_more_come_along_than_can_be_mentioned(ground: Ground) -> None:
    paths = [ground.write(f"{number}.txt", "x").name for number in range(MOST_MENTIONS)]
    notice = await refusal(ground, "@app.py", *paths)
    assert notice.title == f"The message has {MOST_MENTIONS + 1} attachments, so it was not sent."


async def test_a_prompt_sent_while_the_one_before_arrives_comes_behind_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
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
    async with ground.session([[Say("ok")]] * 2) as s:
        s.submit(ops.SubmitPrompt(text="Do it in @app.py."))
        for text in ("Do it in @app.py.", "And test it."):
            assert (await s.rx.expect((ev.PromptSubmitted, ev.PromptRejected))).text == text
        assert s.rx.all(ev.PromptRejected) == []
        await s.rx.expect(ev.TurnEnded)
