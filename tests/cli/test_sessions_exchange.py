import json
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.store.session_folder import SessionLock
from tests.command_line import main
from tests.core.export.conftest import Written
from tests.core.importing.conftest import SAMPLES


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    written = Written(tmp_path / "home" / "data")
    written.turn(1, "hello", TextBlock(text="hi there"))
    return written


def test_an_export_goes_to_standard_output(session: Written, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["sessions", "export", session.id]) == 0
    assert b"hi there" in capsysbinary.readouterr().out


@pytest.mark.parametrize("form", ["md", "html", "jsonl", "patch"])
def test_an_export_goes_into_a_file_but_not_over_another(session: Written, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    arguments = ["sessions", "export", session.id, "--format", form, "--output", str(target)]
    assert main(arguments) == 0
    assert target.exists()
    assert main(arguments) == 2
    assert main([*arguments, "--force"]) == 0


def test_an_imported_conversation_is_listed(
    session: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(SAMPLES / "codex.jsonl")
    assert main(["sessions", "import", file]) == 2, "its folder is not here"
    capsys.readouterr()
    assert main(["sessions", "import", file, "--workspace", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["source"], told["turns"], told["title"]) == ("codex", 2, "Repair the build")
    assert {summary.id for summary in Workbench.from_environment().catalog.summaries()} == {session.id, told["id"]}
    assert main(["sessions", "import", file, "--workspace", str(tmp_path)]) == 2
    assert "imported already" in capsys.readouterr().err
    assert main(["sessions", "import", file, "--workspace", str(tmp_path), "--again"]) == 0


def test_a_session_is_renamed_pinned_and_put_away(session: Written) -> None:
    for arguments in (["rename", session.id, "My  title"], ["pin", session.id], ["archive", session.id]):
        assert main(["sessions", *arguments]) == 0
    (summary,) = Workbench.from_environment().catalog.summaries()
    assert (summary.title, summary.is_pinned, summary.is_archived) == ("My title", True, True)
    assert main(["sessions", "pin", session.id, "--undo"]) == main(["sessions", "archive", session.id, "--undo"]) == 0
    (summary,) = Workbench.from_environment().catalog.summaries()
    assert not summary.is_pinned
    assert not summary.is_archived


def test_a_session_is_deleted_only_with_a_yes(session: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "delete", session.id]) == 2
    assert "--yes" in capsys.readouterr().err
    lock = SessionLock(session.path.parent)
    assert main(["sessions", "delete", session.id, "--yes"]) == 2, "it is open"
    lock.release()
    assert main(["sessions", "delete", session.id, "--yes"]) == 0
    assert not session.path.parent.exists()


def test_a_session_says_how_it_goes_on_in_the_program_that_has_it(
    session: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = tmp_path / "codex.jsonl", tmp_path / "my project"
    folder.mkdir()
    file.write_text((SAMPLES / "codex.jsonl").read_text(encoding="utf-8").replace("WORKSPACE", str(folder)))
    assert main(["sessions", "import", str(file), "--json"]) == 0
    imported = json.loads(capsys.readouterr().out)["id"]
    summary = Workbench.from_environment().catalog.summary(imported)
    assert summary is not None
    (there,) = summary.agent_sessions
    command = f"cd '{folder}' && codex resume {there.id}"
    assert main(["sessions", "show", imported]) == 0
    assert f"goes on in Codex: {command}\n" in capsys.readouterr().out
    for session_id, told in ((imported, command), (session.id, None)):
        assert main(["sessions", "show", session_id, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["continued_by"] == told
