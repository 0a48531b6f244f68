"""A model server as a process of its own that streams one answer, event by event, at a pace.

`python -m tests.benchmarks.paced_server FILE RATE` prints its port; FILE is a JSON list of events, RATE their number
per second, 0 for as fast as possible.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.servers.dialects.dialect import Ask, Dialect
from tests.servers.script import Reply

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@contextmanager
def paced(answer: Reply, dialect: Dialect, folder: Path, rate: int) -> Generator[str]:
    """Serve the answer to every request at this rate; yield the address to configure."""
    file = folder / "events.json"
    events = [event.decode() for event in dialect.events(answer, Ask(1, {"model": "m"}))]
    file.write_text(json.dumps(events))
    command = [sys.executable, "-m", "tests.benchmarks.paced_server", str(file), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}{dialect.base}"
        finally:
            process.kill()


def main(file: str, rate: str) -> None:
    events = [event.encode() for event in json.loads(Path(file).read_text())]
    chunks = [b"%x\r\n%s\r\n" % (len(event), event) for event in events]
    with socket.create_server(("127.0.0.1", 0)) as server:
        sys.stdout.write(f"{server.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            client, _ = server.accept()
            threading.Thread(target=_serve, args=(client, chunks, float(rate)), daemon=True).start()


def _serve(client: socket.socket, chunks: list[bytes], rate: float) -> None:
    with client, suppress(OSError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while _has_request(client):
            client.sendall(_HEAD)
            _send(client, chunks, rate)
            client.sendall(b"0\r\n\r\n")


def _send(client: socket.socket, chunks: list[bytes], rate: float) -> None:
    begun = time.perf_counter()
    for number, chunk in enumerate(chunks):
        if rate and (wait_s := begun + number / rate - time.perf_counter()) > 0:
            time.sleep(wait_s)  # noqa: TID251 - a program of its own, whose clock is the pace
        client.sendall(chunk)


def _has_request(client: socket.socket) -> bool:
    received = b""
    while b"\r\n\r\n" not in received:
        if not (piece := client.recv(1 << 16)):
            return False
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    left = int(lines.get(b"content-length", b"0")) - len(body)
    while left > 0 and (piece := client.recv(min(left, 1 << 16))):
        left -= len(piece)
    return left <= 0


if __name__ == "__main__":
    main(*sys.argv[1:])
