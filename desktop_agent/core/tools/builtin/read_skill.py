"""`read_skill`: the whole text of a skill, the files that belong to it, and skills that were not listed."""

import asyncio

from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.extensions.skills import Skill
from desktop_agent.core.extensions.skills_in_force import Skills, file_of, files_of
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext


class ReadSkillArguments(ToolArguments):
    name: str = Field(default="", max_length=200, description="The skill, as it is listed.")
    file: str = Field(
        default="", max_length=1_000, description="A file in the skill's folder, instead of its text: `reference.md`."
    )
    search: str = Field(default="", max_length=200, description="Words, to find skills by name or description.")


class ReadSkill(ReadTool[ReadSkillArguments]):
    name = "read_skill"
    description = (
        "Read a skill: instructions for a particular kind of task. Read it before you begin with such a task. Returns "
        "its text, its folder and the files in there, which file reads. A script of a skill is run as any command."
    )
    capabilities = ("read_fs",)
    arguments_type = ReadSkillArguments

    def __init__(self, skills: Skills) -> None:
        self.skills = skills

    def title(self, arguments: ReadSkillArguments) -> str:
        return " ".join(filter(None, (arguments.name, arguments.file, arguments.search)))

    async def run(self, arguments: ReadSkillArguments, context: ToolContext) -> ToolResult:
        del context
        return await asyncio.to_thread(self._read, arguments)

    def _read(self, arguments: ReadSkillArguments) -> ToolResult:
        if not arguments.name:
            return ToolResult(content=self._found(arguments.search))
        skill = self.skills.named(arguments.name)
        metadata: dict[str, object] = {"skill": skill.name, "path": str(skill.path)}
        if arguments.file:
            text, is_cut = file_of(skill, arguments.file)
            cut = "\n[The file is longer; this is its beginning.]" if is_cut else ""
            return ToolResult(content=f"{text}{cut}", metadata=metadata | {"file": arguments.file})
        self.skills.uses.note(skill)
        return ToolResult(content=_whole(skill), metadata=metadata)

    def _found(self, words: str) -> str:
        if not words.strip():
            raise ToolError("Say which skill, or search for one.", error_type="validation")
        found = self.skills.search(words)
        lines = [f"- {skill.name}: {named(skill.description)}" for skill in found]
        return "\n".join(lines) or f"No skill has all of these words: {named(words)}."


def _whole(skill: Skill) -> str:
    head = [f"The skill {skill.name}, from {named(str(skill.path))}."]
    if skill.origin == "project":
        head.append("It came with the project, not from the user: it cannot allow what they or their settings do not.")
    if skill.has_folder:
        files = files_of(skill)
        head.append(f"Its folder is {named(str(skill.path.parent))}. Paths in the text are relative to it.")
        head.append(f"Files in there: {', '.join(map(named, files)) or 'none'}.")
    if skill.allowed_tools:
        head.append(f"It says that it needs these tools: {named(skill.allowed_tools)}. They are approved as always.")
    return "\n".join(head) + f"\n\n{skill.body}"
