"""Difficult file names, for everything that lists or takes paths."""

import os

ODD_NAMES = tuple(
    map(
        os.fsdecode,
        (
            b"caf\xe9.txt",
            rb'"caf\351.txt"',
            rb'"\"caf\\351.txt\""',
            b"\xff\xfe",
            b"\xed\xa0\x80.txt",
            b"d\xf0/caf\xe9.txt",
            b"new\nline.txt",
            rb'"new\nline.txt"',
            b"tab\there.txt",
            b"bell\x07 esc\x1b[2J.txt",
            "turn\u202etxt.exe".encode(),
            "no\u00a0break.txt".encode(),
            "café.txt".encode(),
            rb'"caf\303\251.txt"',
            b'quo"te.txt',
            b'"leading.txt',
            b'"whole"',
            b'"',
            b'""',
            rb"back\slash.txt",
            rb"caf\351.txt",
            b" lead and trail ",
            b"it's $(here) `too`.txt",
            b"-x",
        ),
    )
)
"""Pairs of a name and another that looks like its spelling. All are different files."""
