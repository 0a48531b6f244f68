"""Command lines with what each must be judged as, one line a command, by theme."""
