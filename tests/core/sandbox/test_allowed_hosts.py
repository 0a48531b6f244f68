"""The hosts that a confined program may reach, and the addresses that they may resolve to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.sandbox.host_proxy import AllowedHosts

LABELS = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?\Z")
NAMES = st.lists(LABELS, min_size=1, max_size=3).map(".".join).filter(lambda name: not name.replace(".", "").isdigit())
ADDRESSES = st.ip_addresses()


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "EXAMPLE.org.", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org:22", "example.org", 22, True),
        ("example.org:22", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "example.org.evil.net", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", ".example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("*", "anything.net", 443, True),
        ("*:8443", "anything.net", 443, False),
        ("127.0.0.1:80", "127.0.0.1", 80, True),
        ("127.0.0.1:80", "127.1", 80, False),
        ("[::1]:80", "[::1]", 80, True),
        ("[::1]:80", "0:0:0:0:0:0:0:1", 80, True),
        ("[::1]:80", "::1", 81, False),
    ],
)
def test_a_host_is_allowed_by_what_names_it_and_its_port(entry: str, host: str, port: int, allowed: bool) -> None:
    assert AllowedHosts((entry,)).allow(host, port) is allowed


@given(NAMES, NAMES, st.integers(1, 65535))
def test_one_name_lets_no_other_through(name: str, other: str, port: int) -> None:
    assert AllowedHosts((f"{name}:{port}",)).allow(other, port) == (other == name)


@given(NAMES, st.integers(1, 65535))
def test_no_host_lets_nobody_through(name: str, port: int) -> None:
    assert not AllowedHosts(()).allow(name, port)


@given(NAMES, ADDRESSES)
def test_no_name_leads_to_this_machine_or_a_clouds_own_service(
    name: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    for entry in (name, f"*.{name}", "*"):
        hosts = AllowedHosts((entry,))
        host = f"www.{name}" if entry.startswith("*.") else name
        if name != "localhost" and hosts.allow_address(host, 443, address):
            assert not address.is_loopback
            assert not address.is_link_local
            assert not address.is_unspecified


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.1.1", "fe80::1", "::127.0.0.1", "2002:7f00:1::",
     "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "64:ff9b:1:7f00:0:100::", "::ffff:0:127.0.0.1",
     "2001:0:7f00:1::", "2001:0:101:101::80ff:fffe", "2001:db8::5efe:127.0.0.1", "2001:db8::200:5efe:127.0.0.1"],
)  # fmt: skip
def test_forms_of_this_machines_addresses_are_known(text: str) -> None:
    address = ipaddress.ip_address(text)

    assert not AllowedHosts(("example.org",)).allow_address("example.org", 443, address)
    assert AllowedHosts((f"[{text}]:443",)).allow_address(text, 443, address)


CREDENTIALS = (
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
    "100.100.100.200", "192.0.0.192", "168.63.129.16", "::ffff:169.254.169.254", "::ffff:100.100.100.200",
    "2002:a9fe:a9fe::", "2002:6464:64c8::1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::6464:64c8",
    "64:ff9b:1:a9fe:a9:fe00::", "::100.100.100.200", "2001:0:a9fe:a9fe::", "2001:db8::5efe:169.254.169.254",
)  # fmt: skip


@pytest.mark.parametrize("text", CREDENTIALS)
def test_nothing_leads_to_what_hands_out_credentials(text: str) -> None:
    address = ipaddress.ip_address(text)

    for entry in ("example.org", "*.example.org", "*", f"[{text}]", "localhost"):
        host = (
            text if entry.startswith("[") else f"www.{entry}" if entry.startswith("*.") else entry.strip("*") or "a.b"
        )
        assert not AllowedHosts((entry,)).allow_address(host, 443, address)
    assert not AllowedHosts(("*",)).allow(text, 80)
    assert not AllowedHosts((f"[{text}]",)).allow(f"[{text}]", 80)


@pytest.mark.parametrize(
    "host",
    ["\u2460\u2465\u2468.254.169.254", "169\u3002254\u3002169\u3002254", "metadata\uff61google\uff0einternal",
     "metadata.google.internal", "Metadata.Google.Internal.", "metadata", "instance-data", "2852039166", "0xa9fea9fe",
     "169.254.43518", "0251.0376.0251.0376", "0x64.100.0144.200"],
)  # fmt: skip
def test_no_way_of_writing_such_a_service_is_let_through(host: str) -> None:
    for entry in (host.lower().rstrip("."), "*"):
        assert not AllowedHosts((entry,)).allow(host, 80)


def test_a_name_may_lead_into_the_local_network_and_what_only_a_star_allows_may_not() -> None:
    inside = ipaddress.ip_address("10.1.2.3")

    assert AllowedHosts(("git.corp.example",)).allow_address("git.corp.example", 443, inside)
    assert not AllowedHosts(("*",)).allow_address("git.corp.example", 443, inside)
    assert AllowedHosts(("*", "git.corp.example")).allow_address("git.corp.example", 443, inside)
    assert AllowedHosts(("localhost:80",)).allow_address("localhost", 80, ipaddress.ip_address("127.0.0.1"))
