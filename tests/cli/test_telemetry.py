"""Runs without a window export the telemetry that the settings ask for."""

from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.servers.otlp_receiver import otlp_receiver


def test_runs_send_their_telemetry_and_can_be_told_apart(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = isolated_home / "desktop-agent" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    run = CommandLine(capsys)
    with otlp_receiver() as receiver:
        config.write_text(f'[telemetry]\notlp_address = "{receiver.url}"\n', encoding="utf-8")
        ran = [run("run", "--provider", "demo", "--prompt", "/help", "--prompt", "hello", "--json") for _ in range(2)]
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes["gen_ai.conversation.id"] for span in turns] == [each.json["session_id"] for each in ran]
    assert len({str(resource["service.instance.id"]) for resource in receiver.resources}) == 2
