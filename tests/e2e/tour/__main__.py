"""`python -m tests.e2e.tour FOLDER [SCENE…]`: writes the pictures of these scenes, or of all."""

import sys
from pathlib import Path

from tests.e2e.tour.playing import play_apart
from tests.e2e.tour.scenes.every import SCENES

for name in sys.argv[2:] or SCENES:
    if not play_apart(name, Path(sys.argv[1])):
        print(f"{name}: left out, this machine has no sandbox or no typeface for it")
