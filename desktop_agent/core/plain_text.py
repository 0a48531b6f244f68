"""Text of others as it is shown in a terminal: it steers nothing and makes up no line."""


def without_controls(text: str) -> str:
    """Return `text` with control characters shown as escapes, but for line feeds and tabs.

    Those that turn the direction of writing are among them: with one, a name reads as another.
    """
    return text.translate(_CONTROLS)


def on_one_line(text: str) -> str:
    """Return `text`, such as a file's name, without control characters, line breaks and tabs: they are escapes."""
    return text.translate(_CONTROLS | _BREAKS)


_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {
    **{code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in _TURNING},
}
_BREAKS = {ord("\n"): "\\n", ord("\t"): "\\t", 0x2028: "\\u2028", 0x2029: "\\u2029"}
