"""The three versions of a file that clashes, read and compared off the window's thread."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from desktop_agent.core.changes.three_way import ThreeWay, compare_three
from desktop_agent.ui.review.media.binary_facts import VersionFacts, version_facts

if TYPE_CHECKING:
    from desktop_agent.core.model import Clash
    from desktop_agent.ui.review.source import DiffSource


@dataclass(frozen=True, slots=True)
class Versions:
    """Base, wanted and yours as bytes (`None`: absent) and in words; `three` when they can be settled line by line."""

    contents: tuple[bytes | None, ...]
    facts: tuple[VersionFacts | None, ...]
    three: ThreeWay | None

    @property
    def wanted(self) -> bytes | None:
        """What the undo or redo would have written."""
        return self.contents[1]


async def read_versions(clash: "Clash", source: "DiffSource") -> Versions:
    """Return what clashes. Raises `AgentError` when a content cannot be read."""
    images = (clash.base, clash.wanted, clash.yours)
    contents = await source.contents(images)
    is_text = all(image is not None and image.kind == "file" for image in images)
    return await asyncio.to_thread(_compared, contents, is_text)


def _compared(contents: tuple[bytes | None, ...], is_text: bool) -> Versions:
    base, wanted, yours = contents
    three = None
    if is_text and base is not None and wanted is not None and yours is not None:
        three = compare_three(base, wanted, yours)
    if three is not None and not three.clashes:
        three = None
    return Versions(contents, tuple(version_facts(content) for content in contents), three)
