"""A language server that misbehaves as its first argument says: `python scripted_server.py MODE`.

Its language: a line with the word BAD is an error, one with ODD a warning; the line is the message.
"""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

MODE = sys.argv[1]
HUGE = 17 * 2**20


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n" % len(body) + body
    )
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name == b"Content-Length" else length
    return cast("dict[str, Any]", json.loads(sys.stdin.buffer.read(length))) if length else sys.exit(0)


def entry(line: int, message: object, severity: object = 1) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "message": message, "severity": severity, "code": "rule"}


def found_in(text: str) -> list[dict[str, Any]]:
    lines = enumerate(text.split("\n"))
    return [entry(n, line, 1 if "BAD" in line else 2) for n, line in lines if "BAD" in line or "ODD" in line]


def attempts() -> list[dict[str, Any]]:
    """Try what a confined server must not be able to do, and report what it could."""
    could: list[str] = []
    for path in ("seen.txt", str(Path.home() / "seen.txt")):
        try:
            Path(path).write_text("seen")
            could.append(f"write {path}" if not path.startswith("/") else "write home")
        except OSError:
            pass
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5).close()
        could.append("connect")
    except OSError:
        pass
    with suppress(OSError):
        could.append(f"read {Path('.env').read_text()}")
    could += [name for name in os.environ if "TOKEN" in name]
    for cache in ("XDG_CACHE_HOME", "GOCACHE", "CARGO_TARGET_DIR"):
        try:
            Path(os.environ[cache], "made").write_text("cached")
        except (KeyError, OSError) as error:
            could.append(f"not use {cache}: {error!r}")
    return [entry(0, f"could: {', '.join(could) or 'nothing'}")]


def publish(uri: str, version: int, text: str) -> None:
    match MODE:
        case "push" | "parent":
            send_published(uri, found_in(text), version)
        case "versionless":
            send_published(uri, [])
            send_published(uri, found_in(text))
        case "stale":
            send_published(uri, [entry(0, "BAD: about an earlier version")], version - 1)
            send_published(uri, found_in(text), version)
        case "quiet" if found_in(text):
            send_published(uri, found_in(text), version)
        case "in parts" | "syntax first":
            publish_in_parts(uri, text, version)
        case "registering" if version == 1:
            wanted: dict[str, Any] = {"id": "1", "method": "textDocument/diagnostic", "registerOptions": {}}
            send({"id": 1, "method": "client/registerCapability", "params": {"registrations": [wanted]}})
        case "spy":
            send_published(uri, attempts(), version)
        case "many":
            send_published(uri, [entry(n, "x" * 10_000, 1) for n in range(6_000)], version)
        case "odd":
            send_odd(uri, version)
        case "crash":
            sys.exit(3)
        case "pull" | "late" | "quiet" | "registering" | "loading" | "refreshing" | "refusing" | "busy":
            pass
        case _:
            attack()


def publish_in_parts(uri: str, text: str, version: int) -> None:
    """First tell what is quickly found, such as the errors of the syntax."""
    first_s, then_s, said_of = (0, 1, version) if MODE == "in parts" else (1, 0.5, None)
    time.sleep(first_s)  # noqa: TID251 - a slow server
    send_published(uri, [], said_of)
    time.sleep(then_s)  # noqa: TID251
    send_published(uri, found_in(text), said_of)


def progress(kind: str) -> None:
    send({"method": "$/progress", "params": {"token": "load", "value": {"kind": kind, "title": "Loading"}}})


def send_odd(uri: str, version: int) -> None:
    send_published("file:///etc/passwd", [entry(0, "BAD: elsewhere")])
    send_published(str(7), [entry(0, "BAD: nowhere")])
    send({"id": "none", "method": "workspace/configuration", "params": {"items": [7, {"section": ["x"]}]}})
    send({"id": 12_345, "result": {"items": [entry(0, "BAD: never asked")]}})
    strange: list[Any] = [None, 7, [], {}, entry(-1, "BAD"), entry(0, 7), entry(0, "BAD", "x"), entry(2**40, "BAD")]
    send_published(uri, [*strange, entry(0, "BAD\u202e\x1b[31m\nline")], version)


def attack() -> None:
    if MODE == "garbage":
        print("Hello! This is no protocol.\r\n\r\n", flush=True)
    if MODE == "huge":
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % HUGE)
    number = 0
    while True:
        number += 1
        match MODE:
            case "flood":
                send({"method": "window/logMessage", "params": {"type": 3, "message": "again"}})
            case "asking":
                send({"id": number, "method": "workspace/configuration", "params": {"items": []}})
            case "huge":
                sys.stdout.buffer.write(b" " * 65536)
            case "endless header":
                sys.stdout.buffer.write(b"X-Header: never ends\r\n")
            case _:
                time.sleep(600)  # noqa: TID251 - a server that hangs


def send_published(uri: str, found: list[Any], version: int | None = None) -> None:
    params: dict[str, Any] = {"uri": uri, "diagnostics": found}
    send(
        {
            "method": "textDocument/publishDiagnostics",
            "params": params | ({} if version is None else {"version": version}),
        }
    )


def main() -> None:
    print("started", file=sys.stderr, flush=True)
    if MODE == "parent":
        child = [sys.executable, "-c", "import time; time.sleep(600)", f"child-of-{sys.argv[2]}"]
        subprocess.Popen(child, start_new_session=True, stdin=subprocess.DEVNULL)
    texts: dict[str, str] = {}
    answered = 0
    while True:
        message = receive()
        method = message.get("method", "")
        params: dict[str, Any] = message.get("params") or {}
        if method == "initialize" and MODE != "mute":
            pulls = ("pull", "late", "loading", "refreshing", "refusing", "busy")
            can = {"diagnosticProvider": {"interFileDependencies": False}} if MODE in pulls else {}
            send({"id": message["id"], "result": {"capabilities": {"textDocumentSync": 1, **can}}})
            if MODE == "loading":
                send({"id": 1, "method": "window/workDoneProgress/create", "params": {"token": "load"}})
                progress("begin")
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document: dict[str, Any] = params["textDocument"]
            text: str = document["text"] if "text" in document else params["contentChanges"][0]["text"]
            texts[document["uri"]] = text
            publish(document["uri"], document["version"], text)
        elif method == "textDocument/diagnostic":
            if MODE == "late":
                time.sleep(1)  # noqa: TID251 - a slow server
            if MODE == "refusing" and params["textDocument"]["uri"].endswith("refused.bad"):
                send({"id": message["id"], "error": {"code": -32603, "message": "It is not in a project"}})
                continue
            answered += 1
            is_ready = MODE not in ("loading", "refreshing") or answered > 1
            found = found_in(texts[params["textDocument"]["uri"]]) if is_ready else []
            send({"id": message["id"], "result": {"kind": "full", "items": found}})
            if not is_ready and MODE == "loading":
                progress("end")
            elif MODE == "busy" and answered > 1:
                progress("begin")
            elif MODE == "refreshing" and not is_ready:
                send({"id": 2, "method": "workspace/diagnostic/refresh"})


if __name__ == "__main__":
    main()
