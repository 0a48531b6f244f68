"""What is known of a model in words, the same in the window, in commands and in conversations. The unknown is named."""

from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.prices import Rates

UNKNOWN = "unknown"

_UNITS = ((1_000_000, "M"), (1_000, "k"))


def size_words(tokens: int | None) -> str:
    """Return a number of tokens, rounded to three digits: `200k`, `1.05M`."""
    if tokens is None:
        return UNKNOWN
    for unit, sign in _UNITS:
        if tokens >= unit * 0.9995:
            return f"{tokens / unit:.3g}{sign}"
    return str(tokens)


def price_words(price: Rates | None) -> str:
    """Return what a million tokens cost, read and written: `$3 / $15`; `free` where they cost nothing more."""
    if price is None:
        return UNKNOWN
    if price.input == price.output == 0:
        return "free"
    return f"{rate_words(price.input)} / {rate_words(price.output)}"


def rate_words(dollars: float) -> str:
    """Return what a million tokens cost with as many digits as that has, four at most: `$3`, `$0.25`, `$0.075`."""
    whole = f"{dollars:.4f}".rstrip("0").rstrip(".")
    return f"${dollars:.2f}" if len(whole.partition(".")[2]) == 1 else f"${whole}"


def ability_words(model: KnownModel) -> str:
    """Return what a model takes and does: `images, tools, thinking`; what is not known is named as such."""
    abilities = {"images": model.takes_images, "tools": model.takes_tools, "thinking": model.thinks}
    if all(can is None for can in abilities.values()):
        return UNKNOWN
    said = [name if can else f"no {name}" for name, can in abilities.items() if can is not None]
    open_ = [name for name, can in abilities.items() if can is None]
    return ", ".join(said) + (f"; {', '.join(open_)}: {UNKNOWN}" if open_ else "")


def effort_words(model: KnownModel) -> str:
    """Return the levels of effort that may be asked for: `low, medium, high`, or `none`."""
    match model.takes_effort:
        case None:
            return UNKNOWN
        case False:
            return "none"
        case True:
            return ", ".join(model.efforts or ())
