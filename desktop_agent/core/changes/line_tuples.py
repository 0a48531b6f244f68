"""Very many lines as a tuple that the garbage collector does not go over.

The collector looks at every element of a new tuple once, to find that lines lead nowhere, and forgets the tuple then.
For 400,000 lines all over the memory this takes 10 ms or more, in which no thread runs.
"""

import ctypes
from collections.abc import Iterable

_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
_untrack.argtypes = [ctypes.py_object]
_untrack.restype = None


def tuple_of_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines as a tuple that the collector has forgotten already. Right for strings only: they lead nowhere.

    What the collector does itself when it has come to such a tuple.
    """
    made = tuple(lines)
    if made:  # the empty one belongs to everybody
        _untrack(made)
    return made
