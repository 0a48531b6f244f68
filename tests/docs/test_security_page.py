"""The code starts exactly the programs, and opens exactly the connections, that docs/security.md lists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
PAGE = PACKAGE.parent / "docs" / "security.md"

Names = tuple[re.Pattern[str], frozenset[tuple[str, str]]]
"""Functions and classes on any object, and others on a module."""

STARTERS: Names = (
    re.compile(
        r"Popen|(create_)?subprocess_(exec|shell)|check_output|check_call|getoutput|getstatusoutput|popen|forkpty"
        r"|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|startDetached|QProcess|openUrl|ProcessPoolExecutor|startfile"
    ),
    frozenset(
        {
            ("subprocess", "run"),
            ("subprocess", "call"),
            ("os", "system"),
            ("os", "fork"),
            ("multiprocessing", "Process"),
        }
    ),
)
HTTP_CLIENTS: Names = (
    re.compile(
        r"(Async)?(HTTP)?Client|(Async)?HTTPTransport|(Async)?(ConnectionPool|HTTPProxy)|ClientSession"
        r"|HTTPS?Connection|urlopen|urlretrieve|build_opener|PoolManager|QNetworkAccessManager"
    ),
    frozenset(
        (library, name)
        for library in ("httpx", "httpx2", "requests")
        for name in ("get", "head", "post", "put", "patch", "delete", "request", "stream", "Session")
    ),
)
OPENERS: Names = (
    re.compile(
        rf"{HTTP_CLIENTS[0].pattern}|(Async)?Anthropic|DaskClient|(model|server)_client|exporter_session"
        r"|FTP(_TLS)?|SMTP(_SSL)?|getaddrinfo|gethostbyname(_ex)?|sock_connect|create_datagram_endpoint"
        r"|(create|open)_(unix_|dbus_)?connection|(create|start)_(unix_)?server"
        r"|Q(Tcp|Udp|Ssl|Local|Web|Abstract)Socket|Q(Tcp|Local|WebSocket)Server|QDBus\w*"
        r"|get_keyring|(get|set|delete)_password|get_credential"
    ),
    HTTP_CLIENTS[1] | {("socket", "socket"), ("webbrowser", "open")},
)
WRAPPERS = {"core/sandbox/bubblewrap.py", "core/sandbox/landlock.py", "core/sandbox/seatbelt.py"}
"""They write command lines that others of the list start."""


def is_named(call: ast.Call, names: Names) -> bool:
    anywhere, on_modules = names
    match call.func:
        case ast.Name(id=name):
            return anywhere.fullmatch(name) is not None
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module, name) in on_modules or anywhere.fullmatch(name) is not None
        case ast.Attribute(attr=name):
            return anywhere.fullmatch(name) is not None
        case _:
            return False


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    """Every call with its module's path, in modules that mention one of the names: parsing them all takes seconds."""
    on_modules = "|".join(rf"{module}\.{name}" for _, pairs in (STARTERS, OPENERS) for module, name in sorted(pairs))
    mentioned = re.compile(rf"\b(?:{STARTERS[0].pattern}|{OPENERS[0].pattern}|{on_modules}|find_program)\b")
    return tuple(
        (file.relative_to(PACKAGE).as_posix(), node)
        for file in PACKAGE.rglob("*.py")
        if mentioned.search(text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    )


def places_in_code(names: Names) -> set[str]:
    return {place for place, call in calls() if is_named(call, names)}


def places_on_the_page(head: str) -> set[str]:
    """The modules in the second column of the table below this heading."""
    table = PAGE.read_text(encoding="utf-8").split(f"## {head}", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][2:]
    return {place for row in rows for place in re.findall(r"`([\w/]+\.py)`", row[2])}


def test_the_table_of_programs_names_every_place_that_starts_one_and_no_other() -> None:
    assert places_on_the_page("Programs that the application starts") - WRAPPERS == places_in_code(STARTERS)


def test_the_table_of_connections_names_every_place_that_opens_one_and_no_other() -> None:
    assert places_on_the_page("Connections that the application opens") == places_in_code(OPENERS)


def test_git_is_started_in_one_place() -> None:
    """The doctor's `git --version` opens no repository, and is the only other place."""
    named = {
        place
        for place, call in calls()
        if any(isinstance(word, ast.Constant) and word.value == "git" for word in call.args)
        and (is_named(call, STARTERS) or getattr(call.func, "id", "") == "find_program")
    }
    assert named == {"core/system/git/git_process.py", "cli/doctor.py"}


def test_http_clients_are_made_in_one_place() -> None:
    assert places_in_code(HTTP_CLIENTS) == {"core/system/network/http_client.py"}


@pytest.mark.parametrize(
    "line",
    [
        *("httpx2.AsyncClient(trust_env=True)", "AsyncClient()", "httpx.get(url)", "urllib.request.urlopen(url)"),
        *("aiohttp.ClientSession()", "http.client.HTTPSConnection(host)", "QNetworkAccessManager(self)"),
    ],
)
def test_a_new_client_would_be_seen(line: str) -> None:
    (call,) = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert is_named(call, HTTP_CLIENTS)
    assert is_named(call, OPENERS)
