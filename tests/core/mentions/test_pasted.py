"""What is pasted comes with the message by its name, and is refused in words when it is gone, too large or not ours."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mentions.pasted import KEPT, LARGEST_BYTES, PastedContents
from desktop_agent.core.providers.scripted import Say
from tests.core.mentions.test_files import PNG, attached
from tests.core.mentions.test_resources import refused
from tests.harness import Ground

NOW = datetime(2026, 11, 25, 23, 45, 1, tzinfo=UTC)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def folder(ground: Ground) -> Path:
    return ground.paths.data / "pasted"


def kept(ground: Ground, content: bytes, kind: str, suffix: str) -> str:
    return PastedContents.of(ground.paths).keep(content, kind, suffix, NOW)


async def test_a_picture_and_a_text_come_with_the_message(ground: Ground) -> None:
    picture, text = kept(ground, PNG, "picture", "png"), kept(ground, b"long\n" * 100_000, "text", "txt")
    shown, read = await attached(ground, f"@pasted:{picture} @pasted:{text}.")

    assert (picture, text) == ("picture-234501.png", "text-234501.txt")
    assert (shown.kind, shown.uri, len(shown.images)) == ("picture", picture, 1)
    assert (read.kind, read.size, len(read.text) < 400_001) == ("file", 500_000, True)
    assert read.content is not None
    assert (read.content.size, read.text.count("omitted")) == (500_000, 1)


def test_two_of_one_second_have_names_of_their_own_and_are_private(ground: Ground) -> None:
    names = [kept(ground, PNG, "picture", "png") for _ in range(3)]

    assert names == ["picture-234501.png", "picture-234501-2.png", "picture-234501-3.png"]
    assert {(folder(ground) / name).stat().st_mode & 0o777 for name in names} == {0o600}


def test_what_is_old_goes_when_something_is_pasted_and_nothing_else(ground: Ground) -> None:
    old = kept(ground, PNG, "picture", "png")
    other = folder(ground) / "mine.png"
    other.write_bytes(PNG)
    before = (NOW - KEPT - timedelta(seconds=1)).timestamp()
    for path in (folder(ground) / old, other):
        os.utime(path, (before, before))
    new = kept(ground, b"x", "text", "txt")

    assert {path.name for path in folder(ground).iterdir()} == {"mine.png", new}


def test_too_much_is_refused(ground: Ground) -> None:
    with pytest.raises(UsageError, match="no more than 10 MiB"):
        kept(ground, bytes(LARGEST_BYTES + 1), "text", "txt")


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
    folder(ground).mkdir(parents=True)
    (ground.paths.data / "secret-1.txt").write_text("secret")
    (folder(ground) / "text-7.txt").symlink_to(ground.paths.data / "secret-1.txt")
    (folder(ground) / "picture-2.png").write_bytes(b"no picture")
    async with ground.session([[Say("ok")]]) as s:
        notice = await refused(s, f"See @pasted:{name} now")

    assert why in notice.title
