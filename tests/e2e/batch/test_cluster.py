"""`desktop-agent batch --scheduler`: the same tasks on a Dask cluster with TLS, with the same promises."""

import json
import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.certificates import Authority
from tests.command_line import OTHER
from tests.e2e.batch.cluster_lab import ClusterLab
from tests.e2e.batch.conftest import BatchHere
from tests.e2e.batch.lab import DEMO, Lab, task

pytestmark = pytest.mark.skipif(OTHER is not None, reason="it may lack the extra `cluster`")


def test_a_cluster_keeps_the_promises_of_a_batch(tmp_path: Path, is_nightly: bool) -> None:
    """One test for all promises: starting the cluster takes as long as the rest."""
    lab = ClusterLab(tmp_path)
    with lab.cluster(workers=2 if is_nightly else 1):
        for how in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)[: 3 if is_nightly else 1]:
            what_runs_ends_with_its_batch(lab, tmp_path, how)
        if is_nightly:
            others_are_not_let_in(lab, tmp_path)
        kills_lose_and_repeat_nothing(lab, *((200, 10) if is_nightly else (3, 1)))
        assert lab.runs() == []
    assert lab.left() == []


def what_runs_ends_with_its_batch(lab: ClusterLab, folder: Path, how: signal.Signals) -> None:
    pipe = folder / f"asked-{how}"
    os.mkfifo(pipe)
    asks = f"sh -c 'echo asked > {pipe}; exec sleep 300'"
    lab.write([task("slow", DEMO, **{"approval": "always", "allowed-tools": "list_files", "approval-command": asks})])
    with lab.start() as process:
        assert "asked" in pipe.read_text(encoding="utf-8")
        running = lab.runs()
        assert len(running) == 1
        process.send_signal(how)
        process.communicate()
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    assert psutil.wait_procs(running, timeout=30)[1] == []
    assert lab.results.read_bytes() == b"" if lab.results.exists() else True


def kills_lose_and_repeat_nothing(lab: ClusterLab, count: int, kills: int) -> None:
    lab.write_demo(count)
    chance = random.Random(11)
    seen: list[str] = []
    for number in range(kills):
        with lab.start("--retries", "9") as process:
            assert process.stderr is not None
            process.stderr.readline()  # a tenth is done, or the batch has ended
            if number % 2 == 0:
                with suppress(psutil.NoSuchProcess):  # its last task is done
                    chance.choice(lab.cluster_workers() + lab.runs()).kill()
                process.stderr.readline()
            process.kill()
        whole = lab.results.read_bytes().rpartition(b"\n")[0].splitlines() if lab.results.exists() else []
        written = [json.loads(line)["id"] for line in whole]
        assert written[: len(seen)] == seen  # written results stay
        seen = written
    code, out, _ = lab.run("--retries", "9", "--json")
    summary = json.loads(out)
    assert (code, summary["done"], summary["skipped"], summary["failed"]) == (0, count, len(seen), 0)
    assert sorted(outcome["id"] for outcome in lab.outcomes) == sorted(f"t{number}" for number in range(count))
    assert all("-(-total // size)" in outcome["patch"] for outcome in lab.outcomes)


def others_are_not_let_in(lab: ClusterLab, folder: Path) -> None:
    (folder / "others").mkdir()
    cert, key = Authority(folder / "others").issue("stranger")
    lab.write_demo(1)
    code, _, err = lab.run("--tls-cert", str(cert), "--tls-key", str(key))
    assert code == 1
    assert f"The scheduler {lab.address} could not be reached" in err


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://10.0.0.7:8786", "tcp://10.0.0.7:8786 is not encrypted"),
        ("tcp://scheduler.example.org", "is not encrypted"),
        ("TCP://[2001:db8::1]:8786", "is not encrypted"),
        ("scheduler:8786", "is no address of a scheduler"),
        ("http://127.0.0.1:8786", "is no address of a scheduler"),
        ("tls://", "is no address of a scheduler"),
        ("tls://host:port", "is malformed"),
    ],
)
def test_a_scheduler_that_others_could_listen_to_is_refused(lab: Lab, batch: BatchHere, address: str, why: str) -> None:
    lab.write_demo(1)
    ran = batch("--scheduler", address)
    assert ran.code == 2
    assert why in ran.err
    assert "tls://host:8786" in ran.err
    assert not lab.results.exists()


def test_without_dask_the_error_says_how_to_install_it(
    lab: Lab, batch: BatchHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write_demo(1)
    monkeypatch.setitem(sys.modules, "distributed", None)  # what Python does when there is no such package
    ran = batch("--scheduler", "tls://127.0.0.1:1")
    assert ran.code == 2
    assert "pip install 'desktop-agent[cluster]'" in ran.err


def test_certificates_without_a_cluster_are_a_mistake(batch: BatchHere) -> None:
    ran = batch("--tls-ca", "ca.pem")
    assert ran.code == 2
    assert "Certificates are for a cluster" in ran.err
