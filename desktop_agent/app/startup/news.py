"""Announces an update once, shows what changed, and looks for newer versions where the user wants that."""

import asyncio
import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from PySide6.QtCore import QUrl

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.core.base.errors import StorageError, ToolError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.package import PACKAGE_FOLDER, __version__
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.regex import regex
from desktop_agent.core.system.network.connections import proxy_for
from desktop_agent.core.tools.web import AddressBook, download, fetch_client
from desktop_agent.ui.window.conversation_pane import NewsWindow

_log = logging.getLogger(__name__)
_HEADING: Final = regex(r"^## \[([^\]]+)\]", re.MULTILINE)
_NUMBERS: Final = regex(r"(\d+)\.(\d+)\.(\d+)")


def changelog_path() -> Path:
    shipped = resource_path("CHANGELOG.md")
    return shipped if shipped.is_file() else PACKAGE_FOLDER.parent / "CHANGELOG.md"


def part_since(changelog: str, version: str) -> str:
    """Return the sections newer than `version`, with unreleased changes; if there are none, the newest section."""
    headings = list(_HEADING.finditer(changelog))
    if not headings:
        return ""
    ends = [each.start() for each in headings[1:]] + [len(changelog)]
    before = _numbers(version)
    newer = [found for found in headings if before is not None and _is_newer(found[1], before)]
    return changelog[headings[0].start() : ends[max(len(newer), 1) - 1]].strip()


def beginning_of(part: str, most_lines: int) -> tuple[str, int]:
    """Return the whole entries that fit into `most_lines` lines, and the number of omitted entries."""
    lines = part.split("\n")
    if len(lines) <= most_lines:
        return part, 0
    begins = [number for number, line in enumerate(lines) if line.startswith("- ")]
    end = max((number for number in begins if number <= most_lines), default=most_lines)
    return "\n".join(lines[:end]).rstrip(), sum(number >= end for number in begins)


def is_update(version: str, before: str) -> bool:
    numbers = _numbers(before)
    return numbers is not None and _is_newer(version, numbers)


def _is_newer(version: str, than: tuple[int, ...]) -> bool:
    numbers = _numbers(version)
    return numbers is None or numbers > than


def _numbers(version: str) -> tuple[int, ...] | None:
    match = _NUMBERS.match(version)
    return tuple(map(int, match.groups())) if match else None


class Release(Struct, frozen=True):
    """The fields that GitHub and Forgejo use for a release."""

    tag_name: str
    html_url: str = ""

    @property
    def version(self) -> str:
        """The numbers in the tag; empty if there are none."""
        found = _NUMBERS.search(self.tag_name)
        return found[0] if found else ""


_MOST_BYTES = 2**20


async def newest_release(address: str) -> Release:
    """Ask an address that the user chose. Raises `ToolError` and `msgspec.MsgspecError`."""
    book = AddressBook(is_allowed=lambda _address: True)
    came = await download(address, book=book, factory=fetch_client, max_bytes=_MOST_BYTES, route=proxy_for)
    if came.status != 200:
        raise ToolError(f"{address} answered with {came.status} {came.reason}.")
    return msgspec.json.decode(came.body, type=learned(Release))


_MOST_LINES = 60
"""The most lines that are shown: laying out more takes noticeable time, which a start does not have."""


class News(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._before = self._panels.window.memory.news("version")
        show = in_background(self._launch, self._show)
        self._panels.window.actions_.whats_new.triggered.connect(show)
        self._panels.conversation.news_bar.wanted.connect(show)

    def tell(self) -> None:
        self._panels.window.memory.remember_news("version", __version__)
        if is_update(__version__, self._before):
            self._panels.conversation.news_bar.show_version(__version__)
        elif address := self._bench.settings.ui.release_address:
            self._launch(self._look_for_newer(address))

    async def _look_for_newer(self, address: str) -> None:
        memory, today = self._panels.window.memory, datetime.now(UTC).date().isoformat()
        if memory.news("release_looked_for") == today:
            return
        memory.remember_news("release_looked_for", today)
        try:
            release = await newest_release(address)
        except (ToolError, msgspec.MsgspecError) as error:  # the window asks again tomorrow
            _log.warning("No newer version was looked for: %s", error)
            return
        if release.version and is_update(release.version, __version__):
            self._panels.conversation.news_bar.show_newer(release.version, release.html_url)

    async def _show(self) -> None:
        path = changelog_path()
        try:
            changelog = await asyncio.to_thread(path.read_text, "utf-8")
        except OSError as error:
            hint = self.tr("Reinstall the application.")
            raise StorageError(self.tr("The changelog is missing."), hint=hint, detail=str(error)) from error
        shown, left_out = beginning_of(part_since(changelog, self._before), _MOST_LINES)
        if left_out:
            address = QUrl.fromLocalFile(str(path)).toString(QUrl.ComponentFormattingOption.FullyEncoded)
            link = f"[{path.name}]({address})"
            shown += "\n\n" + self.tr("Read more in {0}.").format(link)
        NewsWindow(shown, self._panels.window).show()
