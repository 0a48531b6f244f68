"""Which files and imports Claude Code sends, beside those that we send. The differences are meant, and listed here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.extensions.instructions import InstructionReader, UserFolders
from desktop_agent.core.tools.secret_files import SecretNames
from tests.npm.programs import agents_folder
from tests.servers.script import reply, text
from tests.servers.threaded import serve

IMPORTED = {
    "plain.md": "@plain.md",
    "docs/dot.md": "@./docs/dot.md",
    "with blank.md": "@with\\ blank.md",
    "part.md": "@part.md#part",
    "data.json": "@data.json",
    "list.md": "\n- @list.md\n",
    "heading.md": "\n# Title @heading.md\n",
    "bold.md": "**@bold.md**",
    "span.md": "`@span.md`",
    "spans.md": "``x ` @spans.md ``",
    "fence.md": "\n```\n@fence.md\n```\n",
    "tildes.md": "\n~~~\n@tildes.md\n~~~\n",
    "comment.md": "\n<!-- @comment.md -->\n",
    "beside.md": "text <!-- @beside.md --> text",
    "mail.md": "me@mail.md",
    "bracket.md": "(@bracket.md)",
    "sentence.md": "See @sentence.md.",
    "comma.md": "@comma.md, and more",
}
FILES = {
    "CLAUDE.local.md": "local",
    ".claude/CLAUDE.md": "inside",
    ".claude/rules/deep/rule.md": "rule",
    ".claude/rules/some.md": "---\npaths: src/**\n---\nMARK[for some]",
    "AGENTS.md": "agents",
    "GEMINI.md": "gemini",
    "../CLAUDE.md": "above the repository",
    "../home/.claude/CLAUDE.md": "home",
    "../home/.claude/rules/rule.md": "home rule",
}
ONLY_OURS = {"agents", "gemini", "sentence.md", "comma.md"}
"""Files that are meant for all or other agents, and imports with a sign of the sentence behind them."""
ONLY_THEIRS = {"above the repository"}


@pytest.mark.nightly
def test_imports_and_rules_are_those_that_claude_code_follows(tmp_path: Path) -> None:
    program = agents_folder("@anthropic-ai/claude-agent-sdk-linux-x64") / "claude"
    root, home = tmp_path.resolve() / "repository", tmp_path.resolve() / "home"
    for name, content in {**FILES, **{name: name for name in IMPORTED}}.items():
        path = Path(os.path.normpath(root / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if "MARK" in content else f"MARK[{content}]")
    (root / "CLAUDE.md").write_text("MARK[CLAUDE]\n" + "\n".join(IMPORTED.values()))
    subprocess.check_call(["git", "init", "-q"], cwd=root)
    homes = UserFolders(home=home, config=home / "config", codex=home / ".codex", claude=home / ".claude")
    reader = InstructionReader(root, homes, lambda folder: SecretNames(folder).secret_at, lambda _: False)
    ours = marks("\n".join(file.text for file in reader.read((), ()).files))
    quiet = subprocess.DEVNULL
    with serve(*(reply(text("Done.")) for _ in range(8))) as model:
        environ = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        # The server knows fewer fields than it sends and may refuse them. What was asked is on record all the same.
        subprocess.call([program, "-p", "Hello"], cwd=root, env=environ, stdout=quiet, stderr=quiet, timeout=120)
        theirs = marks("\n".join(str(exchange.fields) for exchange in model.messages))
    assert "plain.md" in theirs, "it was asked"
    assert (ours - theirs, theirs - ours) == (ONLY_OURS, ONLY_THEIRS)


def marks(asked: str) -> set[str]:
    return set(re.findall(r"MARK\[([^\]]*)\]", asked))
