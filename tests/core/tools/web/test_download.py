"""Which addresses may be reached, and how their contents become text."""

import codecs
import ipaddress

import pytest

from desktop_agent.core.system.network.connections import is_public
from desktop_agent.core.tools.web import decoded


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


_NOT_PUBLIC = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "192.0.0.8",
    "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
    "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b:1::8.8.8.8",
    "::ffff:0:8.8.8.8", "2001:db8::5efe:10.0.0.1", "168.63.129.16", "100.100.100.200", "2002:a83f:8110::",
    "fd20:ce::254", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("address", _NOT_PUBLIC)
def test_this_machine_the_local_network_and_reserved_addresses_are_not(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("grün".encode(), "text/html"),
        ("grün".encode(), "text/html; charset=UTF-8"),
        ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1"),
        ("grün".encode("latin-1"), 'text/html; charset="us-ascii"'),
        (codecs.BOM_UTF8 + "grün".encode(), "text/html; charset=latin-1"),
        (codecs.BOM_UTF16_LE + "grün".encode("utf-16-le"), "text/plain"),
        (codecs.BOM_UTF16_BE + "grün".encode("utf-16-be"), "text/plain"),
        ("grün".encode(), "text/html; charset=no-such-thing"),
        ("grün".encode(), "text/html; charset=idna"),
        ("grün".encode(), "text/html; charset=hex"),
    ],
)
def test_the_charset_is_found(body: bytes, content_type: str) -> None:
    assert decoded(body, content_type) == "grün"


@pytest.mark.parametrize(
    ("beginning", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-15">', "iso-8859-15"),
        ('<?xml version="1.0" encoding="latin-1"?>', "latin-1"),
        ('<meta charset="utf-16">', "utf-8"),
        ('<meta charset="gb2312">', "gb18030"),
    ],
)
def test_a_file_may_say_it_itself(beginning: str, encoding: str) -> None:
    assert decoded(f"{beginning}é".encode(encoding), "text/html") == f"{beginning}é"


def test_bytes_that_do_not_fit_are_replaced() -> None:
    assert decoded(b"a\xffb", "text/plain") == "a\ufffdb"
