"""What of the changelog is new to a user: the part above the version that they started last."""

import re
from pathlib import Path
from typing import Final

from desktop_agent.core.base.package import PACKAGE_FOLDER
from desktop_agent.core.base.paths import resource_path

_HEADING: Final = re.compile(r"^## \[([^\]]+)\]", re.MULTILINE)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def changelog_path() -> Path:
    """Return the changelog: inside the package when installed from a wheel, at the top of a checkout."""
    shipped = resource_path("CHANGELOG.md")
    return shipped if shipped.is_file() else PACKAGE_FOLDER.parent / "CHANGELOG.md"


def part_since(changelog: str, version: str) -> str:
    """Return the sections that are newer than `version`, without what introduces the document.

    Of one that is no version, and where nothing is newer, the newest section. What is not released yet is newer than
    every version.
    """
    headings = list(_HEADING.finditer(changelog))
    if not headings:
        return ""
    ends = [each.start() for each in headings[1:]] + [len(changelog)]
    before = _numbers(version)
    newer = [found for found in headings if before is not None and _is_newer(found[1], before)]
    return changelog[headings[0].start() : ends[max(len(newer), 1) - 1]].strip()


def beginning_of(part: str, most_lines: int) -> tuple[str, int]:
    """Return as many whole entries as fit into so many lines, and how many entries are left out."""
    lines = part.split("\n")
    if len(lines) <= most_lines:
        return part, 0
    begins = [number for number, line in enumerate(lines) if line.startswith("- ")]
    end = max((number for number in begins if number <= most_lines), default=most_lines)
    return "\n".join(lines[:end]).rstrip(), sum(number >= end for number in begins)


def is_update(version: str, before: str) -> bool:
    """Whether a user who started `before` the last time has something newer in `version`."""
    numbers = _numbers(before)
    return numbers is not None and _is_newer(version, numbers)


def _is_newer(version: str, than: tuple[int, ...]) -> bool:
    numbers = _numbers(version)
    return numbers is None or numbers > than


def _numbers(version: str) -> tuple[int, ...] | None:
    match = _NUMBERS.match(version)
    return tuple(map(int, match.groups())) if match else None
