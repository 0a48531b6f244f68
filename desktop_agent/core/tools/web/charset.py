"""Bytes from the network as text: the charset is what the server, the file or its beginning says, in that order.

As browsers do it (WHATWG Encoding): a byte-order mark wins, Latin-1 means Windows-1252, and without a word it is UTF-8.
"""

import codecs
import re

_HEADER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_IN_BODY = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)|^<\?xml[^>]{0,200}?encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
_BODY_PROBE_BYTES = 4_096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AS_BROWSERS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_NOT_FOR_TEXT = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined", "mbcs", "oem"}
)


def decoded(body: bytes, content_type: str) -> str:
    """Return `body` as text. Bytes that do not fit become replacement characters."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = _HEADER.search(content_type)
    if named is not None and (encoding := _known(named[1])):
        return body.decode(encoding, "replace")
    meta = _IN_BODY.search(body[:_BODY_PROBE_BYTES])
    if meta is not None and (encoding := _known((meta[1] or meta[2]).decode("ascii", "replace"))):
        # A file that can say so in ASCII is not UTF-16, whatever it says.
        return body.decode("utf-8" if encoding.startswith("utf-16") else encoding, "replace")
    return body.decode("utf-8", "replace")


def _known(name: str) -> str | None:
    try:
        encoding = codecs.lookup(name).name
        b"text".decode(encoding, "replace")  # not of nothing: that asks no codec
    except (LookupError, ValueError):
        return None
    return None if encoding in _NOT_FOR_TEXT else _AS_BROWSERS.get(encoding, encoding)
