"""The three versions of a file that clashes, read and compared off the window's thread."""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.merge.three_way import Source, ThreeWay, compare_three
from desktop_agent.core.protocol.model import Clash, FileChange, FileDiff, FileImage
from desktop_agent.ui.review.media.binary_view import VersionFacts, version_facts
from desktop_agent.ui.review.source import DiffSource


class Versions(Struct, frozen=True):
    """Base, wanted and yours as bytes (`None`: absent) and in words.

    `three` is there when they can be settled line by line, `pair` when they cannot and two of them are texts.
    """

    contents: tuple[bytes | None, ...]
    facts: tuple[VersionFacts | None, ...]
    three: ThreeWay | None
    pair: "Pair | None" = None

    @property
    def wanted(self) -> bytes | None:
        """What the undo or redo would have written."""
        return self.contents[1]


class Pair(Struct, frozen=True):
    """Two versions beside each other, where the third is absent or no text that could be merged."""

    old: Source
    new: Source
    diff: FileDiff


async def read_versions(path: str, clash: Clash, source: DiffSource) -> Versions:
    """Return what clashes in the file. Raises `AgentError` when a content cannot be read."""
    images = (clash.base, clash.wanted, clash.yours)
    contents = await source.contents(images)
    is_text = all(image is not None and image.kind == "file" for image in images)
    versions = await asyncio.to_thread(_compared, contents, is_text)
    return versions if versions.three else replace(versions, pair=await _pair(path, clash, source))


async def _pair(path: str, clash: Clash, source: DiffSource) -> Pair | None:
    """Compare what the user has with what it clashes with; without a file of theirs, what there was with the rest."""
    images: dict[Source, FileImage | None] = {"base": clash.base, "wanted": clash.wanted, "yours": clash.yours}
    files: list[Source] = [each for each, image in images.items() if image is not None and image.kind == "file"]
    if len(files) < 2:
        return None
    old, new = files[-2:]
    change = FileChange(id="clash", path=path, kind="modified", author="person", before=images[old], after=images[new])
    diff = await source.change_diff(change)
    return Pair(old, new, diff) if diff.old_lines and diff.new_lines else None


def _compared(contents: tuple[bytes | None, ...], is_text: bool) -> Versions:
    base, wanted, yours = contents
    three = None
    if is_text and base is not None and wanted is not None and yours is not None:
        three = compare_three(base, wanted, yours)
    if three is not None and not three.clashes:
        three = None
    return Versions(contents, tuple(version_facts(content) for content in contents), three)
