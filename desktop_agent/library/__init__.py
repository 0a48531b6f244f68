"""The parts of the library: the events and result of a turn, answers to questions, and a session's changes."""
