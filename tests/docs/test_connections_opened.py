"""The code opens exactly the connections that docs/security.md lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
PAGE = PACKAGE.parent / "docs" / "security.md"
HEAD = "## Connections that the application opens"

HTTP_CLIENTS = re.compile(
    r"(Async)?(HTTP)?Client|(Async)?HTTPTransport|(Async)?(ConnectionPool|HTTPProxy)|ClientSession|HTTPS?Connection"
    r"|urlopen|urlretrieve|build_opener|PoolManager|QNetworkAccessManager"
)
OPENERS = re.compile(
    rf"{HTTP_CLIENTS.pattern}|(Async)?Anthropic|DaskClient|(model|server)_client|exporter_session|FTP(_TLS)?|SMTP(_SSL)?"
    r"|getaddrinfo|gethostbyname(_ex)?|sock_connect|create_datagram_endpoint"
    r"|(create|open)_(unix_|dbus_)?connection|(create|start)_(unix_)?server"
    r"|Q(Tcp|Udp|Ssl|Local|Web|Abstract)Socket|Q(Tcp|Local|WebSocket)Server|QDBus\w*"
    r"|get_keyring|(get|set|delete)_password|get_credential"
)
"""Functions and classes that open a connection or ask a name server, on any object."""
HTTP_FUNCTIONS = {
    (library, name)
    for library in ("httpx", "httpx2", "requests")
    for name in ("get", "head", "post", "put", "patch", "delete", "request", "stream", "Session")
}
ON_MODULES = HTTP_FUNCTIONS | {("socket", "socket"), ("webbrowser", "open")}


def opens_a_connection(call: ast.Call) -> bool:
    return _is_named(call, OPENERS, ON_MODULES)


def makes_an_http_client(call: ast.Call) -> bool:
    return _is_named(call, HTTP_CLIENTS, HTTP_FUNCTIONS)


def _is_named(call: ast.Call, names: re.Pattern[str], on_modules: set[tuple[str, str]]) -> bool:
    match call.func:
        case ast.Name(id=name):
            return names.fullmatch(name) is not None
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module, name) in on_modules or names.fullmatch(name) is not None
        case ast.Attribute(attr=name):
            return names.fullmatch(name) is not None
        case _:
            return False


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call, with its module's path, in modules that mention one of the names."""
    mentioned = re.compile(rf"\b(?:{OPENERS.pattern}|{'|'.join(sorted({module for module, _ in ON_MODULES}))})\b")
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if mentioned.search(text):  # parsing them all would take seconds
            place = file.relative_to(PACKAGE).as_posix()
            yield from ((place, node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))


def places_on_the_page() -> set[str]:
    """The modules in the second column of the table."""
    table = PAGE.read_text(encoding="utf-8").split(HEAD, 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][2:]
    return {place for row in rows for place in re.findall(r"`([\w/]+\.py)`", row[2])}


def test_the_table_of_connections_names_every_place_that_opens_one_and_no_other() -> None:
    assert places_on_the_page() == {place for place, call in calls() if opens_a_connection(call)}


def test_http_clients_are_made_in_one_place() -> None:
    assert {place for place, call in calls() if makes_an_http_client(call)} == {"core/system/network/http_client.py"}


@pytest.mark.parametrize(
    "line",
    [
        *("httpx2.AsyncClient(trust_env=True)", "AsyncClient()", "httpx.get(url)", "urllib.request.urlopen(url)"),
        *("aiohttp.ClientSession()", "http.client.HTTPSConnection(host)", "QNetworkAccessManager(self)"),
    ],
)
def test_a_new_client_would_be_seen(line: str) -> None:
    (call,) = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert makes_an_http_client(call)
    assert opens_a_connection(call)
