"""Slash commands: a line that begins with `/` is run locally and at once, not sent to the model.

`declarations` lists the commands and parses the line. Windows can import it, since it is only data and imports nothing
that runs commands. `prompt_commands` finds the commands that are prompts, and `commands` runs a command, using the ops
of its session.
"""
