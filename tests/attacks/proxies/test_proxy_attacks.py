"""A proxy gets no key that it could read, no local request, and its refusals are reported as its own."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from desktop_agent.cli import main
from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, UserMessage
from desktop_agent.core.providers.provider import Completion
from desktop_agent.core.system.network.connections import proxy_for
from tests.attacks.corpus import cases
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.rude_server import RudeServer
from tests.servers.script import reply, text
from tests.servers.threaded import serve

KEY = "sk-ant-test-0123456789abcdef"
PASSWORD = "hunter2-of-the-proxy"
VARIABLES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY")


def request() -> ModelRequest:
    message = UserMessage(content=(TextBlock(text="the conversation"),))
    return ModelRequest(model="claude-test-large", system="", messages=(message,), tools=(), max_tokens=9)


async def failure(url: str, *, allows: bool = False) -> ProviderError:
    provider = anthropic_provider(api_key=KEY, base_url=url, silence_s=2.0, allows_readable_proxy=allows)
    try:
        with pytest.raises(ProviderError) as caught:
            async for _ in provider.stream(request()):
                pass
    finally:
        await provider.aclose()
    error = caught.value
    assert PASSWORD not in f"{error} {error.detail}"
    assert KEY not in f"{error} {error.detail}"
    return error


# --- this machine -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", cases(VARIABLES, str))
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_model_on_this_machine_is_asked_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, variable: str, host: str
) -> None:
    async with RudeServer() as proxy, AnthropicServer(reply(text("hello"))) as server:
        monkeypatch.setenv(variable, proxy.url)
        provider = anthropic_provider(api_key=KEY, base_url=server.url.replace("127.0.0.1", host))
        pieces = [piece async for piece in provider.stream(request())]
        await provider.aclose()
        assert isinstance(pieces[-1], Completion)
        assert proxy.connections == 0
        assert server.messages[0].headers["accept-encoding"] == "identity"


HERE = (
    *("http://localhost", "http://LOCALHOST:80", "http://localhost.:1", "http://127.0.0.1", "http://127.9.9.9"),
    *("http://[::1]:8080", "http://[::ffff:127.0.0.1]", "http://127.1", "http://0x7f.0.0.1", "http://2130706433"),
    *("https://127.0.0.1", "http://0.0.0.0:1", "http://[::]:1"),
)
ELSEWHERE = (
    "http://example.com",
    "http://127.example.com",
    "http://localhost.example.com",
    "http://128.0.0.1",
    "http://10.0.0.1",
)


@pytest.mark.parametrize("url", HERE)
def test_every_spelling_of_this_machine_is_reached_directly(url: str) -> None:
    assert proxy_for(url, dict.fromkeys(VARIABLES, "http://proxy.example:3128")) is None


@pytest.mark.parametrize("url", ELSEWHERE)
def test_what_only_looks_like_this_machine_is_elsewhere(url: str) -> None:
    assert proxy_for(url, {"ALL_PROXY": "http://proxy.example:3128"}) is not None


# --- which proxy --------------------------------------------------------------------------------------------------

P, Q = "http://p.example:1", "http://q.example:2"


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("https://a.example", {"https_proxy": P, "HTTPS_PROXY": Q}, "https_proxy"),
        ("https://a.example", {"HTTPS_PROXY": Q, "ALL_PROXY": P}, "HTTPS_PROXY"),
        ("https://a.example", {"HTTP_PROXY": Q, "all_proxy": P}, "all_proxy"),
        ("https://a.example", {"HTTP_PROXY": Q}, None),
        ("https://a.example", {"https_proxy": "", "HTTPS_PROXY": Q}, None),
        ("http://a.example", {"HTTP_PROXY": Q}, "HTTP_PROXY"),
        ("http://a.example", {"HTTP_PROXY": Q, "REQUEST_METHOD": "GET"}, None),
        ("https://a.example", {"HTTPS_PROXY": "p.example:1"}, "HTTPS_PROXY"),
        ("https://a.example", {"ALL_PROXY": P, "NO_PROXY": "*"}, None),
        ("https://a.example", {"ALL_PROXY": P, "no_proxy": "b.example, a.example"}, None),
        ("https://x.a.example", {"ALL_PROXY": P, "NO_PROXY": ".a.example"}, None),
        ("https://x.a.example", {"ALL_PROXY": P, "NO_PROXY": "a.example"}, None),
        ("https://x.a.example", {"ALL_PROXY": P, "NO_PROXY": "*.a.example"}, None),
        ("https://xa.example", {"ALL_PROXY": P, "NO_PROXY": "a.example"}, "ALL_PROXY"),
        ("https://a.example:444", {"ALL_PROXY": P, "NO_PROXY": "a.example:443"}, "ALL_PROXY"),
        ("https://a.example", {"ALL_PROXY": P, "NO_PROXY": "a.example:443"}, None),
        ("https://10.1.2.3", {"ALL_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://10.1.2.3", {"ALL_PROXY": P, "NO_PROXY": "10.1.2.3"}, None),
        ("https://11.1.2.3", {"ALL_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, "ALL_PROXY"),
        ("https://[fd00::1]", {"ALL_PROXY": P, "NO_PROXY": "[fd00::1]"}, None),
    ],
)
def test_the_environment_names_the_proxy(url: str, environ: Mapping[str, str], expected: str | None) -> None:
    proxy = proxy_for(url, environ)
    assert (proxy and proxy.named_by) == expected


def test_a_proxy_shows_no_password() -> None:
    proxy = proxy_for("https://a.example", {"HTTPS_PROXY": f"http://me:{PASSWORD}@p.example:1"})
    assert proxy is not None
    assert proxy.address == "http://p.example:1"
    assert PASSWORD not in repr(proxy)


@pytest.mark.parametrize(
    "value", [f"socks5://me:{PASSWORD}@p.example:1", "http://[::", f"http://me:{PASSWORD}@p:99999"]
)
async def test_a_proxy_of_no_use_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    error = await failure("https://model.example")
    assert (error.fault, "HTTPS_PROXY" in error.title) == ("configuration", True)


# --- what a proxy reads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "all_proxy"])
async def test_nothing_that_a_proxy_could_read_is_sent_unless_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    async with RudeServer() as proxy:
        monkeypatch.setenv(variable, proxy.url.replace("//", f"//me:{PASSWORD}@"))
        error = await failure("http://model.example")
        assert proxy.connections == 0
    assert error.fault == "configuration"
    assert proxy.url in error.title
    assert variable in error.hint
    assert "allow_readable_proxy" in error.hint


async def test_what_is_allowed_is_sent_to_the_proxy_and_its_page_is_told_as_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = b"HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\nforbidden"
    async with RudeServer(page) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        error = await failure("http://model.example", allows=True)
        assert proxy.requests[0].path == "http://model.example/v1/messages"
    assert f"The proxy {proxy.url} refused the connection (403)." in error.title


@pytest.mark.parametrize(
    ("status", "says"),
    [("403 Forbidden", "(403)"), ("407 Proxy Authentication Required", "user name"), ("502 Bad Gateway", "(502)")],
)
async def test_a_refused_tunnel_is_told_as_the_proxys(monkeypatch: pytest.MonkeyPatch, status: str, says: str) -> None:
    async with RudeServer(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", f"//me:{PASSWORD}@"))
        error = await failure("https://model.example")
        (connect,) = proxy.requests
    assert (connect.method, connect.path) == ("CONNECT", "model.example:443")
    assert "x-api-key" not in connect.headers, "a tunnel is opened before any key is sent"
    assert b"conversation" not in connect.body
    assert f"The proxy {proxy.url}" in error.title
    assert says in str(error)


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nnot TLS at all", None])
async def test_a_proxy_that_opens_no_tunnel_is_named(monkeypatch: pytest.MonkeyPatch, answer: bytes | None) -> None:
    async with RudeServer(answer) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        error = await failure("https://model.example")
        assert all(KEY not in str(request.headers) for request in proxy.requests)
    assert proxy.url in str(error)


async def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RudeServer() as proxy:
        gone = proxy.url
    monkeypatch.setenv("HTTPS_PROXY", gone)
    error = await failure("https://model.example")
    assert error.title == f"The proxy {gone} could not be reached."
    assert "HTTPS_PROXY" in error.hint


def test_a_run_that_a_proxy_could_read_ends_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serve(reply(text("hello"))) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        ran = main(["run", "--prompt", "go", "--workspace", str(tmp_path), "--base-url", "http://model.example"])
        assert server.messages == []
    assert ran == 1
    out = "".join(capsys.readouterr())
    assert server.url in out
    assert "allow_readable_proxy" in out


# --- certificates, addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_missing_certificates_are_named_by_their_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "missing.pem"))
    error = await failure("https://127.0.0.1:1")
    assert error.fault == "configuration"
    assert error.title == f"{variable} names {tmp_path / 'missing.pem'}, which does not exist."


async def test_a_server_without_tls_needs_no_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert (await failure("http://127.0.0.1:1")).fault == "network"


async def test_a_file_without_certificates_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "empty.pem"))
    assert "empty.pem, which cannot be read" in (await failure("https://127.0.0.1:1")).title


def test_a_password_in_the_address_is_refused_and_written_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "work"
    workspace.mkdir()
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serve(reply(text("hello"))) as server:
        url = server.url.replace("//", f"//me:{PASSWORD}@")
        with pytest.raises(SystemExit) as end:
            main(["run", "--prompt", "go", "--workspace", str(workspace), "--base-url", url, "--json"])
        assert end.value.code == 2
        assert main(["config", "set", "model.base_url", url]) == 2
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        main(["config", "show"])
        main(["run", "--prompt", "go", "--workspace", str(workspace), "--json"])
        assert server.messages == []
    said = "".join(capsys.readouterr())
    assert "user name or a password" in said
    written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert PASSWORD not in said
    assert PASSWORD.encode() not in written
