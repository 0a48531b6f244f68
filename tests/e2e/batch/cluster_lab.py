"""A batch on a Dask cluster with TLS, which runs as a process beside it."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.certificates import Authority
from tests.e2e.batch.lab import Lab
from tests.system_processes import running_with


class ClusterLab(Lab):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        authority = Authority(folder)
        self.ca = authority.file
        self.cert, self.key = authority.issue("cluster")
        self.address = ""
        self._cluster = 0

    @contextmanager
    def cluster(self, *, workers: int = 2) -> Generator[None]:
        files = (str(self.ca), str(self.cert), str(self.key))
        command = [sys.executable, "-m", "tests.e2e.batch.cluster", str(workers), *files]
        environ = {**self.environ, "DASK_TEMPORARY_DIRECTORY": str(self.tasks.parent)}
        with subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            self.address = process.stdout.readline().strip()
            self._cluster = process.pid
            yield

    def start(self, *more: str) -> "subprocess.Popen[str]":
        tls = ("--tls-ca", str(self.ca), "--tls-cert", str(self.cert), "--tls-key", str(self.key))
        return super().start("--scheduler", self.address, *tls, *more)

    def cluster_workers(self) -> list[psutil.Process]:
        """The Dask processes that run tasks, each below its nanny."""
        return running_with("spawn_main", psutil.Process(self._cluster).children())

    def runs(self) -> list[psutil.Process]:
        return running_with("desktop_agent.cli.batch_worker", psutil.Process(self._cluster).children(recursive=True))

    def processor_s(self) -> float:
        """The cluster's processor time in seconds, with its ended processes."""
        cluster = psutil.Process(self._cluster)
        times = [process.cpu_times() for process in (cluster, *cluster.children(recursive=True))]
        return sum(time.user + time.system + time.children_user + time.children_system for time in times)
