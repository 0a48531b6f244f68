"""Concurrent first uses of a msgspec type do not crash: all code learns its types through one function."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent

_AT_ONCE = """
import sys
import threading
from msgspec import Struct, convert
from desktop_agent.core.base.learned import learned

begun, made = [], []

def make():
    made.append(convert({"inner": {"number": 1}}, learned(Outer)))

def waits(thread):
    frame = sys._current_frames().get(thread.ident)
    return frame is not None and frame.f_code is learned.__code__

def looked_at():
    # msgspec evaluates this while it looks at Inner, after it has begun with Outer.
    if not begun:
        other = threading.Thread(target=make)
        begun.append(other)
        other.start()
        while other.is_alive() and not waits(other):
            other.join(0.001)
    return int

class Inner(Struct):
    number: "looked_at()"

class Outer(Struct):
    inner: Inner

make()
begun[0].join()
assert made == [Outer(inner=Inner(number=1))] * 2
"""


def test_a_type_is_made_by_two_threads_at_once() -> None:
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    with subprocess.Popen([sys.executable, "-c", _AT_ONCE], env=environ, stderr=subprocess.PIPE, text=True) as process:
        _, said = process.communicate()
    assert (process.returncode, said) == (0, "")


def test_whatever_makes_a_type_has_it_learned_first() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "learned.py"]
    found = [(path, call) for path in modules for call in _makers(path.read_text(encoding="utf-8"))]
    assert len(found) > 30
    assert [f"{path}:{call.lineno}" for path, call in found if not _is_learned(call)] == []


def test_a_type_that_is_not_learned_is_found() -> None:
    text = """
import msgspec
from msgspec import convert
from msgspec.json import Decoder, decode
convert(fields, Kind)
msgspec.convert(fields, type=Kind)
decode(content, type=Kind)
msgspec.json.decode(content, type=Kind)
Decoder(Kind)
"""
    assert [_is_learned(call) for call in _makers(text)] == [False] * 5
    assert [_is_learned(call) for call in _makers(text.replace("Kind)", "learned(Kind))"))] == [True] * 5


def _makers(text: str) -> Iterator[ast.Call]:
    """Yield a module's calls that make msgspec decode into a type, now or later."""
    if "msgspec" not in text or not re.search(r"\b(convert|decode|Decoder)\(", text):
        return
    tree = ast.parse(text)
    own = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("msgspec")
        for alias in node.names
        if alias.name in ("convert", "decode", "Decoder")
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in own:
                yield node
            case ast.Call(func=ast.Attribute(attr="convert" | "Decoder" | "decode")) if "msgspec" in ast.dump(
                node.func
            ):
                yield node
            case _:
                pass


def _is_learned(call: ast.Call) -> bool:
    """Whether the call names a type that was learned, or no type."""
    is_decoder = "Decoder" in ast.dump(call.func)
    kind = next((word.value for word in call.keywords if word.arg == "type"), None)
    kind = kind or next(iter(call.args[0 if is_decoder else 1 :]), None)
    match kind:
        case None | ast.Call(func=ast.Name(id="learned")):
            return True
        case _:
            return False
