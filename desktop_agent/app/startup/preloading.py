"""Imports and builds ahead: the core, in a thread, and widgets needed soon, while the window is idle.

This import takes as long as several first paints: import this module in a thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Final

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.diff.intraline import get_ready
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.ui.chat.markdown.markdown_stream import warm_up
from desktop_agent.ui.runtime.eventloop import idle

CORE_USED_SOON: Final = (
    "core.mentions.symbol_search", "core.mcp.new_servers", "core.models.vendors", "core.settings.live_settings",
)  # fmt: skip

WIDGETS_USED_SOON: Final = (
    "ui.widgets.exact_field", "ui.widgets.account_fields", "ui.review.review_bars", "ui.open_question",
    "ui.approvals.question_head", "ui.approvals.rule_editor", "ui.approvals.approval_dialog",
    "ui.chat.cards.request_card", "ui.chat.cards.approval", "ui.models.model_offers", "ui.models.model_popup",
    "ui.context_inspector", "ui.settings.setting_controls", "ui.settings.page_parts", "ui.settings.accounts",
    "ui.settings.model_page", "ui.settings.server_card", "ui.settings.servers_page", "ui.settings.keys_page",
    "ui.settings.extensions_page", "ui.settings.plugins_page", "ui.settings.rules_page", "ui.settings.settings_dialog",
    "ui.review.media_view",
    "ui.files.viewer.text_page", "ui.files.viewer.file_page", "ui.files.viewer.file_pane",
)  # fmt: skip
"""Modules with the widgets that users open next, each after those that it imports."""

LOADED_LAST: Final = ("core.providers.http_connection", "app.rule_judge")


def load_core(
    paths: AppPaths, live: LiveSettings, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Workbench:
    """`environ` has the API keys. `tell` gets the reason for waiting for a keyring, and empty text after the wait."""
    # These modules show the session's entries, its changes, and their git status.
    for module in ("ui.chat.transcript.factory", "ui.review.review_content", "app.git_review"):
        import_module(f"desktop_agent.{module}")
    import_module("pygit2")  # blocks the window's thread for two frames: better now than when a session opens
    import_module("jeepney.io.asyncio")  # likewise
    keys = SystemKeyStore(tell=tell, over=lambda: tell(""))
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
    sign_ins = SignIns(keys, accounts, paths.data, clock=SystemClock(), environ=environ, tell=tell)
    return Workbench(paths, live, environ=environ, key_store=keys, sign_ins=sign_ins, is_paced=True, makes_titles=True)


async def preload(bench: Workbench, make_ahead: Callable[[], Iterator[None]]) -> None:
    """Widgets are imported on this thread: PySide6 6.11 crashes if another makes a widget class during layout."""
    await asyncio.to_thread(_load_core, bench)
    for module in WIDGETS_USED_SOON:
        await idle()
        import_module(f"desktop_agent.{module}")
    await asyncio.to_thread(_warm_up)
    for _ in make_ahead():
        await idle()


def _load_core(bench: Workbench) -> None:
    for module in CORE_USED_SOON:
        import_module(f"desktop_agent.{module}")
    for tool in bench.shared_tools.tools:
        tool.definition()


def _warm_up() -> None:
    get_ready()
    warm_up()
    for module in LOADED_LAST:
        import_module(f"desktop_agent.{module}")
