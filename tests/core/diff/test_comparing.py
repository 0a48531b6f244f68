"""Big files are compared in a process of their own, transparently for the caller."""

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.diff.comparing import BIG_LINES, Comparer, is_big
from desktop_agent.core.diff.comparison_process import Comparison, ComparisonFailure, ComparisonProcess
from desktop_agent.core.diff.diff import TOO_DIFFERENT_NOTE, as_read, diff_change
from desktop_agent.core.diff.hunks import landmarks_of
from desktop_agent.core.diff.outline import assemble, outline_of
from desktop_agent.core.protocol.model import FileImage, FileKind
from desktop_agent.core.system.processes import worker_process
from desktop_agent.core.system.processes.worker_process import WorkerDiedError
from tests.core.diff.changes import change_of, make_diff
from tests.core.diff.test_diff import content


def numbered(count: int = BIG_LINES, word: bytes = b"line") -> bytes:
    return b"".join(b"%s %d\n" % (word, number) for number in range(count))


BEFORE = numbered()
AFTER = BEFORE.replace(b"line 77\n", b"changed\n")
BIG = (change_of("1.1", "big.txt", BEFORE, AFTER), BEFORE, AFTER)


@asynccontextmanager
async def comparing(*, time_limit_s: float = 60.0) -> AsyncGenerator[Comparer]:
    comparer = Comparer(time_limit_s=time_limit_s)
    try:
        yield comparer
    finally:
        await comparer.aclose()


async def started(comparer: Comparer) -> psutil.Process:
    await comparer.diff(*BIG)
    assert comparer.pid
    return psutil.Process(comparer.pid)


# --- which is big ---------------------------------------------------------------------------------------------------


