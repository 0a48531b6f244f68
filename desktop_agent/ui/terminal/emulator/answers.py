"""What a terminal answers programs that ask: a few facts, in fixed words, and nothing that a program has printed.

An answer arrives as if it were typed. One with text of the asker's (a title, a setting by its name) would let a file
that is only looked at type into the shell.
"""

from typing import Final

from desktop_agent.ui.terminal.emulator.screen import Screen

IDENTITY: Final = "\x1b[?62;22c"
"""A VT220 with colours."""
_SECOND_IDENTITY: Final = "\x1b[>1;0;0c"


def answer(screen: Screen, parameters: str, between: str, final: str) -> str:
    """Return the answer to a sequence, empty if it asks for nothing that is answered."""
    if between:
        return ""
    match parameters, final:
        case (("" | "0"), "c"):
            return IDENTITY
        case ((">" | ">0"), "c"):
            return _SECOND_IDENTITY
        case "5", "n":
            return "\x1b[0n"
        case (("6" | "?6"), "n"):
            top = screen.top if screen.cursor.is_origin else 0
            return f"\x1b[{screen.cursor.row - top + 1};{screen.cursor.column + 1}R"
        case _:
            return ""


def answer_colour(command: str, text: str, ground: str) -> str:
    """Return the answer to a command (OSC) that asks for the colour of text or ground, given as `#RRGGBB`."""
    colour = {"10;?": text, "11;?": ground}.get(command)
    if colour is None:
        return ""
    parts = "/".join(colour[at : at + 2] * 2 for at in (1, 3, 5)).lower()
    return f"\x1b]{command[:2]};rgb:{parts}\x1b\\"
