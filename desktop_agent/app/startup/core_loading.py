"""Builds the core. Importing this takes as long as several first paints: import and build in a thread."""

from collections.abc import Callable, Mapping
from importlib import import_module

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.settings.live_settings import LiveSettings


def load_core(
    paths: AppPaths, live: LiveSettings, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Workbench:
    """Build and return the core, and import what shows the session that is opened next.

    `environ` has the keys; `tell` gets the reason for waiting for a keyring, and an empty text when the wait is over.
    """
    # They show the entries and the changes of that session, and what git has of them.
    for module in ("ui.chat.transcript.factory", "ui.review.review_content", "app.review.git_review"):
        import_module(f"desktop_agent.{module}")
    import_module("pygit2")  # keeps the window's thread for two frames: rather now than while a session is being opened
    import_module("jeepney.io.asyncio")  # likewise
    keys = SystemKeyStore(tell=tell, over=lambda: tell(""))
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
    sign_ins = SignIns(keys, accounts, paths.data, clock=SystemClock(), environ=environ, tell=tell)
    return Workbench(
        paths,
        live,
        environ=environ,
        key_store=keys,
        sign_ins=sign_ins,
        is_paced=True,
        makes_titles=True,
    )
