"""How parts of a line can look: bits that add up. A module of its own, because everything that draws needs no more."""

BOLD = 1
ITALIC = 2
STRIKE = 4
CODE = 8
LINK = 16
MUTED = 32
