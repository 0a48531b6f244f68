"""The 16 colours of terminals in both themes, each distinct from the grounds that output stands on.

Programs choose them by name and expect a dark screen: white is what stands out, black what recedes. Here white is the
text's colour and black the faintest that can still be read, in both themes.
"""

from desktop_agent.ui.theme.tokens import Palette

_LIGHT = (
    *("#5F636B", "#B3261E", "#1B7038", "#8A5A00", "#1D5FAE", "#8A3FA0", "#0B6E75", "#3A3D43"),
    *("#676B73", "#A5302A", "#17693A", "#7D5200", "#2456C7", "#9C2F8E", "#0A6B62", "#1D1F23"),
)
_DARK = (
    *("#8A919C", "#F2837B", "#7BCB8F", "#E3B85C", "#7FB4F5", "#CF9BEA", "#5CC8CF", "#C6CAD2"),
    *("#9BA2AD", "#FF9C94", "#93E0A5", "#F2CB78", "#9CC7FF", "#E0B3F7", "#7FDDE2", "#F4F5F7"),
)


def ansi_colours(palette: Palette) -> tuple[str, ...]:
    """Return the 16 colours: black, red, green, yellow, blue, magenta, cyan, white, then the bright ones."""
    return _DARK if palette.is_dark else _LIGHT
