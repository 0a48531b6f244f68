"""Forks processes for Anthropic's SDK from one that has imported it: importing takes a second.

In the tests' process `warm_sdk` starts the one that imports. The command that it yields is run in place of
`sdk_worker`, whose name it has. It passes its files, its variables and its process group on to a fork, and ends with
it.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

_WORKER = "desktop_agent.core.providers.sdk_worker"
_LIBRARIES = ("boto3", "google.auth.transport.requests", "azure.identity")
_MOST_BYTES = 2**20


@contextmanager
def warm_sdk() -> Generator[tuple[int, list[str]]]:
    """Yield the id of the process that has imported the SDK, and the command for a fork."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "forks"))
        serving = [sys.executable, "-P", __file__, "serve", address]
        with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process.pid, [sys.executable, "-I", "-S", __file__, "fork", address, _WORKER]


def _serve(address: str) -> None:
    worker = import_module(_WORKER)
    for name in _LIBRARIES:
        import_module(name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while select.select([0, listener], [], [])[0] == [listener]:
            wanting, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                try:
                    _become(wanting)
                    worker.main()
                finally:
                    os._exit(0)
            wanting.close()


def _become(wanting: socket.socket) -> None:
    """Take the place of the process at the other end, which waits until this one has ended."""
    message, files, _, _ = socket.recv_fds(wanting, _MOST_BYTES, 3)
    wanted = json.loads(message)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setpgid(0, wanted["group"])
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["variables"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _fork(address: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        wanted = {"group": os.getpgrp(), "folder": str(Path.cwd()), "variables": dict(os.environ)}
        socket.send_fds(connection, [json.dumps(wanted).encode()], [0, 1, 2])
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        connection.recv(1)


if __name__ == "__main__":
    {"serve": _serve, "fork": _fork}[sys.argv[1]](sys.argv[2])
