"""The page on which a sign-in ends in the browser. Nothing of the request is on it, and it loads nothing."""

from typing import NamedTuple


class RedirectPage(NamedTuple):
    """A status with what the user reads."""

    status: int
    phrase: str
    title: str
    text: str


TAKEN = RedirectPage(200, "OK", "Back to Desktop Agent", "The answer has arrived. You can close this window.")
DECLINED = RedirectPage(
    200, "OK", "Not signed in", "Desktop Agent knows that this was declined. You can close this window."
)
MALFORMED = RedirectPage(400, "Bad Request", "Not understood", "This is no request that Desktop Agent answers.")
FOREIGN = RedirectPage(
    400, "Bad Request", "Another sign-in", "This answer belongs to another sign-in. Begin again in Desktop Agent."
)
UNKNOWN = RedirectPage(404, "Not Found", "Nothing here", "Only the answer of a sign-in is taken here.")
NOT_A_GET = RedirectPage(405, "Method Not Allowed", "Nothing here", "Only the answer of a sign-in is taken here.")
REPLAYED = RedirectPage(410, "Gone", "Already used", "This answer was taken already. You can close this window.")
MISDIRECTED = RedirectPage(421, "Misdirected Request", "Nothing here", "This request was meant for another address.")
TOO_LONG = RedirectPage(431, "Request Header Fields Too Large", "Not understood", "The request is too long.")

# The address of the page has the code in it: it is not to be kept, nor told to anybody, nor framed.
_HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options: nosniff",
    "Connection: close",
)

_STYLE = (
    ":root{color-scheme:light dark}h1{font-size:1.5rem}"
    "body{font:1.1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1.5rem}"
)


def response(page: RedirectPage) -> bytes:
    """Return the whole HTTP response that shows `page`."""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page.title}</title><style>{_STYLE}</style>'
        f"<h1>{page.title}</h1><p>{page.text}</p></html>\n"
    ).encode()
    lines = (f"HTTP/1.1 {page.status} {page.phrase}", *_HEADERS, f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
