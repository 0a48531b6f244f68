"""The ids of the requirements about tools, and why some of them are shown by no test.

An id is a letter and a number: tools T, validation V, registry R, concurrency C, output O, errors E, policy and sandbox
S, scenarios SC, contradictions and traps Z. A test names what it shows in a comment, its docstring or beside a row.
"""

from collections.abc import Iterator, Mapping

_NUMBERS: Mapping[str, str] = {
    "T": "01-08 10-15 20-21 25-30 33 35 38-43 46-50 53-54 57-59 62-66 69-71 74-81 84-94 97-99 102-103 106-110",
    "V": "01-06",
    "R": "01-22",
    "C": "01-08",
    "O": "01-10",
    "E": "01-10",
    "S": "01-18",
    "SC": "00a 00b 00c 00d 00e 01-14",
    "Z": "01-32 39-51 55-69 75-87 90-96 100-106 110-113",
}


def _ids() -> Iterator[str]:
    for area, numbers in _NUMBERS.items():
        for part in numbers.split():
            first, dash, last = part.partition("-")
            if dash:
                yield from (f"{area}-{number:02}" for number in range(int(first), int(last) + 1))
            else:
                yield f"{area}-{part}"


IDS: tuple[str, ...] = tuple(_ids())

_DESIGN = "Superseded by the design: "
_LATER = "Belongs to a later part: "
_OUT = "Not part of the product: "
_NOTE = "A remark about the sources, without behaviour: "

DECIDED: Mapping[str, str] = {
    # Tools
    "T-03": _DESIGN + "a tool is a class with a pydantic schema (`core/tools/tool.py`), not a function with a dict.",
    "T-04": _DESIGN + "tools are coroutines, and what blocks goes to a thread; there is no tracker to pass.",
    "T-66": _DESIGN + "files are written by the ledger, with temporary names of their own (Z-82), as whole images.",
    "T-80": _DESIGN + "a change is known by its kind and both contents, not by an action that a tool names.",
    "T-89": _DESIGN + "pagers are switched off by variables; a command is never rewritten (Z-49).",
    "T-106": _OUT + "a wrapper of a cloud vendor's program; run_terminal_cmd runs it, and MCP servers exist for it.",
    "T-107": _OUT + "as T-106.",
    "T-108": _OUT + "a browser is what MCP servers offer; web_fetch reads pages.",
    # Validation
    "V-03": _DESIGN + "there is no function of its own to validate; each tool's `parse` does it.",
    "V-04": _DESIGN + "arguments are validated once, before the user is asked, and are immutable from then on.",
    "V-05": _DESIGN + "the boundary resolves paths for real (Z-90) instead of looking for `..` in a text.",
    # Registry, router, handlers
    "R-01": _DESIGN + "read, edit and command tools are three base classes; there are no payload kinds.",
    "R-02": _DESIGN + "as R-01.",
    "R-03": _DESIGN + "ToolContext has what a call may use.",
    "R-05": _DESIGN + "as R-01.",
    "R-07": _DESIGN + "two tools of one name are an error (Z-67), not a warning.",
    "R-11": _DESIGN + "results are events of the session.",
    "R-13": _DESIGN + "as R-01.",
    "R-15": _DESIGN + "no signature is looked at.",
    "R-18": _LATER + "MCP.",
    "R-19": _LATER + "MCP.",
    "R-20": _LATER + "other providers, each of which reads its own format.",
    "R-21": _LATER + "models that lack a feature; what a front or a role excludes is shown (SC-00d, SC-07).",
    "R-22": _OUT + "there is no old implementation to compare with.",
    # Concurrency
    "C-08": _DESIGN + "output is limited in memory and on disk (O-09, Z-110); processor and memory are the system's.",
    # Policy and sandbox
    "S-02": _DESIGN + "the policy is a pure function; its context is made anew for every call.",
    "S-06": _DESIGN + "the reason and what to do instead are said, in one wording for all tools.",
    "S-13": _DESIGN + "walls of the kernel (S-14) instead of lists of commands.",
    # Scenarios
    "SC-00c": _LATER + "more providers. Without a key the prompt is kept, and it is said where to put one.",
    "SC-00e": _LATER + "MCP. Pages from the network are framed already (`web_fetch`).",
    "SC-13": _OUT + "it drives another application.",
    # Where the sources disagree
    "Z-01": _NOTE + "who wrote another program.",
    "Z-17": _LATER + "the list of models comes from the provider.",
    "Z-18": _LATER + "pins and slash commands.",
    "Z-19": _NOTE + "numbers for test coverage.",
    "Z-20": _NOTE + "lists that appear twice.",
    "Z-21": _LATER + "MCP names.",
    "Z-22": _LATER + "signing in with more than a key.",
    "Z-25": _OUT + "the tools that were called mcp are not built (T-106, T-107, T-108).",
    "Z-29": _NOTE + "our server of the API is a real one, on a real socket (`tests/servers`).",
    "Z-30": _LATER + "MCP.",
    "Z-31": _NOTE + "sessions are JSONL of our own form, documented in `docs/session-format.md`.",
    "Z-32": _NOTE + "the audit log and the debug log are two files with their own options.",
    # MCP and the model's API
    "Z-100": _LATER + "MCP.",
    "Z-101": _LATER + "MCP. The schemas of our own tools are plain objects, which is shown for each.",
    "Z-102": _LATER + "MCP.",
    "Z-103": _LATER + "MCP.",
    "Z-106": _LATER + "MCP.",
    "Z-112": _NOTE + "the scenarios hold for files (SC-14).",
}
"""Ids without a test, with the reason. An id that a test names must not be here."""
