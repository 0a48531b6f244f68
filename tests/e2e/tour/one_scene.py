"""`one_scene FOLDER SCENE`: plays one scene in the environment from `playing.play_apart`."""

import sys
from pathlib import Path

from tests.e2e.tour.playing import play

if __name__ == "__main__":
    play(sys.argv[2], Path(sys.argv[1]))
