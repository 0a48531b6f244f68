"""The REST guide names all requests, and its example runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from public_names import rest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide" / "rest.md").read_text(encoding="utf-8")
SHORT = {"…": "/v1/sessions/{session_id}", "CALL": "{call_id}", "JOB": "{job_id}", "NAME": "{tool}"}


def test_the_table_has_everything_that_can_be_asked_and_nothing_else() -> None:
    table = GUIDE.partition("| request | |\n")[2].partition("\n\n")[0]
    named: set[str] = set(re.findall(r"`((?:GET|POST|DELETE) [^`]+)`", table))
    for short, whole in SHORT.items():
        named = {name.replace(short, whole) for name in named}
    there = {line.partition("?")[0] for line in rest() if re.match(r"(GET|POST|DELETE) ", line)}
    assert named == there


@pytest.mark.nightly  # the demo takes its time, for people to follow
def test_the_example_runs(tmp_path: Path) -> None:
    for program in ("bash", "curl", "jq"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    project = tmp_path / "pagination"
    shutil.copytree(ROOT / "resources" / "demo" / "pagination", project)
    example = GUIDE.partition("## A session in five requests\n\n```sh\n")[2].partition("```")[0]
    command = [sys.executable, "-m", "desktop_agent", "serve", "--json", "--workspace", str(project)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        place = json.loads(server.stdout.readline())
        shell = {**os.environ, "URL": place["url"], "TOKEN": place["token"]}
        done = threading.Event()
        user = threading.Thread(target=say_yes, args=(place, done))
        user.start()
        try:
            output = subprocess.check_output(["bash", "-ec", example], env=shell, text=True)
        finally:
            done.set()
            user.join()
            server.terminate()
        assert '"type":"turn_ended"' in output
        assert "\n+++ b/" in output
        assert '"state":"restored"' in output


def say_yes(place: dict[str, str], done: threading.Event) -> None:
    headers = {"authorization": f"Bearer {place['token']}"}
    with httpx2.Client(base_url=place["url"], headers=headers, trust_env=False) as client:
        while not done.wait(0.1):
            for one in client.get("/v1/approvals").json()["approvals"]:
                path = f"/v1/sessions/{one['session_id']}/approvals/{one['request']['call_id']}"
                client.post(path, json={"outcome": "allowed"})
