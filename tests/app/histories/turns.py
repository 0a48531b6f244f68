"""The agent's turns: tool calls, and shell commands on names of any bytes and all kinds of entries."""

import os
from collections.abc import Sequence

from hypothesis import strategies as st

from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.app.histories.disk import NAMES, Name

LINES = [f"line {number}\n" for number in range(40)]
SPOTS = (3, 10, 18, 33)

Turn = Sequence[Call]


def quoted(name: Name) -> str:
    """Return the name as a word of a shell command that stands for exactly these bytes."""
    return "$'" + "".join(f"\\x{byte:02x}" for byte in b"./" + name) + "'"


def edited(words: str, spots: Sequence[int]) -> str:
    return "".join(f"{words} {number}\n" if number in spots else line for number, line in enumerate(LINES))


def _write(name: str, words: str, spots: Sequence[int]) -> Call:
    return Call("create_file", {"path": name, "content": edited(words, spots), "if_exists": "overwrite"})


def _replace(name: str, words: str, spot: int) -> Call:
    return Call("edit_file", {"path": name, "old_str": f"line {spot}\n", "new_str": f"{words} {spot}\n"})


TEXT_NAMES = [os.fsdecode(name) for name in NAMES if b"\n" not in name and name.isascii()]

names = st.sampled_from(NAMES)
_text_names = st.sampled_from(TEXT_NAMES)
_spots = st.lists(st.sampled_from(SPOTS), min_size=1, max_size=3, unique=True)
_words = st.sampled_from(["agent", "robot"])

_ON_ONE = (
    *("rm -rf -- {0}", "rm -rf -- {0}; mkfifo -- {0}", "rm -rf -- {0}; ln -s nowhere {0}"),
    *("rm -rf -- {0}; ln -s /etc {0}", "rm -rf -- {0}; mkdir -- {0}; echo agent > {0}/in"),
    *("test -p {0} || echo agent >> {0}", "test -p {0} || printf 'agent\\000' > {0}", "chmod 600 {0}"),
    *("test -p {0} || sed -i -e 's/^line 18$/sed 18/' -e 's/^line 3$/sed 3/' {0}", "mkdir -p -- {0}"),
)
_ON_TWO = (
    "mv -f -- {0} {1}",
    "mv -f -- {0} {1}; test -f {1} && sed 's/^line 18$/sed 18/' {1} > .t && cat .t > {1}; rm -f .t",
    "test -p {1} || cp -a -- {0} {1}",
    "ln -f -- {0} {1}",
)


def _command(form: str, *on: Name) -> Call:
    return Call("run_terminal_cmd", {"command": form.format(*map(quoted, on))})


def _delete(name: str) -> Call:
    return Call("delete_file", {"path": name})


def _rename(name: str, to: str) -> Call:
    return Call("rename_file", {"source_path": name, "dest_path": to})


_calls = st.one_of(
    st.builds(_write, _text_names, _words, _spots),
    st.builds(_replace, _text_names, _words, st.sampled_from(SPOTS)),
    st.builds(_delete, _text_names),
    st.builds(_rename, _text_names, _text_names),
    st.builds(_command, st.sampled_from(_ON_ONE), names),
    st.builds(_command, st.sampled_from(_ON_TWO), names, names),
)
turns: st.SearchStrategy[Turn] = st.lists(_calls, min_size=1, max_size=3)


def replies(turn: Turn) -> list[Reply]:
    return [list(turn), [Say("Done.")]]
