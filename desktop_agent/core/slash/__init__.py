"""Slash commands: a line that begins with `/` is carried out here and now, not sent to the model.

`declarations` lists the commands and reads the line: data that windows may import, since it imports nothing of what
runs. `prompt_commands` finds those that are prompts, and `commands` carries a command out, by the ops of its session.
"""
