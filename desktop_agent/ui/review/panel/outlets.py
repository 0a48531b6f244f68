"""Where the review sends what the user wants."""

from collections.abc import Callable
from typing import NamedTuple

from desktop_agent.core.protocol.ops import Op


class ReviewOutlets(NamedTuple):
    """What the parts of the review call, so that none of them has to forward for another."""

    submit: Callable[[Op], object]
    """Has the session carry this out."""
    open_file: Callable[[str], object]
    """Opens the file of this path."""
    show_call: Callable[[str], object]
    """Shows the call of this id in the conversation."""
    choose_mode: Callable[[str], object]
    """Shows diffs from now on `side_by_side` or `unified`."""
