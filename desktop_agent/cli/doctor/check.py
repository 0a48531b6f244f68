"""What a check finds."""

from typing import Literal

from msgspec import Struct

State = Literal["ok", "warning", "problem"]


class Check(Struct, frozen=True):
    """What was found about one thing. `problem`: the application cannot work; `warning`: a part of it cannot."""

    name: str
    state: State
    message: str
    hint: str = ""
