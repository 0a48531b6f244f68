"""Bytes become the text their author wrote, or as much of it as can be recovered."""

import codecs

import pytest

from desktop_agent.core.tools.web.download import decoded


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
