"""How long the settings page of twenty MCP servers with fifty tools each blocks the window; and their start.

Measured is the own work of the window's thread in each turn of its loop while the page opens, all 1,000 tools unfold,
tools and servers are switched, and a server's state changes. The limit is a frame, 16.7 ms, for the best of some runs;
the floor is the longest pause of an idle process. The start is that of `bench_start.py`, to the first paint and to the
loaded core, in turns with a home without servers; compared is the 25th percentile of processor time.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.server_status import ServerFacts, ServerStatus
from desktop_agent.ui.settings.server_card import ServerCard, ToolRow
from desktop_agent.ui.settings.settings_view import ServersView, ServerView, ToolView
from tests.benchmarks.bench_start import OURS
from tests.benchmarks.bench_start import run as start
from tests.benchmarks.floors import FRAME_MS, children_s, idle_beside
from tests.ui.settings.desk import Desk

SERVERS, TOOLS = 20, 50
MOST_LATER = 1.1
READY = """
import os, sys
from desktop_agent.app.startup import window as module

class Watched(module.Window):
    def add_panels(self):
        super().add_panels()
        self.ready.connect(lambda: os._exit(0))

module.Window = Watched
from desktop_agent.cli import main
sys.exit(main())
"""
CLOSED = "the page is closed, with all of it unfolded"
"""Qt hides some 5,000 widgets, which takes longer than a frame."""
ABOUT = "Finds what matches a query, and says of each find where it is and who wrote it last."
FACTS = ServerFacts(protocol="2025-11-25", era="handshake", name="many", version="1", has_tools=True)


def server(number: int) -> ServerView:
    tools = tuple(ToolView(name=f"find_{tool}", about=ABOUT, tokens=117) for tool in range(TOOLS))
    definition = ServerDefinition(name=f"server{number}", reached_by=Program(command="uvx", args=("mcp-many",)))
    status = ServerStatus(name=definition.name, state="ready", facts=FACTS)
    return ServerView(definition=definition, status=status, tools=tools, log="ready\n" * 60)


class Turns:
    """The processor time of the thread in each turn of the loop, in ms."""

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self.all: list[float] = []

    def of(self, act: Callable[[], object], until: Callable[[], bool] = lambda: True) -> list[float]:
        turns = [self._took(act)]
        quiet = 0
        deadline = time.monotonic() + 30
        while (quiet < 5 or not until()) and time.monotonic() < deadline:
            turns.append(self._took(lambda: self._app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 0)))
            quiet = quiet + 1 if turns[-1] < 0.1 else 0
        assert until()
        self.all += turns
        return turns

    def _took(self, act: Callable[[], object]) -> float:
        begun = time.thread_time()
        act()
        return (time.thread_time() - begun) * 1000


def test_a_thousand_tools_keep_the_window_for_less_than_a_frame(
    qapp: QApplication, qtbot: QtBot, is_nightly: bool
) -> None:
    with idle_beside() as idle:
        runs = [run(qapp, qtbot) for _ in range(5 if is_nightly else 3)]
    print(f"{SERVERS} servers of {TOOLS} tools; an idle process stood still for {idle.worst_ms:.1f} ms")
    print(f"{'':46}{'turns':>7}{'all':>10}{'longest':>11}{'worst run':>11}")
    for step in runs[0]:
        longest = sorted(max(one[step]) for one in runs)
        whole = statistics.median(sum(one[step]) for one in runs)
        print(f"{step:46}{len(runs[0][step]):7}{whole:7.0f} ms{longest[0]:8.1f} ms{longest[-1]:8.1f} ms")
    for step in runs[0].keys() - {CLOSED}:
        assert min(max(one[step]) for one in runs) <= FRAME_MS, step


def run(app: QApplication, qtbot: QtBot) -> dict[str, list[float]]:
    desk = Desk(app, qtbot)
    page, turns = desk.dialog.pages, Turns(app)
    views = [server(number) for number in range(SERVERS)]
    page.servers.show_servers(ServersView(servers=tuple(views)))
    turns.of(lambda: None)
    gc.collect()
    gc.freeze()
    found = {
        "the page is opened": turns.of(lambda: desk.dialog.show_section("mcp"), lambda: len(cards(desk)) == SERVERS)
    }
    unfolding = [
        turns.of(buttons(card)["serverToolsButton"].click, lambda c=card: are_all_there(c)) for card in cards(desk)
    ]
    found["the tools of a server are unfolded, twenty times"] = [turn for each in unfolding for turn in each]
    found["a tool is switched"] = turns.of(row_of(desk).switch.click)
    views[3] = replace(views[3], definition=replace(views[3].definition, disabled_tools=("find_1",)))
    found["the switch is shown"] = turns.of(lambda: page.servers.show_servers(ServersView(servers=tuple(views))))
    views[5] = replace(views[5], status=replace(views[5].status, state="idle"))
    found["a server ends"] = turns.of(lambda: page.servers.show_servers(ServersView(servers=tuple(views))))
    views[7] = replace(views[7], tools=tuple(replace(tool, tokens=90) for tool in views[7].tools))
    found["a server lists other tools"] = turns.of(
        lambda: page.servers.show_servers(ServersView(servers=tuple(views))), lambda: are_all_there(cards(desk)[7])
    )
    scroll = desk.dialog.page.verticalScrollBar()
    found["scrolled to the end"] = [
        t for _ in range(60) for t in turns.of(lambda: scroll.setValue(scroll.value() + 300))
    ]
    found[CLOSED] = turns.of(desk.dialog.close)
    return found


def cards(desk: Desk) -> list[ServerCard]:
    return desk.dialog.findChildren(ServerCard)


def buttons(card: ServerCard) -> dict[str, QPushButton]:
    return {button.objectName(): button for button in card.findChildren(QPushButton)}


def are_all_there(card: ServerCard) -> bool:
    return len([row for row in card.findChildren(ToolRow) if row.isVisibleTo(card)]) == TOOLS


def row_of(desk: Desk) -> ToolRow:
    return cards(desk)[3].findChildren(ToolRow)[1]


def test_the_window_starts_as_soon_with_twenty_servers_as_without(tmp_path: Path, is_nightly: bool) -> None:
    homes = {False: tmp_path / "without", True: tmp_path / "with"}
    for has_servers, home in homes.items():
        settings = AppPaths.from_environment({**os.environ, "DESKTOP_AGENT_HOME": str(home)}).settings_file()
        settings.parent.mkdir(parents=True)
        settings.write_text("\n".join(map(defined, range(SERVERS))) if has_servers else "")
    workspace = tmp_path / "work"
    workspace.mkdir()
    for name, program, arguments in (("first paint", OURS, ()), ("the core is loaded", READY, (str(workspace),))):
        took: dict[bool, list[float]] = {False: [], True: []}
        for number in range(26 if is_nightly else 10):
            order = sorted(homes, reverse=number % 2 == 1)
            seconds = {each: children_s(partial(start, program, homes[each], *arguments)) for each in order}
            if number > 0:  # the first one writes bytecode
                for each, one in seconds.items():
                    took[each].append(one)
        without, with_them = (statistics.quantiles(took[each], n=4)[0] * 1000 for each in homes)
        ratio = with_them / without
        print(f"{name}: without {without:.0f} ms, with {SERVERS} servers {with_them:.0f} ms, ratio {ratio:.2f}")
        assert ratio <= MOST_LATER


def defined(number: int) -> str:
    return f'[[mcp.definitions]]\nname = "server{number}"\ncommand = "uvx"\nargs = ["mcp-many", "{number}"]\n'
