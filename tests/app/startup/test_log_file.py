"""The log is written to a place that the user can find, and never keeps the window from opening."""

import logging
from pathlib import Path

from desktop_agent.app.startup.serving import WindowLog


def test_what_the_application_notices_is_written_down(tmp_path: Path) -> None:
    log = WindowLog(tmp_path / "logs")
    logging.getLogger("desktop_agent.test").info("noticed")
    log.close()
    logging.getLogger("desktop_agent.test").info("afterwards")
    text = (tmp_path / "logs" / "desktop-agent.log").read_text()
    assert "INFO desktop_agent.test: noticed" in text
    assert "afterwards" not in text


def test_libraries_that_see_keys_may_only_warn(tmp_path: Path) -> None:
    log = WindowLog(tmp_path)
    logging.getLogger("httpx2").debug("x-api-key: secret")
    logging.getLogger("anthropic._base_client").debug("x-api-key: secret")
    log.close()
    assert (tmp_path / "desktop-agent.log").read_text() == ""


def test_a_key_that_an_error_quotes_is_masked(tmp_path: Path, expected_logs: list[str]) -> None:
    expected_logs += ["git said", "it failed"]
    log = WindowLog(tmp_path)
    logger = logging.getLogger("desktop_agent.test")
    key = "ghp_" + "0123456789abcdefghij"
    logger.warning("git said: %s", f"https://me:{key}@example.com/ is gone")
    logger.warning("it failed", exc_info=OSError(f"bad header x-api-key: {key}"))
    log.close()
    text = (tmp_path / "desktop-agent.log").read_text()
    assert key not in text
    assert "https://me:***@example.com/ is gone" in text
    assert "x-api-key: ***" in text


def test_a_folder_that_cannot_be_made_costs_the_log_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    WindowLog(tmp_path / "logs").close()


def test_closing_leaves_logging_as_it_was(tmp_path: Path) -> None:
    loggers = [logging.getLogger(name) for name in ("", "desktop_agent", "anthropic", "httpx2")]
    before = [(logger.level, list(logger.handlers)) for logger in loggers]
    WindowLog(tmp_path).close()
    assert [(logger.level, list(logger.handlers)) for logger in loggers] == before
