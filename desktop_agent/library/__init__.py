"""The parts of the library: what an `Agent` hears of a turn, how questions are answered, what a session changed.

Programs import `desktop_agent`, not this.
"""
