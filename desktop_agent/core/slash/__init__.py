"""Slash commands: a line that begins with `/` is carried out here and now, not sent to the model.

`parse` reads the line, `declarations` lists the commands, `own` finds those that people write themselves, and
`commands` carries them out, each by a module named after what it does. Windows may import the first three: they are
data, and import nothing of what runs.
"""
