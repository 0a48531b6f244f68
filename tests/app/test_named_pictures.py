"""Pictures named in an answer are read only from the open folder or the public internet."""

from pathlib import Path

import pytest

from desktop_agent.app import named_pictures
from desktop_agent.app.named_pictures import named_picture
from desktop_agent.core.base.errors import AgentError
from tests.servers.web_server import LOOPBACK_BOOK, Canned, WebServer, redirect


async def test_a_file_of_the_folder_is_read_however_its_path_is_written(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "a b.png").write_bytes(b"picture")
    for address in ("img/a%20b.png", "./img/a b.png", f"{tmp_path}/img/a b.png"):
        assert await named_picture(str(tmp_path), address) == b"picture"


@pytest.mark.parametrize("folder", ["open", ""])
@pytest.mark.parametrize("address", ["../outside.png", "%2e%2e/outside.png", "link.png", "{root}/outside.png"])
async def test_nothing_outside_the_folder_is_read(tmp_path: Path, address: str, folder: str) -> None:
    root = tmp_path / "open"
    root.mkdir()
    (tmp_path / "outside.png").write_bytes(b"picture")
    (root / "link.png").symlink_to(tmp_path / "outside.png")
    with pytest.raises(AgentError, match="is outside the open folder"):
        await named_picture(folder and str(root), address.format(root=tmp_path))


@pytest.mark.parametrize(
    ("address", "words"),
    [("gone.png", "is not there"), ("folder", "not a file"), ("large.png", "larger than 20 MB"), ("a\0b", "cannot be")],
)
async def test_why_a_file_cannot_be_read_is_said(tmp_path: Path, address: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    with (tmp_path / "large.png").open("wb") as large:
        large.truncate(20_000_001)
    with pytest.raises(AgentError, match=words):
        await named_picture(str(tmp_path), address)


async def test_a_web_address_is_loaded_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"/a.png": Canned(b"picture", "image/png"), "/away": redirect("/a.png"), "/slow": Canned(stalls=True)}
    async with WebServer(pages) as web:
        with pytest.raises(AgentError, match="not on the public internet"):
            await named_picture("", f"{web.url}/a.png")
        assert web.requests == []
        assert await named_picture("", f"{web.url}/away", book=LOOPBACK_BOOK) == b"picture"
        with pytest.raises(AgentError, match="the answer was 404 Not Found"):
            await named_picture("", f"{web.url}/b.png", book=LOOPBACK_BOOK)
        monkeypatch.setattr(named_pictures, "MOST_BYTES", 6)
        with pytest.raises(AgentError, match="larger than"):
            await named_picture("", f"{web.url}/a.png", book=LOOPBACK_BOOK)
        monkeypatch.setattr(named_pictures, "TIMEOUT_S", 0.1)
        with pytest.raises(AgentError, match="took too long to load"):
            await named_picture("", f"{web.url}/slow", book=LOOPBACK_BOOK)
