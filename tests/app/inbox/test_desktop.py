"""Notifications over a real session bus: their content, the user's answers, and bad servers."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from desktop_agent.app.desktop_bus import DesktopNotifications, Notification, NotificationKey
from tests.app.inbox.conftest import Desktop
from tests.app.inbox.service import Mode

NOTIFICATION = Notification(
    key=("s1", "c1"),
    title="Wants to run a command",
    body="Fix <b> & tests",
    can_deny=True,
    show_words="Show",
    deny_words="Deny",
)
Start = Callable[[Mode], Desktop]


class Acts:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[NotificationKey, str]] = asyncio.Queue()

    def __call__(self, key: NotificationKey, action: str) -> None:
        self.queue.put_nowait((key, action))


async def test_a_notification_has_buttons_where_the_desktop_has_them_and_a_no_comes_back(desktop: Start) -> None:
    server, acts = desktop("denying"), Acts()
    notifications = DesktopNotifications(acts)
    assert await notifications.show(NOTIFICATION)
    assert await acts.queue.get() == (("s1", "c1"), "deny")
    await notifications.aclose()
    assert server.next_call() == ["GetCapabilities"]
    name, _app, replaces, _icon, title, body, actions, hints, _timeout = server.next_call()
    assert (name, replaces, title) == ("Notify", 0, "Wants to run a command")
    assert body == "Fix &lt;b&gt; &amp; tests", "the desktop takes it for markup"
    assert actions == ["default", "Show", "show", "Show", "deny", "Deny"]
    assert isinstance(hints, dict)
    assert hints["suppress-sound"] == ["b", True]


async def test_a_click_on_it_shows_what_it_is_about(desktop: Start) -> None:
    desktop("showing")
    acts = Acts()
    notifications = DesktopNotifications(acts)
    assert await notifications.show(replace(NOTIFICATION, can_deny=False))
    assert await acts.queue.get() == (("s1", "c1"), "show")
    await notifications.aclose()


async def test_a_desktop_without_buttons_and_markup_gets_plain_text(desktop: Start) -> None:
    server = desktop("plain")
    notifications = DesktopNotifications(Acts())
    assert await notifications.show(replace(NOTIFICATION, makes_sound=True))
    await notifications.aclose()
    server.next_call()
    notify = server.next_call()
    assert (notify[5], notify[6]) == ("Fix <b> & tests", [])
    assert isinstance(hints := notify[7], dict)
    assert "suppress-sound" not in hints


async def test_the_same_thing_replaces_its_notification_and_is_taken_back_once(desktop: Start) -> None:
    server = desktop("plain")
    notifications = DesktopNotifications(Acts())
    assert await notifications.show(NOTIFICATION)
    assert await notifications.show(replace(NOTIFICATION, key=("s2", "c1")))
    assert await notifications.show(NOTIFICATION)
    await notifications.withdraw(NOTIFICATION.key)
    await notifications.withdraw(NOTIFICATION.key)
    await notifications.aclose()
    calls = [server.next_call() for _ in range(5)]
    assert [call[2] for call in calls[1:4]] == [0, 0, 1]
    assert calls[4] == ["CloseNotification", 1]


@pytest.mark.parametrize("mode", ["silent", "erring", "nonsense"])
async def test_a_desktop_that_does_not_answer_well_shows_nothing_and_holds_nobody_up(
    desktop: Start, mode: Mode
) -> None:
    desktop(mode)
    notifications = DesktopNotifications(Acts(), patience_s=0.2 if mode == "silent" else 20)
    assert not await notifications.show(NOTIFICATION)
    await notifications.withdraw(NOTIFICATION.key)
    await notifications.aclose()


async def test_a_server_that_ends_is_looked_for_again(desktop: Start) -> None:
    notifications = DesktopNotifications(Acts())
    desktop("plain").end()
    assert not await notifications.show(NOTIFICATION)
    desktop("plain")
    assert await notifications.show(NOTIFICATION)
    await notifications.aclose()


@pytest.mark.parametrize("address", [None, "", "unix:path=/nowhere/bus", "nonsense", "tcp:host=x"])
async def test_without_a_bus_there_is_no_notification_and_no_error(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    notifications = DesktopNotifications(Acts())
    assert not await notifications.show(NOTIFICATION)
    await notifications.aclose()
