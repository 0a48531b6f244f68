"""One function decides for the command line, the settings and the window what is a model's address."""

from argparse import ArgumentTypeError
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.web_address import address_argument, completed, why_no_address

SOUND = (
    *("https://models.example/v1", "http://127.0.0.1:11434/v1/", "HTTPS://Models.Example", "http://[::1]:8080"),
    *("http://my_gateway.internal.:80/a%20b/~c", "https://münchen.example"),
)
REFUSED = (
    ("http://exa mple/", "a space"),
    ("http://example/a\nb", "a space"),
    ("http://exam\u200bple/", "invisible character"),
    ("https://models.example/v1?key=x", "contain ? or #"),
    ("https://models.example/v1#x", "contain ? or #"),
    ("https://me:hunter2@models.example", "password"),
    ("https://me@models.example", "password"),
    ("//models.example", "begin with https://"),
    ("ftp://models.example", "begin with https://"),
    ("file:///etc/passwd", "begin with https://"),
    ("https:models.example", "begin with https://"),
    ("https://", "no host"),
    ("https:///v1", "no host"),
    ("https://:8080", "no host"),
    ("http://a..b", "is not valid"),
    ("http://.", "is not valid"),
    (f"http://{'a' * 64}.example", "is not valid"),
    (f"http://{'a.' * 200}example", "is not valid"),
    ("http://[::1", "is not valid"),
    ("http://127.0.0.1:99999", "is not valid"),
    ("http://127.0.0.1:0", "is not valid"),
    ("http://127.0.0.1:http", "is not valid"),
    ("http://a,b", "is not valid"),
    ("http://<host>", "is not valid"),
    ("http://a\\b", "is not valid"),
)


@pytest.mark.parametrize("address", SOUND)
def test_an_address_that_requests_can_go_to_is_taken(address: str) -> None:
    assert why_no_address(address) == ""
    assert address_argument(f" {address} ") == address


@pytest.mark.parametrize(("address", "word"), REFUSED)
def test_any_other_is_refused_with_words_that_do_not_quote_it(address: str, word: str) -> None:
    reason = why_no_address(address)
    assert word in reason
    assert "hunter2" not in reason
    with pytest.raises(ArgumentTypeError, match="the address cannot be used"):
        address_argument(address)


@given(st.from_regex(r"https?://[ -~]{0,30}", fullmatch=True))
def test_what_is_taken_leads_the_http_client_to_the_host_it_names_and_nowhere_else(address: str) -> None:
    import httpx2

    if why_no_address(address):
        return
    url = httpx2.URL(f"{address.rstrip('/')}/v1/messages")
    assert url.host == (urlsplit(address).hostname or "")
    assert url.path.endswith("/v1/messages")
    assert (url.userinfo, url.query, url.fragment) == (b"", b"", "")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("models.example/v1", "https://models.example/v1"),
        (" gateway ", "https://gateway"),
        ("gateway:8443/v1/", "https://gateway:8443/v1/"),
        ("8.8.8.8:8000", "https://8.8.8.8:8000"),
        ("localhost:8000/v1", "http://localhost:8000/v1"),
        ("127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("192.168.1.20:11434/v1", "http://192.168.1.20:11434/v1"),
        *((address, address) for address in SOUND),
        *((address, address) for address in ("", "//models.example", "ftp://models.example", "http:/typo", "https:")),
    ],
)
def test_an_address_without_a_scheme_is_completed(typed: str, meant: str) -> None:
    assert completed(typed) == meant


@given(st.text())
def test_completing_any_text_gives_an_address_or_what_is_refused_as_before(text: str) -> None:
    assert completed(completed(text)) == completed(text)
    assert not why_no_address(completed(text)) or why_no_address(text.strip())
