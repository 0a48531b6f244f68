from collections.abc import Mapping

from tests.e2e.tour.scene import Scene
from tests.e2e.tour.scenes.agents import AGENTS
from tests.e2e.tour.scenes.background import BACKGROUND
from tests.e2e.tour.scenes.brought import BROUGHT
from tests.e2e.tour.scenes.checking import CHECKING
from tests.e2e.tour.scenes.committing import COMMITTING
from tests.e2e.tour.scenes.demo import START, TURNS
from tests.e2e.tour.scenes.dialogs import DIALOGS
from tests.e2e.tour.scenes.elsewhere import CHINESE, DOUBLE, GERMAN
from tests.e2e.tour.scenes.extended import EXTENDED
from tests.e2e.tour.scenes.film import FILM
from tests.e2e.tour.scenes.history import HISTORY
from tests.e2e.tour.scenes.places import PLACES
from tests.e2e.tour.scenes.planning import PLANNING
from tests.e2e.tour.scenes.questions import QUESTIONS
from tests.e2e.tour.scenes.reviewing import REVIEW
from tests.e2e.tour.scenes.subagents import SUBAGENTS
from tests.e2e.tour.scenes.used import USED
from tests.e2e.tour.scenes.variants import VARIANTS
from tests.e2e.tour.scenes.welcome import WELCOME
from tests.e2e.tour.scenes.worktrees import WORKTREES
from tests.e2e.tour.scenes.writing import WRITING

SCENES: Mapping[str, Scene] = {
    "welcome": WELCOME,
    "start": START,
    "turns": TURNS,
    "review": REVIEW,
    "committing": COMMITTING,
    "worktrees": WORKTREES,
    "variants": VARIANTS,
    "writing": WRITING,
    "questions": QUESTIONS,
    "dialogs": DIALOGS,
    "background": BACKGROUND,
    "extended": EXTENDED,
    "brought": BROUGHT,
    "checking": CHECKING,
    "agents": AGENTS,
    "subagents": SUBAGENTS,
    "history": HISTORY,
    "used": USED,
    "planning": PLANNING,
    "places": PLACES,
    "german": GERMAN,
    "chinese": CHINESE,
    "double": DOUBLE,
    "film": FILM,
}


def states() -> list[str]:
    return [state for scene in SCENES.values() for state in scene.states]
