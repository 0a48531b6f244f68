"""Cursors: opaque positions in a list that stay valid when items are added in front of them."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


def encode_cursor(position):
    """Return the cursor for `position`."""
    return urlsafe_b64encode(str(position).encode()).decode()


def decode_cursor(cursor):
    """Return the position that `cursor` stands for."""
    return int(urlsafe_b64decode(cursor.encode()).decode())
