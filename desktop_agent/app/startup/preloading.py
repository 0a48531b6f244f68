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
    "desktop_agent.core.mentions.symbol_search",
    "desktop_agent.core.mcp.new_servers",
    "desktop_agent.core.models.vendors",
    "desktop_agent.core.settings.live_settings",
)

WIDGETS_USED_SOON: Final = (
    "desktop_agent.ui.widgets.exact_field",
    "desktop_agent.ui.widgets.account_fields",
    "desktop_agent.ui.review.file_bar",
    "desktop_agent.ui.open_question",
    "desktop_agent.ui.approvals.question_head",
    "desktop_agent.ui.approvals.rule_editor",
    "desktop_agent.ui.approvals.approval_dialog",
    "desktop_agent.ui.chat.question.request_card",
    "desktop_agent.ui.chat.question.card_answers",
    "desktop_agent.ui.chat.question.server_question",
    "desktop_agent.ui.chat.question.approval",
    "desktop_agent.ui.models.model_offers",
    "desktop_agent.ui.models.model_popup",
    "desktop_agent.ui.context_inspector",
    "desktop_agent.ui.settings.setting_controls",
    "desktop_agent.ui.settings.page_parts",
    "desktop_agent.ui.settings.generated_page",
    "desktop_agent.ui.settings.accounts",
    "desktop_agent.ui.settings.model_page",
    "desktop_agent.ui.settings.server_card",
    "desktop_agent.ui.settings.servers_page",
    "desktop_agent.ui.settings.key_list",
    "desktop_agent.ui.settings.keys_page",
    "desktop_agent.ui.settings.project_page",
    "desktop_agent.ui.settings.rules_page",
    "desktop_agent.ui.settings.settings_dialog",
    "desktop_agent.ui.review.media.media_view",
    "desktop_agent.ui.files.viewer.text_page",
    "desktop_agent.ui.files.viewer.file_page",
    "desktop_agent.ui.files.viewer.file_pane",
)
"""Modules with the widgets that users open next, each after those that it imports."""

LOADED_LAST: Final = ("desktop_agent.core.providers.http_connection", "desktop_agent.app.review.rule_judge")


def load_core(
    paths: AppPaths, live: LiveSettings, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Workbench:
    """`environ` has the API keys. `tell` gets the reason for waiting for a keyring, and empty text after the wait."""
    # These modules show the session's entries, its changes, and their git status.
    for module in ("ui.chat.transcript.factory", "ui.review.review_content", "app.review.git_review"):
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
        import_module(module)
    await asyncio.to_thread(_warm_up)
    for _ in make_ahead():
        await idle()


def _load_core(bench: Workbench) -> None:
    for module in CORE_USED_SOON:
        import_module(module)
    for tool in bench.shared_tools.tools:
        tool.definition()


def _warm_up() -> None:
    get_ready()
    warm_up()
    for module in LOADED_LAST:
        import_module(module)
