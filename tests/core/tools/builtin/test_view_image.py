"""`view_image`: a picture is stored and shown, or the model learns an alternative."""

import dataclasses

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import BlobRef
from desktop_agent.core.tools.builtin.view_image import ViewImage
from desktop_agent.core.tools.output import LARGEST_PICTURE_BYTES, LONGEST_SIDE
from tests.core.tools.conftest import Workspace
from tests.pictures import gif, jpeg, png, webp

TOOL = ViewImage()


@pytest.mark.parametrize(
    ("content", "name"), [(png(), "PNG"), (jpeg(), "JPEG"), (gif(), "GIF"), (webp("VP8L"), "WebP")]
)
async def test_a_picture_is_shown_by_what_it_is_and_not_by_its_name(work: Workspace, content: bytes, name: str) -> None:
    """T-110."""
    work.write("shots/a.txt", content)
    result = await work.call(TOOL, path="shots/a.txt")
    (image,) = result.images
    assert (image.media_type, image.size) == (f"image/{name.lower()}", len(content))
    assert work.blobs.get(image.blob) == content
    size = f"{result.metadata['width']}×{result.metadata['height']}"
    assert result.content == f"[shots/a.txt: {name}, {size} pixels, {len(content)} bytes.]"
    assert result.metadata["path"] == "shots/a.txt"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<svg></svg>", "SVG image.*convert a.png picture.png"),
        (b"BM1234\0\0\0\0", "BMP image.*Possible are PNG, JPEG, GIF and WebP"),
        (png()[:-9], "cut off"),
        (b"", "is empty"),
        (png(LONGEST_SIDE + 1, 1), "8001×1 pixels.*-resize"),
        (png() + b"\0" * LARGEST_PICTURE_BYTES, r"3,932,160 is the most.*-resize"),
    ],
)
async def test_what_cannot_be_shown_is_explained(work: Workspace, content: bytes, message: str) -> None:
    work.write("a.png", content)
    with pytest.raises(ToolError, match=message):
        await work.call(TOOL, path="a.png")


async def test_the_largest_picture_fits_the_apis_limit_for_base64(work: Workspace) -> None:
    assert (LARGEST_PICTURE_BYTES + 2) // 3 * 4 <= 5 * 1024 * 1024
    work.write("a.png", png()[:-12] + b"\0" * (LARGEST_PICTURE_BYTES - len(png())) + png()[-12:])
    assert (await work.call(TOOL, path="a.png")).images[0].size == LARGEST_PICTURE_BYTES


async def test_a_full_disk_is_not_hidden(work: Workspace) -> None:
    def refuse(_content: bytes, _media_type: str) -> BlobRef:
        raise OSError(28, "No space left on device")

    work.write("a.png", png())
    with pytest.raises(OSError, match="No space"):
        await dataclasses.replace(work, context=replace(work.context, keep=refuse)).call(TOOL, path="a.png")
