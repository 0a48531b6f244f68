"""Imports what the user will need next, while the window has nothing else to do."""

import asyncio
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

from desktop_agent.ui.runtime.eventloop import idle

if TYPE_CHECKING:
    from desktop_agent.composition.workbench import Workbench

_USED_SOON: Final = (
    ("widgets.exact", "exact_text exact_field fold_bar"),
    ("approvals", "answer_bar change_preview request_words command_edit icon_note question_head"),
    ("approvals", "rule_draft pattern_row rule_preview rule_editor scope_choice dialog"),
    ("chat.question", "request_card card_answers approval"),
    ("inbox", "items row popup"),
    ("models", "choices effort_choice list_model list_view popup"),
    ("palette", "entries finding drawing palette place_entries"),
    ("context", "context_words bar long_text pin_list section_list inspector"),
    ("runtime", "next_turn laid_out_ahead"),
    ("settings", "settings_view page_parts setting_controls generated_page"),
    ("connecting", "account_fields key_field browser_wait"),
    ("settings", "account_chooser account_credentials model_page server_card servers_page key_list keys_page"),
    ("settings", "approvals_page project_page rules_page settings_dialog"),
    ("review.media", "media_view"),
)
"""Folders of `ui` and their modules with the widgets that users open next, each after those that it imports."""


_CORE_USED_SOON: Final = (
    "desktop_agent.core.mentions.symbol_search",
    "desktop_agent.core.mcp.new_servers",
    "desktop_agent.core.models.vendors",
    "desktop_agent.core.settings.live_settings",
)


def modules_used_soon() -> Iterator[str]:
    """The names of the modules of widgets that are imported ahead, in this order."""
    for folder, modules in _USED_SOON:
        yield from (f"desktop_agent.ui.{folder}.{module}" for module in modules.split())


async def preload(bench: "Workbench", make_ahead: Callable[[], Iterator[None]]) -> None:
    """Import what the first answer, the first question, the choice of a model and the settings will need.

    `make_ahead` makes widgets of what was imported, a little in each step.

    Widgets are imported on this thread, one module at a time: Qt's binding (PySide6 6.11) crashes when another thread
    makes a class of a widget while this one lays widgets out.
    """
    await asyncio.to_thread(_load_core, bench)
    for module in modules_used_soon():
        await idle()
        import_module(module)
    await asyncio.to_thread(_warm_up)
    for _ in make_ahead():
        await idle()


def _load_core(bench: "Workbench") -> None:
    for module in _CORE_USED_SOON:
        import_module(module)
    for tool in bench.shared_tools.tools:
        tool.definition()


def _warm_up() -> None:
    from desktop_agent.core.diff.intraline import get_ready
    from desktop_agent.ui.chat.markdown.markdown_stream import warm_up

    get_ready()
    warm_up()
    for module in ("core.providers.http_connection", "app.review.rule_judge"):
        import_module(f"desktop_agent.{module}")
