"""Waiting times and addresses, in words for a user."""

from datetime import UTC, datetime

import pytest

from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.providers.faults import retry_after_s

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 13:00:30 +0100"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": f"Sat, 21 Nov {'9' * 20} 12:00:00 GMT"}, None),
        ({"retry-after": f"Sat, 21 Nov 2026 {'9' * 20}:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.example.com/v1?key=1", "https://api.example.com"),
        ("http://me:hunter2@127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("api.example.com", None),
        ("ftp://example.com", None),
        ("http://", None),
        ("http://[::", None),
        ("http://127.0.0.1:99999", None),
        ("", None),
    ],
)
def test_an_address_is_shown_without_what_is_private_in_it(url: str, address: str | None) -> None:
    assert address_of(url) == address
