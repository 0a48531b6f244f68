"""How long the real window freezes while 20 sub-agents work side by side, and how soon all of them have ended.

*Own work* is the processor time of the window's thread between two beats of a 1 ms timer. The first turn has the first
uses of everything; the limit applies to every turn.
"""

import os
import time
from pathlib import Path
from statistics import median
from typing import Final

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import ToolEntry
from tests.benchmarks.floors import FRAME_MS
from tests.benchmarks.measuring import Beat, Heart
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.servers import fault
from tests.servers.script import Told, reply, text, tool_use
from tests.servers.threaded import serve

AT_ONCE: Final = 20
CALLS: Final = 3
ROUNDS: Final = 3
MOST_TO_END_S: Final = 1.0


def answers(turn: int) -> list[Told]:
    prompts = [f"Look at part {number} of turn {turn}." for number in range(AT_ONCE)]
    tasks = [tool_use("task", description=f"part {at}", prompt=prompt) for at, prompt in enumerate(prompts)]
    found = [Told("Begin turn 1.", reply(*tasks))]  # the first message of the conversation in every turn
    for prompt in prompts:
        found += [Told(prompt, reply(text("I look. " * 20), tool_use("list_files", path="."))) for _ in range(CALLS)]
        found.append(Told(prompt, reply(text("I wait."), fault.stall_after(events=3))))
    return found


class Turn:
    def __init__(self) -> None:
        self.beats: dict[str, list[Beat]] = {"answering": [], "beginning": [], "working": [], "ending": []}
        self.ended_s = 0.0

    @property
    def longest_ms(self) -> float:
        return max(beat.work for beats in self.beats.values() for beat in beats)

    def told(self) -> str:
        return "; ".join(
            f"{name}: own work median {median(beat.work for beat in beats):.1f}, longest"
            f" {max(beat.work for beat in beats):.1f} ms, late by up to {max(beat.late for beat in beats):.1f} ms"
            for name, beats in self.beats.items()
        )


async def play(user: Driver, number: int) -> Turn:
    turn, heart = Turn(), Heart()
    before = user.transcript.turn
    await user.type("composer", f"Begin turn {number}.")
    await user.press(Qt.Key.Key_Return)
    heart.start()
    while user.transcript.turn == before or not is_all_at_rest(user):
        await user.pause()
        is_answered = user.transcript.turn > before and bool(tasks_of(user))
        phase = "working" if has_begun(user) else "beginning" if is_answered else "answering"
        turn.beats[phase].append(heart.worst())
    asked = time.perf_counter()
    user.window.main_window.actions_.stop.trigger()
    while user.transcript.turns.is_running:
        await user.pause()
        turn.beats["ending"].append(heart.worst())
    turn.ended_s = time.perf_counter() - asked
    heart.stop()
    assert user.transcript.turns.last_end == "interrupted"
    return turn


def tasks_of(user: Driver) -> list[ToolEntry]:
    entries, turn = user.transcript.entries, user.transcript.turn
    return [entry for entry in entries if isinstance(entry, ToolEntry) and entry.turn == turn]


def has_begun(user: Driver) -> bool:
    tasks = tasks_of(user)
    return len(tasks) == AT_ONCE and all(entry.subagent is not None for entry in tasks)


def is_all_at_rest(user: Driver) -> bool:
    """Whether all sub-agents of the turn wait for the model's last answer."""
    return has_begun(user) and all(entry.usage.output_tokens >= CALLS * 20 for entry in tasks_of(user))


def test_twenty_sub_agents_do_not_stop_the_window_and_end_within_a_second(
    tmp_path: Path, qapp: QApplication, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    expected_logs.append("the window stands still")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef")
    ask_for_no_titles()
    save_setting(AppPaths.from_environment(os.environ).settings_file(), "subagents.most_at_once", value=AT_ONCE)
    turns: list[Turn] = []

    async def journey(user: Driver) -> None:
        await user.see_ready()
        turns.extend([await play(user, number) for number in range(1, ROUNDS + 1)])
        server.release()
        await user.quit()

    with serve(*(answer for turn in range(1, ROUNDS + 1) for answer in answers(turn))) as server:
        drive(
            [str(tmp_path), "--provider", "anthropic", "--model", "m", "--base-url", server.url],
            tmp_path / "a",
            journey,
        )
    for number, turn in enumerate(turns, 1):
        print(f"turn {number}: {turn.told()}; all ended after {turn.ended_s:.2f} s")
    assert max(turn.longest_ms for turn in turns) <= FRAME_MS
    assert max(turn.ended_s for turn in turns) <= MOST_TO_END_S
