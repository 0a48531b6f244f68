"""Tells of an update once, and shows what is new in it whenever the user asks."""

import asyncio

from PySide6.QtCore import QObject, QUrl

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.startup.changelog import beginning_of, changelog_path, is_update, part_since
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.package import __version__

_MOST_LINES = 60
"""More would be seen to be laid out, and is read by nobody at a start."""


class News(QObject):
    """Knows which version the user started last."""

    def __init__(self, panels: WindowPanels, try_: Try) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._try = try_
        self._before = panels.window.memory.version
        actions = panels.window.actions_
        actions.connect(actions.whats_new, self._on_wanted)
        panels.conversation.news_bar.wanted.connect(self._on_wanted)

    def tell(self) -> None:
        """Tell of an update; at the first start there is nothing to tell. What was told is not told again."""
        self._panels.window.memory.remember_version(__version__)
        if is_update(__version__, self._before):
            self._panels.conversation.news_bar.show_version(__version__)

    def _on_wanted(self) -> None:
        self._try(self._show())

    async def _show(self) -> None:
        from desktop_agent.ui.window.bar.news_window import NewsWindow  # seldom wanted

        path = changelog_path()
        try:
            changelog = await asyncio.to_thread(path.read_text, "utf-8")
        except OSError as error:
            hint = self.tr("Install the application again.")
            raise StorageError(self.tr("The changelog is missing."), hint=hint, detail=str(error)) from error
        shown, left_out = beginning_of(part_since(changelog, self._before), _MOST_LINES)
        if left_out:
            address = QUrl.fromLocalFile(str(path)).toString(QUrl.ComponentFormattingOption.FullyEncoded)
            link = f"[{path.name}]({address})"
            shown += "\n\n" + self.tr("More of it is in {0}.").format(link)
        NewsWindow(shown, self._panels.window).show()
