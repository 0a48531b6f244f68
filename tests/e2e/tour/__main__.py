"""`python -m tests.e2e.tour FOLDER [SCENE…]`: goes through these scenes, or all, and writes their pictures."""

import sys
from pathlib import Path

from tests.e2e.tour.playing import play, play_apart
from tests.e2e.tour.scenes import SCENES

album, names = Path(sys.argv[1]), sys.argv[2:]
if len(names) == 1:
    play(names[0], album)
else:
    for name in names or SCENES:
        if not play_apart(name, album):
            print(f"{name}: left out, this machine has no sandbox or no typeface for it")
