"""The part of a sign-in that happens in the browser: it is opened, and its answer is waited for."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.providers.auth.sign_in import failures
from desktop_agent.core.providers.auth.sign_in.redirect import RedirectReceiver

LIMIT_S = 600.0
"""How long the user has in the browser. It may take a new account, or a code by mail."""


class Browser(Protocol):
    """How the user gets to the page of a service."""

    async def open(self, address: str) -> bool:
        """Open it in the user's browser, and return whether that seems to have worked."""
        ...

    def show(self, address: str) -> None:
        """Show the address, for the user to open it by hand."""
        ...


async def code_from_browser(
    service: str, address: str, receiver: RedirectReceiver, browser: Browser, clock: Clock
) -> Mapping[str, str]:
    """Have the user sign in at `address`, and return the parameters of the answer, a `code` among them.

    Raises `CredentialsError` when it is declined, or not there in time. That a browser was closed cannot be seen: the
    user cancels, or the time runs out.
    """
    opening = asyncio.ensure_future(_open(browser, address))
    try:
        parameters = await _in_time(service, receiver, clock, opening)
    finally:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    if "error" in parameters:
        raise failures.declined(service, parameters)
    if not parameters.get("code"):
        raise failures.no_code(service)
    return parameters


async def _open(browser: Browser, address: str) -> None:
    if not await browser.open(address):
        browser.show(address)


async def _in_time(
    service: str, receiver: RedirectReceiver, clock: Clock, opening: asyncio.Future[None]
) -> Mapping[str, str]:
    """Wait for the answer. A browser may take as long to be opened as it is open; what that raises is raised."""
    answer = asyncio.ensure_future(receiver.answer())
    limit = asyncio.ensure_future(clock.sleep(LIMIT_S))
    try:
        await asyncio.wait({answer, limit, opening}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
            await asyncio.wait({answer, limit}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise failures.timed_out(service, LIMIT_S, has_refused=receiver.has_refused)
        return answer.result()
    finally:
        answer.cancel()
        limit.cancel()
        await asyncio.gather(answer, limit, return_exceptions=True)
