"""Faults around `desktop-agent run`: one clear message, nothing lost."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.file_names import real_path_named
from tests.command_line import PROGRAM, CommandLine, Ran
from tests.servers import fault
from tests.servers.script import Block, Reply, reply, text, tool_use
from tests.servers.threaded import ThreadedServer, serve

BEFORE = b"def f():\r\n    return 1\r\n"
PATIENCE_S = 60
EDIT = (text("I'll change it."), tool_use("edit_file", path="a.py", old_str="return 1", new_str="return 2"))


@dataclass
class Program:
    home: Path
    here: CommandLine
    prefix: tuple[str, ...] = ()

    @property
    def sessions(self) -> Path:
        return self.home / "desktop-agent" / "data" / "sessions"

    def __call__(self, *arguments: str | Path) -> Ran:
        """Run in this process; in one of its own behind `prefix`."""
        return self.apart(*arguments) if self.prefix else self.here(*arguments)

    def apart(self, *arguments: str | Path, stdout: int = subprocess.PIPE) -> Ran:
        command = [*self.prefix, *PROGRAM, *arguments]
        with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return Ran(process.returncode, (out or b"").decode(), err.decode())

    def prompt(self, workspace: Path, url: str, *more: str, text: str = "my precious words") -> Ran:
        return self(*self.words(workspace, url, *more, text=text))

    def begun(self, workspace: Path, url: str, *more: str, text: str = "my precious words") -> dict[str, Any]:
        """Run a prompt without a fault, and return the result."""
        return self.here.done(*self.words(workspace, url, *more, text=text)).json

    def words(self, workspace: Path, url: str, *more: str, text: str = "my precious words") -> list[str | Path]:
        options = ("--base-url", url, "--approval", "never", "--json", *more)
        return ["run", "--prompt", text, "--workspace", workspace, *options]

    def prompts(self) -> list[str]:
        [folder] = self.sessions.iterdir()
        lines = [json.loads(line) for line in (folder / "journal.jsonl").read_bytes().splitlines()]
        return [line["text"] for line in lines if line["type"] == "prompt_submitted"]


@pytest.fixture
def program(isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    return Program(isolated_home, CommandLine(capsys))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.py").write_bytes(BEFORE)
    return folder


@pytest.fixture
def as_anybody(program: Program) -> Program:
    """The program without root's right to read and write everything."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may do everything here")
        program.prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    return program


