"""What a killed process leaves is recognised by its name."""

from pathlib import Path

from desktop_agent.core.system.staged_file import is_left_over


def test_left_overs_of_a_killed_process_are_recognised(tmp_path: Path) -> None:
    assert is_left_over(tmp_path / ".pages.py.desktop-agent-0a1b2c.tmp")
    assert not is_left_over(tmp_path / "pages.py")
    assert not is_left_over(tmp_path / ".env")
