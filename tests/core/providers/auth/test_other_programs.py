"""Sign-ins of other programs are noticed and explained, and nothing in them is read."""

from pathlib import Path

import pytest

from desktop_agent.core.providers.auth.sign_ins import other_sign_ins


def files(home: Path) -> tuple[Path, Path]:
    return home / ".codex" / "auth.json", home / ".claude" / ".credentials.json"


def test_without_them_there_is_nothing_to_say() -> None:
    assert other_sign_ins() == ()


def test_each_is_explained_with_what_to_do_instead(isolated_home: Path) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")
    codex, claude = other_sign_ins()
    assert codex.program == "Codex"
    assert "once" in codex.reason
    assert claude.program == "Claude Code"
    assert "does not permit" in claude.reason
    assert "API key" in claude.instead


def test_they_are_where_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("{}")
    (found,) = other_sign_ins({"CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "gone")})
    assert found.program == "Codex"


def test_nothing_in_them_is_read(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was opened")

    with monkeypatch.context() as nothing_opens:
        for name in ("builtins.open", "io.open", "os.open"):
            nothing_opens.setattr(name, refuse)
        assert len(other_sign_ins()) == 2