@contextmanager
def small_disk(folder: Path) -> Generator[Callable[[], None]]:
    """Mount a disk of 256 kB on `folder`; the yielded function fills it completely."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:  # noqa: TID251 - setup
        pytest.skip("no disk can be mounted here")

    def fill() -> None:
        with (folder / "ballast").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    try:
        yield fill
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: TID251 - setup


def paused(*blocks: Block) -> Reply:
    return reply(*blocks, fault.stall_after(events=1))


def meanwhile(server: ThreadedServer, act: Callable[[], object]) -> threading.Thread:
    """Return a thread that acts once the first reply has stalled, and then continues it."""

    def run() -> None:
        pause = threading.Event()
        while not (server.messages and server.messages[0].has_stalled.is_set()):
            pause.wait(0.01)
        try:
            act()
        finally:
            server.release()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def one_message(ran: Ran) -> str:
    assert "Traceback" not in ran.err
    assert ran.err.count("error: ") == 1, ran.err
    return ran.err


# -- the workspace --


@pytest.mark.parametrize("kind", ["missing", "file", "unreadable"])
def test_a_workspace_that_cannot_be_used_is_named_with_what_to_do(
    request: pytest.FixtureRequest, program: Program, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "there"
    if kind == "file":
        folder.write_bytes(BEFORE)
    elif kind == "unreadable":
        request.getfixturevalue("as_anybody")
        folder.mkdir(mode=0)
    ran = program.prompt(folder, "http://127.0.0.1:9")
    assert ran.code == 2
    said = one_message(ran)
    assert str(folder) in said
    assert "hoose" in said
    assert ran.json["error"]["title"] in said
    assert not program.sessions.exists()


def test_a_current_folder_that_is_gone_is_told(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    program.prefix = ("sh", "-c", f'cd "{folder}" && rmdir "{folder}" && exec "$@"', "sh")
    ran = program("run", "--prompt", "my precious words", "--json")
    assert ran.code == 2
    assert ran.json["error"]["title"] in one_message(ran)


@pytest.mark.parametrize("becomes", ["nothing", "file"])
def test_a_workspace_that_goes_while_the_agent_works_ends_the_run_and_is_not_made_anew(
    program: Program, workspace: Path, becomes: str
) -> None:
    def remove() -> None:
        shutil.rmtree(workspace)
        if becomes == "file":
            workspace.write_text("mine")

    calls = (tool_use("grep", pattern="x"), tool_use("create_file", path="b.py", content="b"))
    with serve(paused(*calls), reply(text("never"))) as server:
        thread = meanwhile(server, remove)
        ran = program.prompt(workspace, server.url)
        thread.join()
        assert len(server.messages) == 1
    assert (ran.code, ran.json["stopped_reason"]) == (1, "workspace_error")
    assert str(workspace) in one_message(ran)
    assert workspace.read_text() == "mine" if becomes == "file" else not workspace.exists()
    # While the folder is missing or replaced, the run refuses; it goes on once the user accepts the replacement.
    session = ran.json["session_id"]
    with serve(reply(text("Again."))) as server:
        still = program.prompt(workspace, server.url, "--resume", session, text="and now?")
        assert (still.code, still.json["stopped_reason"]) == (1, "workspace_error")
        if becomes == "file":
            workspace.unlink()
        workspace.mkdir()
        other = program.prompt(workspace, server.url, "--resume", session, text="and now?")
        assert (other.code, other.json["stopped_reason"]) == (1, "workspace_error")
        went_on = program.begun(workspace, server.url, "--resume", session, "--accept-folder", text="go on")
        assert server.violations == []
    assert went_on["final_response"] == "Again."
    assert program.prompts() == ["my precious words", "and now?", "and now?", "go on"]


@pytest.mark.parametrize("name", [b"-new\nline \xff\xfe '\"$(id)`;", b"n" * 255])
def test_a_workspace_may_have_any_name(
    program: Program, tmp_path: Path, name: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    (folder / "a.py").write_bytes(BEFORE)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    with serve(reply(*EDIT), reply(text("Done."))) as server:
        ran = program.apart(*program.words(folder, server.url))
        assert server.violations == []
    assert (ran.code, ran.json["edited_files"]) == (0, ["a.py"])
    [listed] = program("sessions", "list", "--json").json["sessions"]
    assert real_path_named(listed["workspace"]) == folder
    program.here.done("sessions", "list")
    program.here.done("sessions", "show", ran.json["session_id"])
    program.here.done("changes", "undo", ran.json["session_id"])
    assert (folder / "a.py").read_bytes() == BEFORE


def test_a_full_workspace_disk_fails_the_edit_and_leaves_the_file_whole(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    with small_disk(folder) as fill:
        (folder / "a.py").write_bytes(BEFORE)
        fill()
        longer = tool_use("edit_file", path="a.py", old_str="return 1", new_str="return " + "2" * 9000)
        with serve(reply(longer), reply(text("There is no room."))) as server:
            ran = program.prompt(folder, server.url)
        assert (folder / "a.py").read_bytes() == BEFORE
        assert sorted(path.name for path in folder.iterdir()) == ["a.py", "ballast"]
    assert ran.code == 0
    [tool] = ran.json["tools"]
    assert "No space left on device" in tool["result"]


# -- the journal and the data folder --


def test_a_disk_that_is_full_from_the_start_is_told_once(program: Program, workspace: Path) -> None:
    with small_disk(program.home / "desktop-agent") as fill:
        fill()
        ran = program.prompt(workspace, "http://127.0.0.1:9")
        assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
        said = one_message(ran)
        assert said.count("could not be written") == 1
        assert "Free some disk space" in said
        assert "No space left on device" in said
        # A session that was never written is not listed, and a new one starts once there is room.
        (program.home / "desktop-agent" / "ballast").unlink()
        assert program("sessions", "list", "--json").json == {"sessions": []}
        with serve(reply(text("Fine."))) as server:
            program.begun(workspace, server.url)


def test_a_disk_that_fills_up_stops_the_agent_before_it_writes_and_the_session_goes_on_later(
    program: Program, workspace: Path
) -> None:
    with small_disk(program.home / "desktop-agent") as fill:
        with serve(paused(*EDIT), reply(text("never"))) as server:
            thread = meanwhile(server, fill)
            ran = program.prompt(workspace, server.url)
            thread.join()
            assert len(server.messages) == 1
        assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
        assert "Free some disk space" in one_message(ran)
        assert (workspace / "a.py").read_bytes() == BEFORE
        (program.home / "desktop-agent" / "ballast").unlink()
        with serve(reply(*EDIT), reply(text("Now it is done."))) as server:
            went_on = program.begun(workspace, server.url, "--resume", ran.json["session_id"], text="go on")
            assert server.violations == []
        assert went_on["edited_files"] == ["a.py"]
        assert program.prompts() == ["my precious words", "go on"]


def test_a_journal_that_is_deleted_while_it_is_written_stops_the_agent(
    program: Program, workspace: Path, expected_logs: list[str]
) -> None:
    expected_logs.append("No snapshot of a session could be written")
    with serve(paused(*EDIT), reply(text("never"))) as server:
        thread = meanwhile(server, lambda: shutil.rmtree(program.sessions))
        ran = program.prompt(workspace, server.url)
        thread.join()
    assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
    assert "deleted" in one_message(ran)
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_journal_that_may_not_be_written_is_named_and_kept(as_anybody: Program, workspace: Path) -> None:
    with serve(reply(text("Hello."))) as server:
        session = as_anybody.begun(workspace, server.url)["session_id"]
    journal = as_anybody.sessions / session / "journal.jsonl"
    content = journal.read_bytes()
    journal.chmod(0o400)
    ran = as_anybody.prompt(workspace, "http://127.0.0.1:9", "--resume", session)
    assert ran.code == 1
    said = one_message(ran)
    assert "permissions" in said
    assert str(journal) in said
    assert ran.json["error"]["detail"]
    assert journal.read_bytes() == content
    # The session can still be read, and goes on once it is writable again.
    assert as_anybody.here("sessions", "show", session).code == 0
    journal.chmod(0o600)
    with serve(reply(text("Again."))) as server:
        as_anybody.begun(workspace, server.url, "--resume", session)


def test_a_journal_that_became_a_folder_is_no_session_and_others_are_listed(program: Program, workspace: Path) -> None:
    with serve(reply(text("One.")), reply(text("Two."))) as server:
        broken, other = (program.begun(workspace, server.url)["session_id"] for _ in range(2))
    journal = program.sessions / broken / "journal.jsonl"
    journal.unlink()
    journal.mkdir()
    ran = program.prompt(workspace, "http://127.0.0.1:9", "--resume", broken)
    assert ran.code == 2
    assert broken in one_message(ran)
    assert [item["id"] for item in program("sessions", "list", "--json").json["sessions"]] == [other]


def test_a_data_folder_that_is_a_file_is_named(program: Program, workspace: Path) -> None:
    (program.home / "desktop-agent").mkdir()
    (program.home / "desktop-agent" / "data").write_text("mine")
    ran = program.prompt(workspace, "http://127.0.0.1:9")
    assert ran.code == 1
    assert str(program.home / "desktop-agent" / "data") in one_message(ran)
    assert ran.json["error"]["title"]


def test_a_damaged_line_in_the_middle_is_told_and_the_rest_goes_on(program: Program, workspace: Path) -> None:
    with serve(reply(*EDIT), reply(text("Done."))) as server:
        session = program.begun(workspace, server.url)["session_id"]
    journal = program.sessions / session / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["type"] for line in lines]
    for kind in ("tool_call_started", "usage_reported"):
        lines[kinds.index(kind)] = b'{"v":1,"seq":\xff garbage\n'
    journal.write_bytes(b"".join(lines))
    with serve(reply(text("Still here."))) as server:
        ran = program.prompt(workspace, server.url, "--resume", session)
        assert server.violations == []
    assert (ran.code, ran.json["final_response"]) == (0, "Still here.")
    assert "2 records" in program("sessions", "show", session).out
    program.here.done("changes", "undo", session)
    assert (workspace / "a.py").read_bytes() == BEFORE


# -- the model --


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (fault.unauthorized(), ("key", "Settings")),
        (fault.not_found("claude-nope"), ("model",)),
        (fault.status(400, "invalid_request_error", "max_tokens: 0 is too small"), ("max_tokens: 0 is too small",)),
    ],
)
def test_a_refusal_is_told_with_the_way_out_and_the_session_goes_on(
    program: Program, workspace: Path, answer: Any, says: tuple[str, ...]
) -> None:
    with serve(answer, reply(text("Better."))) as server:
        ran = program.prompt(workspace, server.url)
        assert len(server.messages) == 1, "it is not tried again"
        assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
        said = one_message(ran)
        assert ran.json["problems"][0] in said
        assert all(word in said for word in says)
        assert "sk-ant-test" not in ran.err + ran.out
        assert program.prompts() == ["my precious words"]
        program.begun(workspace, server.url, "--resume", ran.json["session_id"], text="again")
        assert server.violations == []


# -- the output --


@pytest.mark.parametrize("how", [(), ("--stream",)])
def test_a_full_disk_behind_standard_output_is_told_and_the_session_is_whole(
    program: Program, workspace: Path, how: tuple[str, ...]
) -> None:
    with serve(reply(text("Hello."))) as server, Path("/dev/full").open("wb") as full:
        options = [word for word in program.words(workspace, server.url, *how) if word != "--json" or not how]
        ran = program.apart(*options, stdout=full.fileno())
    assert ran.code == 1
    assert "Standard output could not be written" in one_message(ran)
    assert program.prompts() == ["my precious words"]


def test_a_log_that_cannot_be_written_stops_the_run_and_is_named(program: Program, workspace: Path) -> None:
    with serve(reply(tool_use("read_file", path="a.py")), reply(text("never"))) as server:
        ran = program.prompt(workspace, server.url, "--audit-log", "/dev/full")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
    assert "/dev/full" in one_message(ran)
