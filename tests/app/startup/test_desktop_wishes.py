"""The desktop's settings reach the window over a real session bus; a missing portal is harmless."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from desktop_agent.app.desktop_bus import follow_desktop
from desktop_agent.ui.theme import Wishes
from tests.app.conftest import Go
from tests.desktop_settings import Values, desktop_settings
from tests.e2e.driver import Driver

APPEARANCE = "org.freedesktop.appearance"
GNOME = "org.gnome.desktop.interface"


@asynccontextmanager
async def following() -> AsyncGenerator[asyncio.Queue[Wishes]]:
    wished: asyncio.Queue[Wishes] = asyncio.Queue()
    task = asyncio.create_task(follow_desktop(wished.put_nowait))
    try:
        yield wished
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize(
    ("values", "wishes"),
    [
        ({}, Wishes()),
        ({APPEARANCE: {"reduced-motion": 1}}, Wishes(less_motion=True)),
        ({GNOME: {"enable-animations": False}}, Wishes(less_motion=True)),
        ({APPEARANCE: {"reduced-motion": 0, "contrast": 0}, GNOME: {"enable-animations": True}}, Wishes()),
        ({APPEARANCE: {"contrast": 1}}, Wishes(high_contrast=True)),
    ],
)
async def test_what_the_desktop_asks_for_is_told(bus: str, values: Values, wishes: Wishes) -> None:
    with desktop_settings(bus, values):
        async with following() as wished:
            assert await wished.get() == wishes


async def test_a_change_is_told_when_it_comes(bus: str) -> None:
    with desktop_settings(bus, {APPEARANCE: {"contrast": 1}}) as desktop:
        async with following() as wished:
            assert await wished.get() == Wishes(high_contrast=True)
            desktop.change({GNOME: {"enable-animations": False}})
            assert await wished.get() == Wishes(less_motion=True, high_contrast=True)
            desktop.change({APPEARANCE: {"contrast": 0}})
            assert await wished.get() == Wishes(less_motion=True)


@pytest.mark.parametrize("address", ["", "unix:path=/nowhere/bus", "nonsense"])
async def test_without_a_bus_nothing_is_wished(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    wished: list[Wishes] = []
    await follow_desktop(wished.append)
    assert wished == []


async def test_without_a_portal_nothing_is_wished(bus: str) -> None:
    wished: list[Wishes] = []
    await follow_desktop(wished.append)
    assert wished == []


async def test_a_connection_that_is_given_up_on_the_way_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said, closed = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        said.set()
        await reader.read()
        closed.set()
        writer.close()

    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'bus'}")
    async with await asyncio.start_unix_server(say_nothing, tmp_path / "bus"):
        async with following():
            await said.wait()
        await closed.wait()


@pytest.mark.usefixtures("qapp")
def test_the_window_does_what_the_desktop_asks_for(go: Go, bus: str) -> None:
    async def journey(user: Driver) -> None:
        theme = user.window.theme
        await user.until_true(
            lambda: not theme.moves and theme.colours.is_high_contrast, "it stands still, in contrast"
        )

    with desktop_settings(bus, {APPEARANCE: {"contrast": 1, "reduced-motion": 1}}):
        go(["--demo"], journey)
