"""A code block's file is taken from the words after, in and before its fence."""

import pytest

from desktop_agent.ui.chat.entries.markdown_entries import is_for_a_file, named_paths


@pytest.mark.parametrize(
    ("before", "info", "code", "paths"),
    [
        ("", "python src/app.py", "x", ("src/app.py",)),
        ("", 'python title="src/app.py"', "x", ("src/app.py",)),
        ("", "py:./src/app.py", "x", ("src/app.py",)),
        ("", "src/app.py", "x", ("src/app.py",)),
        ("", "python", "# src/app.py\nx", ("src/app.py",)),
        ("", "html", "<!-- web/index.html -->\n<p>", ("web/index.html",)),
        ("", "js", "// file: a.js\nx", ("a.js",)),
        ("Put this into `a.py`, beside `b.py`:\n\n", "python", "x", ("b.py", "a.py")),
        ("**src/app.py**\n", "python", "x", ("src/app.py",)),
        ("### Dockerfile\n\n", "", "FROM x", ("Dockerfile",)),
        ("In `a.py`:\n```\ny\n```\n", "python", "x", ()),
        ("Ends with words. See https://a.example/b.py and e.g.\n", "python", "# not a name.py of one\nx", ()),
        ("`../secrets.env` or `/etc/hosts.conf`\n", "python", "x", ()),
    ],
)
def test_files_are_named_around_a_fence(before: str, info: str, code: str, paths: tuple[str, ...]) -> None:
    assert named_paths(f"{before}```{info}\n{code}\n```\n", len(before), code) == paths


def test_what_is_run_is_offered_for_a_file_only_where_one_is_named() -> None:
    assert is_for_a_file("python", ())
    assert not is_for_a_file("bash", ())
    assert is_for_a_file("bash", ("run.sh",))
