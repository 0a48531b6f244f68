"""Spans of time as people read them."""


def duration_text(seconds: float) -> str:
    """Return a time as people say it: `6 ms`, `3.2 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
