"""Amounts of money as people read them: US dollars, with as many digits as they are worth."""

import math
import re

_DECIMALS = ((0.1, 2), (0.01, 3), (0.0001, 4))
"""From so many dollars on, so many decimals are enough."""
_NEEDLESS = re.compile(r"(?<=\.\d\d)(\d*?)0+$")


def money(usd: float, *, is_least: bool = False) -> str:
    """Return `$12.34`, `$0.042` or `$0.0042`; with `is_least`, `≥ $12.34`, which is never more than the amount."""
    smallest = _DECIMALS[-1][0]
    if 0 < usd < smallest:
        return "> $0" if is_least else f"< ${smallest}"
    decimals = next((digits for least, digits in _DECIMALS if usd >= least), 2)
    if is_least:
        scale = 10**decimals
        usd = math.floor(round(usd * scale, 6)) / scale  # 0.29 * 100 is a little less than 29
    text = _NEEDLESS.sub(r"\1", f"{usd:,.{decimals}f}")
    return f"≥ ${text}" if is_least else f"${text}"


def cost_text(usd: float | None, *, is_partial: bool = False) -> str:
    """Return what something cost; nothing when that is not known at all."""
    return "" if usd is None else money(usd, is_least=is_partial)
