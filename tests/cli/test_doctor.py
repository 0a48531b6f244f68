import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli.doctor import Check, agent_checks
from desktop_agent.core.base.paths import AppPaths, spare_cache
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.command_line import PROGRAM, CommandLine, Ran
from tests.core.agents.test_definition import program
from tests.sandboxes import sandbox_named
from tests.servers.dialects.local import OLLAMA
from tests.servers.ports import closed_port
from tests.servers.threaded import serve


def started_doctor(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv = [*PROGRAM, "doctor", *options]
    with subprocess.Popen(
        argv, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


Doctor = Callable[..., Ran]


@pytest.fixture
def doctor(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Run the command in this process, with more variables. Its process is started where that makes a difference."""

    def doctor(*options: str, **environ: str) -> Ran:
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            return run("doctor", *options)

    return doctor


def checks(told: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(told)["checks"]}


def test_it_says_of_everything_whether_it_works_and_leaves_nothing_behind(isolated_home: Path) -> None:
    run = started_doctor(
        "--json", ANTHROPIC_BASE_URL="http://127.0.0.1:9", SHOP_DATABASE="postgres://me:hunter22@host/db"
    )
    found = checks(run.stdout)
    assert run.returncode == 0, run.stdout
    assert found["requests go to"]["message"] == "http://127.0.0.1:9 (from ANTHROPIC_BASE_URL)"
    assert "SHOP_DATABASE (an address with a password)" in found["environment"]["message"]
    assert "hunter22" not in run.stdout
    assert [str(path) for path in isolated_home.rglob("*") if path.is_file()] == []
    for name in ("python", "qt", "ripgrep", "folder settings", "folder sessions", "folder cache", "folder logs"):
        assert found[name]["state"] == "ok", found[name]
    assert "offscreen" in found["qt"]["message"]
    assert {frozenset(check) for check in found.values()} == {frozenset({"name", "state", "message", "hint"})}
    search = find_sandbox(os.environ)
    assert found["sandbox"]["state"] == ("ok" if search.sandbox else "warning")
    assert re.search("in cgroups|No cgroup", found["limits"]["message"])


def test_a_cache_that_is_of_no_use_is_a_warning_that_names_the_spare_one(
    tmp_path: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)  # it is looked for once
    home = tmp_path / "home"
    home.mkdir()
    (home / "cache").write_text("A file stands where the cache should be.")
    found = checks(doctor("--json", DESKTOP_AGENT_HOME=str(home), TMPDIR=str(tmp_path)).out)["folder cache"]
    (spare,) = tmp_path.glob("desktop-agent-*")
    assert (found["state"], str(home / "cache") in found["message"]) == ("warning", True)
    assert str(spare) in found["message"]
    assert spare.stat().st_mode & 0o077 == 0


def test_a_damaged_cache_is_a_warning_that_names_the_file(tmp_path: Path, doctor: Doctor) -> None:
    database = tmp_path / "home" / "cache" / "baselines" / "one.sqlite3"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database " * 500)
    found = checks(doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path / "home")).out)["folder cache"]
    assert (found["state"], str(database) in found["message"]) == ("warning", True)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows keeps temporary files apart by itself")
def test_a_spare_cache_that_another_could_read_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spare = spare_cache(Path("/nowhere/cache"))
    assert spare is not None
    spare.chmod(0o755)
    assert spare_cache(Path("/nowhere/cache")) is None
    spare.rmdir()
    spare.symlink_to(tmp_path)
    assert spare_cache(Path("/nowhere/cache")) is None


def test_a_missing_part_is_a_warning_with_what_to_do(tmp_path: Path, doctor: Doctor) -> None:
    run = doctor("--json", PATH=str(tmp_path))
    found = checks(run.out)
    assert run.code == 0
    assert found["git"]["state"] == "warning"
    assert found["keyring"]["state"] == "warning"
    if sys.platform.startswith("linux"):
        assert found["sandbox bubblewrap"]["state"] == "warning"
        assert "apt install bubblewrap" in found["sandbox bubblewrap"]["hint"]
    text = doctor(PATH="").out
    assert "warning  git" in text
    assert "→ Install git." in text


def test_it_says_what_confines_each_mcp_server_and_which_cannot_be_started(tmp_path: Path, doctor: Doctor) -> None:
    (tmp_path / "config").mkdir()
    python = f"command = {sys.executable!r}"
    (tmp_path / "config" / "config.toml").write_text(
        f'[[mcp.definitions]]\nname = "free"\n{python}\n'
        f'[[mcp.definitions]]\nname = "web"\n{python}\nsandbox = true\nhosts = ["example.org"]\n'
    )
    without = checks(doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path), PATH=str(tmp_path)).out)
    assert without["mcp free"]["state"] == "ok"
    assert "Not confined: it can do all that you can do" in without["mcp free"]["message"]
    assert without["mcp web"]["state"] == "warning"
    assert "so it is not started" in without["mcp web"]["message"]
    sandbox_named("bubblewrap", os.environ)
    found = checks(doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path)).out)
    assert found["mcp web"]["state"] == "ok"
    assert "Confined: it writes none of your files and reaches example.org" in found["mcp web"]["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="the programs of the workspace are shell scripts")
def test_no_program_of_the_workspace_is_run(tmp_path: Path, doctor: Doctor) -> None:
    for name in ("git", "bwrap", "rg"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} >> "{tmp_path}/ran"\n')
        (tmp_path / name).chmod(0o755)
    doctor("--workspace", str(tmp_path), PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert not (tmp_path / "ran").exists()


def test_what_keeps_the_application_from_working_is_a_problem(tmp_path: Path, doctor: Doctor) -> None:
    (tmp_path / "file").write_text("in the way")
    run = doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path / "file"))
    found = checks(run.out)
    assert run.code == 1
    assert found["folder sessions"]["state"] == "problem"
    assert found["folder sessions"]["hint"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_a_windows_platform_that_does_not_start_is_a_problem() -> None:
    run = started_doctor("--json", QT_QPA_PLATFORM="xcb", DISPLAY=":9999")
    assert run.returncode == 1
    assert checks(run.stdout)["qt"]["state"] == "problem"
    assert checks(run.stdout)["qt"]["hint"]


@pytest.mark.usefixtures("patient_looks")
def test_a_local_server_that_runs_is_named_with_its_models(doctor: Doctor) -> None:
    with serve(dialect=OLLAMA, asks_for_key=False) as server:
        found = checks(doctor("--json", OLLAMA_HOST=f"127.0.0.1:{server.port}").out)
    local = found["local model Ollama"]
    assert (local["state"], local["message"]) == ("ok", f"Ollama runs on 127.0.0.1:{server.port}, with one model.")


@pytest.mark.parametrize(("provider", "state"), [("anthropic", "ok"), ("ollama", "warning")])
def test_a_local_server_that_does_not_run_matters_to_who_chose_it(
    tmp_path: Path, provider: str, state: str, doctor: Doctor
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f'[model]\nprovider = "{provider}"\n')
    with closed_port() as port:
        host = f"127.0.0.1:{port}"
        found = checks(doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path), OLLAMA_HOST=host).out)
    assert found["local model Ollama"]["state"] == state
    assert found["local model Ollama"]["message"] == f"Ollama is not running on {host}."
    assert found["local model Ollama"]["hint"] == "Start it with `ollama serve`."


@pytest.mark.parametrize(("address", "state"), [("http://10.1.2.3:8000", "warning"), ("http://127.0.0.1:1", None)])
def test_an_address_that_is_not_encrypted_is_a_warning(
    tmp_path: Path, address: str, state: str | None, doctor: Doctor
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f'[model]\nbase_url = "{address}"\n')
    found = checks(doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path)).out)
    assert found.get("model address", {"state": None})["state"] == state


def test_no_program_that_the_doctor_tries_gets_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    witness = tmp_path / "environment"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nenv > {witness}\necho git version 2.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-git")
    started_doctor()
    assert "PATH=" in witness.read_text()
    assert "not-for-git" not in witness.read_text()


def test_it_says_of_each_agent_what_starts_it_in_which_version_and_what_confines_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "home/.npm-global/lib/node_modules/@google/gemini-cli"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@google/gemini-cli", "version": "0.61.0"}')
    started = program(package / "dist/gemini.js")
    (tmp_path / "home/.npm-global/bin").mkdir()
    (tmp_path / "home/.npm-global/bin/gemini").symlink_to(started)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = AppPaths.from_environment().settings_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '[[agents]]\nname = "claude"\ncommand = "claude-agent-acp"\n'
        f'[[agents]]\nname = "mine"\ncommand = "{sys.executable}"\nsandbox = "strict"\nhosts = ["example.org"]\n'
    )
    live = LiveSettings.load(path, {})

    found = {check.name: check for check in agent_checks(live, tmp_path / "app", None)}

    assert found["agent gemini"] == Check(
        "agent gemini", "ok", "gemini --acp, version 0.61.0 (Runs outside the sandbox, as in your terminal)"
    )
    assert (found["agent claude"].message, found["agent claude"].state) == (
        "There is no program 'claude-agent-acp'.",
        "warning",
    )
    assert "npm install -g @agentclientprotocol/claude-agent-acp" in found["agent claude"].hint
    assert "so it is not started" in found["agent mine"].message
