"""The search through all conversations: what was asked, answered, run, printed and changed, in every session.

`index.SessionSearch` is the door. Below it: `pieces` cuts the lines of a journal into what can be found, `question`
turns what a user types into an FTS5 expression, `snippet` shows where it matches, `database` keeps the index in one
SQLite file. `process` brings it up to date beside the window. The index holds no text: what is shown of a hit is read
from its journal.
"""
