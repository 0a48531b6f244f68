"""The log is written where the person can find it, and never keeps the window from opening."""

import logging
from pathlib import Path

import pytest

from desktop_agent.app.log_file import close_log, open_log


@pytest.fixture(autouse=True)
def levels(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("desktop_agent", "anthropic", "httpx2", "httpcore2", "asyncio"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.NOTSET)


def test_what_the_application_notices_is_written_down(tmp_path: Path) -> None:
    handler = open_log(tmp_path / "logs")
    logging.getLogger("desktop_agent.test").info("noticed")
    close_log(handler)
    logging.getLogger("desktop_agent.test").info("afterwards")
    text = (tmp_path / "logs" / "desktop-agent.log").read_text()
    assert "INFO desktop_agent.test: noticed" in text
    assert "afterwards" not in text


def test_libraries_that_see_keys_may_only_warn(tmp_path: Path) -> None:
    handler = open_log(tmp_path)
    logging.getLogger("httpx2").debug("x-api-key: secret")
    logging.getLogger("anthropic._base_client").debug("x-api-key: secret")
    close_log(handler)
    assert (tmp_path / "desktop-agent.log").read_text() == ""


def test_a_folder_that_cannot_be_made_costs_the_log_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    close_log(open_log(tmp_path / "logs"))
