"""`desktop-agent serve` as a process: one line for programs, and a clean end."""

import json
import os
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.command_line import PROGRAM, CommandLine

SERVE = [*PROGRAM, "serve"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_it_prints_one_line_serves_and_ends_in_order_with_a_signal(tmp_path: Path, stop: signal.Signals) -> None:
    command = [*SERVE, "--json", "--workspace", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        place = json.loads(process.stdout.readline())
        assert list(place) == ["url", "token", "openapi"]
        headers = {"authorization": f"Bearer {place['token']}"}
        with httpx2.Client(headers=headers, trust_env=False) as client:
            assert client.get(place["openapi"]).json()["openapi"].startswith("3.")
            answer = client.post(f"{place['url']}/v1/sessions", json={"provider": "demo"})
            assert answer.status_code == 201
            with client.stream("GET", place["url"] + answer.headers["location"] + "/events") as events:
                assert events.status_code == 200
                process.send_signal(stop)
                assert events.read().count(b"id: 1\n") == 1  # to the end of the stream
        assert process.stdout.read() == b""
        errors = process.stderr.read()
        assert process.wait() == 0
        assert errors == b""
        assert place["token"].encode() not in errors


def test_a_port_that_is_none_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for port in ("-1", "65536", "http", "²"):
        assert CommandLine(capsys)("serve", "--port", port).code == 2
