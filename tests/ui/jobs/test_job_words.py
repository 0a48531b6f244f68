from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import Job, JobState
from desktop_agent.ui import jobs_panel

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def job(state: JobState = "running", *, exit_code: int | None = None, memory_bytes: int = 0) -> Job:
    return Job(
        id="j",
        command="make",
        cwd=Path("/srv"),
        pid=1,
        log=Path("/srv/log"),
        started_at=NOW - timedelta(minutes=3),
        state=state,
        exit_code=exit_code,
        ended_at=None if state == "running" else NOW - timedelta(minutes=1),
        memory_bytes=memory_bytes,
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")],
)
def test_an_age_has_few_letters(seconds: float, text: str) -> None:
    assert jobs_panel.age(seconds) == text


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        (job("exited", exit_code=0), "exit code 0 · ran 2 min"),
        (job("exited", exit_code=2), "exit code 2 · ran 2 min"),
        (job("exited"), "ended · ran 2 min"),
        (job("stopped", exit_code=143), "stopped · ran 2 min"),
        (job("timed_out", exit_code=124), "stopped at its time limit · ran 2 min"),
    ],
)
def test_an_ended_job_says_how_and_how_long_it_ran(ended: Job, text: str) -> None:
    assert jobs_panel.figures(ended, NOW) == text


def test_a_running_job_says_its_age_and_its_memory_where_that_is_known() -> None:
    assert jobs_panel.figures(job(), NOW) == "3 min"
    assert jobs_panel.figures(job(memory_bytes=84_000_000), NOW) == "3 min · 84 MB"


@pytest.mark.parametrize(("running", "text"), [(0, "Jobs"), (1, "1 job"), (2, "2 jobs")])
def test_the_button_counts_what_runs(running: int, text: str) -> None:
    assert jobs_panel.count(running) == text
