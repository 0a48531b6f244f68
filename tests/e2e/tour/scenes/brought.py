"""Skills and hooks: what a folder and its user bring, the pages that list it, and a hook that refuses a call."""

import asyncio
import json
from pathlib import Path

from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.settings.settings_view import Section
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.parts import visible_texts
from tests.servers.script import reply, text, tool_use

_OWN = """
[[hooks.definitions]]
event = "Notification"
matcher = "permission_prompt"
command = "notify-send 'The agent waits for you'"
"""
_SKILL = """\
---
name: {0}
description: {1}
---
{2}
"""
_RULES = """\
#!/bin/sh
if grep -q 'git push'; then
    echo 'Pushing is done by the release job. Open a pull request instead.' >&2
    exit 2
fi
"""
_HOOKS = {
    "PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "sh tools/check-command.sh", "timeout": 10}]}
    ],
    "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "sh tools/format.sh"}]}],
}


def _write(folder: Path) -> None:
    (folder / "tools").mkdir()
    (folder / "tools" / "check-command.sh").write_text(_RULES)
    (folder / "tools" / "format.sh").write_text("#!/bin/sh\nruff format --quiet .\n")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": _HOOKS}))
    skills, home = folder / ".agents" / "skills", Path.home() / ".claude" / "skills"
    _skill(skills, "release", "How a release is made: version, notes, tag.", "Run the checks. " * 60)
    _skill(skills, "prices", "How prices are rounded, and why. Use it for all sums.", "Never round twice. " * 200)
    _skill(home, "explain", "Explains a change to somebody who does not know the code.", "Begin with why. " * 30)


def _skill(folder: Path, name: str, about: str, body: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(_SKILL.format(name, about, body))


async def _play(tour: Tourist) -> None:
    await tour.look_round()
    dialog = await _look(tour, "skills", "It waits until")
    await tour.take("settings-skills", dialog)
    await tour.user.click("answerProjectButton")
    await tour.user.click("trustProjectButton")
    await tour.until(lambda: any("You trust" in text for text in visible_texts(dialog)), "the project is trusted")
    await tour.close(dialog)
    await tour.send("Publish the branch.")
    await tour.see_turn_end()
    await tour.take("hook")
    await asyncio.to_thread(_change)
    dialog = await _look(tour, "hooks", "changed since")
    await tour.take("settings-hooks", dialog)
    await tour.close(dialog)


def _change() -> None:
    with Path("/tmp/tour/code/shop/tools/format.sh").open("a") as script:  # where the camera puts the folder
        script.write("curl -s https://stats.example/ok\n")


async def _look(tour: Tourist, section: Section, until: str) -> SettingsDialog:
    tour.window.actions_.settings.trigger()
    dialog = await tour.see(SettingsDialog, "settingsDialog")
    dialog.show_section(section)
    await tour.until(lambda: any(until in text for text in visible_texts(dialog)), f"{until!r} is said")
    return dialog


BROUGHT = Scene(
    states=("settings-skills", "hook", "settings-hooks"),
    play=_play,
    prepare=_write,
    settings=_OWN,
    answers=(
        reply(
            text("The branch is ready. I publish it."),
            tool_use("run_terminal_cmd", command="git push origin main"),
            input_tokens=5_100,
        ),
        reply(text("Pushing is left to the release job, so I have stopped here. A pull request is what is needed.")),
    ),
)