def test_many_lines_or_many_bytes_on_both_sides_together_are_big() -> None:
    half = numbered(BIG_LINES // 2)
    assert not is_big(half, half)
    assert is_big(half, half + b"one more\n")
    assert is_big(b"x" * 999_999, b"yy")
    assert not is_big(None, None)


async def test_small_files_need_no_process() -> None:
    async with comparing() as comparer:
        diff = await comparer.diff(change_of("1.1", "big.txt", b"a\n", b"b\n"), b"a\n", b"b\n")
        assert (diff.added, diff.removed, comparer.pid) == (1, 1, None)
        assert diff.landmarks == landmarks_of(diff)


# --- what comes back ------------------------------------------------------------------------------------------------


BIG_FILES = {
    "created": (None, numbered(BIG_LINES + 1)),
    "deleted": (numbered(BIG_LINES + 1), None),
    "emptied": (numbered(BIG_LINES + 1), b""),
    "unchanged": (BEFORE, BEFORE),
    "changed": (BEFORE, AFTER),
    "converted": (BEFORE, AFTER.replace(b"\n", b"\r\n")),
    "rewritten": (BEFORE, numbered(word=b"other")),
    "binary": (BEFORE, b"\0" + BEFORE),
    "not UTF-8": (b"\xff" + BEFORE, b"\xfe" + BEFORE),
    "Latin": ("Größe, Straße\n".encode("cp1252") * BIG_LINES, "Größe\n".encode("cp1252") * 99),
    "UTF-16": (BEFORE, ("\ufeff" + AFTER.decode()).encode("utf-16-le")),
    "other alphabets": (BEFORE, "é\u2028\n".encode() * 50_000),
    "one line": (b"x" * 600_000, b"x" * 300_000 + b"y" * 300_000 + b"\n"),
}


async def test_every_kind_of_big_file_comes_back_whole() -> None:
    async with comparing() as comparer:
        for kind, (before, after) in BIG_FILES.items():
            asked = (change_of("1.1", "big.txt", before, after), before, after)
            here = diff_change(*asked)
            diff = await comparer.diff(*asked)
            assert diff == as_read(here, before, after), kind
            assert diff.landmarks == landmarks_of(here), kind
        assert comparer.pid not in (None, os.getpid())


@given(
    before=st.none() | content,
    after=st.none() | content,
    kind=st.sampled_from(["file", "symlink"]),
)
def test_a_diff_comes_out_of_its_outline_as_it_went_in(
    before: bytes | None, after: bytes | None, kind: FileKind
) -> None:
    diff = make_diff(before, after, kind=kind)
    again = assemble(outline_of(diff, before or b"", after or b""), before or b"", after or b"", lambda: None)
    assert again == as_read(diff, before, after)
    assert again.landmarks == landmarks_of(diff)


async def test_a_million_lines_come_back_without_a_million_strings() -> None:
    before = b"x\n" * 1_000_000
    after = before.replace(b"x", b"y")
    async with comparing() as comparer:
        await comparer.diff(*BIG)
        blocks = sys.getallocatedblocks()
        diff = await comparer.diff(change_of("1.1", "big.txt", before, after), before, after)
        assert sys.getallocatedblocks() - blocks < 50_000
        assert (len(diff.old_lines), diff.old_lines[-1], diff.new_lines[999_999]) == (1_000_000, "x\n", "y\n")


# --- when it goes wrong ---------------------------------------------------------------------------------------------


async def test_a_process_that_was_killed_is_replaced() -> None:
    async with comparing() as comparer:
        killed = await started(comparer)
        killed.kill()
        assert (await comparer.diff(*BIG)).edits == diff_change(*BIG).edits
        assert comparer.pid not in (None, killed.pid)
        assert not psutil.pid_exists(killed.pid)


async def test_a_process_that_is_killed_at_work_is_asked_again() -> None:
    async with comparing() as comparer:
        process = await started(comparer)
        process.suspend()
        asked = asyncio.create_task(comparer.diff(*BIG))
        await asyncio.sleep(0)
        process.kill()
        assert (await asked).edits == diff_change(*BIG).edits


async def test_what_takes_too_long_is_one_edit_and_says_so() -> None:
    after = AFTER.replace(b"line 99\n", b"also\n")
    async with comparing(time_limit_s=3.0) as comparer:
        (await started(comparer)).suspend()
        diff = await comparer.diff(change_of("1.1", "big.txt", BEFORE, after), BEFORE, after)
        assert [(edit.old_start, edit.old_end) for edit in diff.edits] == [(77, 100)]
        assert diff.notes == (TOO_DIFFERENT_NOTE,)


async def test_a_process_that_is_slow_to_start_costs_time_and_not_the_comparison() -> None:
    async with comparing(time_limit_s=0.0) as comparer:
        assert (await comparer.diff(*BIG)).notes == (TOO_DIFFERENT_NOTE,)


async def test_without_another_process_the_comparison_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    async with comparing() as comparer:
        assert await comparer.diff(*BIG) == diff_change(*BIG)
        assert comparer.pid is None


async def test_a_cancelled_comparison_leaves_at_once_and_the_next_is_made() -> None:
    async with comparing() as comparer:
        stuck = await started(comparer)
        stuck.suspend()
        asked = [asyncio.create_task(comparer.diff(*BIG)) for _ in range(2)]
        await asyncio.sleep(0)
        for task in asked:
            task.cancel()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        assert (await comparer.diff(*BIG)).edits == diff_change(*BIG).edits


async def test_closing_ends_the_process_also_while_it_works() -> None:
    comparer = Comparer()
    process = await started(comparer)
    process.suspend()
    asked = asyncio.create_task(comparer.diff(*BIG))
    await asyncio.sleep(0)
    asked.cancel()
    await comparer.aclose()
    assert not psutil.pid_exists(process.pid)
    with pytest.raises(asyncio.CancelledError):
        await asked


def test_the_process_ends_when_whoever_asks_is_gone() -> None:
    command = [sys.executable, "-P", "-m", "desktop_agent.core.diff.comparison_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=60) == 0


async def test_what_is_printed_while_python_starts_is_not_taken_for_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('activating environment')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    async with comparing() as comparer:
        assert (await comparer.diff(*BIG)).edits == diff_change(*BIG).edits
        assert comparer.pid is not None


@pytest.mark.parametrize("answer", [EOFError(), MemoryError(), pickle.UnpicklingError(), "something else"])
def test_an_answer_that_is_none_counts_as_a_death(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    def read(_: object) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    process = ComparisonProcess()
    monkeypatch.setattr(worker_process, "read_message", read)
    with pytest.raises(WorkerDiedError):
        process.ask(Comparison(None, b"a\n", b"b\n"))
    process.end()


def test_what_goes_wrong_in_the_process_is_told_by_its_traceback() -> None:
    process = ComparisonProcess()
    answer = process.ask(Comparison(replace(BIG[0], before=cast("FileImage", "no image")), b"a\n", b"b\n"))
    process.end()
    assert isinstance(answer, ComparisonFailure)
    assert "AttributeError" in answer.text
