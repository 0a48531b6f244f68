"""A flood of output skips only what nobody could have seen."""

import threading

import pytest

from desktop_agent.core.terminal.emulator import LEAST_CHARS, MOST_BYTES, Backlog, Emulator, without_unseen
from desktop_agent.core.terminal.rows import KeptRow

HEIGHT, HISTORY = 5, 20


def everything(output: bytes) -> list[KeptRow]:
    emulator = Emulator(HEIGHT, 30, answered=lambda _: None, history_rows=HISTORY)
    emulator.feed(b"\r\n" * HEIGHT)
    assert emulator.is_scrolling
    emulator.feed(output)
    screen = emulator.screen
    return [*screen.history, *(screen.row(screen.first_row + at) for at in range(HEIGHT))]


FLOODS = {
    "lines": (b"y\r\n" * 23_000, True),
    "coloured lines": (b"\x1b[1mno\x1b[0m \x1b[32m+ a line\r\n" * 4_000 + b"end", True),
    "long lines": (b"0123456789" * 9 + b"\r\n" + "äöü漢\r\n".encode() * 6_000, True),
    "some lines of many": ((b"plain and short\r\n" * 9 + b"\x1b[7mnot\x1b[m\r\nbell\x07\r\n") * 600, False),
    "lines that overwrite themselves": (b" 10%\r 20%\r done\r\n" * 5_000, True),
    "a screen that is cleared": (b"\x1b[H\x1b[2Jtop\r\n" * 6_000, False),
    "no lines": (b"x" * 100_000, False),
    "raw line feeds": (b"ab\n" * 22_000, False),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_leaves_the_same_without_the_lines_that_scroll_away(name: str) -> None:
    output, is_shortened = FLOODS[name]
    left = without_unseen(output, HEIGHT + HISTORY)
    if is_shortened:
        assert len(left) < len(output) / 5
        assert everything(left) == everything(output)
    else:
        assert left is output


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_leaves_the_same_in_one_piece_as_in_many(name: str) -> None:
    output = FLOODS[name][0][:12_000]
    assert len(output) > LEAST_CHARS
    emulator = Emulator(HEIGHT, 30, answered=lambda _: None, history_rows=HISTORY)
    emulator.feed(b"\r\n" * HEIGHT)
    for at in range(0, len(output), 1_000):
        emulator.feed(output[at : at + 1_000])
    screen = emulator.screen
    piecemeal = [*screen.history, *(screen.row(screen.first_row + at) for at in range(HEIGHT))]
    assert everything(output) == piecemeal


def test_who_prints_more_than_is_taken_in_waits_and_goes_on() -> None:
    backlog = Backlog()
    assert backlog.put(b"x" * MOST_BYTES)
    writer = threading.Thread(target=backlog.put, args=(b"y",))
    writer.start()
    assert backlog.take() == b"x" * MOST_BYTES
    writer.join()
    assert backlog.take() == b"y"
    backlog.put(b"x" * MOST_BYTES)
    writer = threading.Thread(target=backlog.put, args=(b"z",))
    writer.start()
    backlog.close()
    writer.join()
    assert backlog.take() == b""
