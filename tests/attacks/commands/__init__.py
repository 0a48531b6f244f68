"""Tables of command lines with their expected verdicts, by theme."""
