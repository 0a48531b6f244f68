"""The user's branches: list, switch, make and push them. Git decides what it allows, as the user configured it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.system.git.git_process import UsersGit, read_git
from desktop_agent.core.system.git.repository import NoStatus, Push, find_repository
from desktop_agent.core.system.processes.child import unhurried

MOST_SUBJECTS: Final = 8
_ENGLISH: Final = {"LANGUAGE": "en"}
"""What git says is compared with words of git."""
_UNKNOWN_USER: Final = (
    "could not read Username", "could not read Password", "Authentication failed", "Permission denied",
    "Host key verification failed", "terminal prompts disabled", "The requested URL returned error: 403",
)  # fmt: skip

Tell = Callable[[str], None]


async def list_branches(folder: Path) -> tuple[str, ...]:
    """Return the local branches, the newest commit first, and then those that only remotes have."""
    repository = await asyncio.to_thread(find_repository, folder)
    if repository is None:
        return ()
    argv = ("for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads", "refs/remotes")
    listed = await read_git(repository, *argv)
    names = [] if isinstance(listed, NoStatus) else os.fsdecode(listed).splitlines()
    local = [name.removeprefix("refs/heads/") for name in names if name.startswith("refs/heads/")]
    remote = (name.split("/", 3)[3] for name in names if name.startswith("refs/remotes/") and name.count("/") > 2)
    return tuple(dict.fromkeys([*local, *(name for name in remote if name != "HEAD")]))


async def switch_branch(folder: Path, name: str, tell: Tell, *, is_new: bool) -> None:
    """Raises `AgentError` with git's words. Cannot be cancelled: a killed git would leave half of the files."""
    git = await _git_in(folder)
    argv = ("switch", "--progress", *(("-c", name) if is_new else (name,)))
    before = await _current(git)
    code, _, said = await unhurried(git.run(*argv, environ=_ENGLISH, tell=tell))
    if not code or before != name == await _current(git):  # a hook after the switch may fail
        return
    hint = ""
    if "would be overwritten" in said:
        hint = "Nothing was changed. Commit or stash what would be lost, and switch then."
    title = f"Switching to the branch {name} failed."
    if is_new:
        title = f"The branch {name} was not made."
    raise AgentError(title, hint=hint, detail=without_controls(said))


async def plan_push(folder: Path) -> Push:
    """Find out what would be pushed where. Raises `AgentError` if there is nothing, or nowhere."""
    git = await _git_in(folder)
    branch = await _current(git)
    if not branch:
        raise AgentError("No branch is checked out, so there is nothing to push.", hint="Make a branch first.")
    shown = "--format=%(objectname)%00%(upstream)%00%(push:remotename)%00%(upstream:remotename)"
    known = (await git.ask("for-each-ref", shown, f"refs/heads/{branch}")).strip("\n")
    if not known:
        raise AgentError("The branch has no commit yet, so there is nothing to push.", hint="Commit something first.")
    commit, upstream, *wanted = known.split("\0")
    remotes = (await git.ask("remote")).splitlines()
    remote = next(filter(None, wanted), remotes[0] if len(remotes) == 1 else "origin")
    if remote not in remotes:
        hint = "Name one with `git config remote.pushDefault`." if remotes else "Add one with `git remote add`."
        raise AgentError("It is not known which remote to push to.", hint=hint)
    there = f"refs/remotes/{remote}/{branch}"
    is_new = not (await git.ask("for-each-ref", there)).strip()
    unknown = (commit, "--not", f"--remotes={remote}" if is_new else there, "--")
    count = int(await git.ask("rev-list", "--count", *unknown))
    if not count and not is_new:
        raise AgentError(f"{remote} has all commits of {branch}.")
    subjects = await git.ask("log", "--format=%s", f"-{MOST_SUBJECTS}", *unknown)
    return Push(
        remote=remote,
        branch=branch,
        commit=commit,
        is_new=is_new,
        has_upstream=bool(upstream),
        count=count,
        subjects=tuple(without_controls(subject) for subject in subjects.splitlines()),
    )


async def push(folder: Path, pushed: Push, tell: Tell) -> None:
    """Push, without questions from any program. Raises `AgentError` with the reason. Cancelling kills git."""
    git = await _git_in(folder)
    to = f"{pushed.commit}:refs/heads/{pushed.branch}"
    code, hook, said = await git.run("push", "--progress", "--", pushed.remote, to, environ=_ENGLISH, tell=tell)
    if code:
        title = f"Pushing to {pushed.remote} failed."
        hint = ""
        if "(non-fast-forward)" in said or "(fetch first)" in said:
            title = f"{pushed.remote} has commits that you do not have, so nothing was pushed."
            hint = "Get them with `git pull`, and push then."
        elif any(words in said for words in _UNKNOWN_USER):
            title = f"{pushed.remote} did not let git in, so nothing was pushed."
            hint = "Sign in with git in a terminal, or load your key into the SSH agent."
        lines = [line for line in f"{hook}{said}".replace("\r", "\n").split("\n") if not line.startswith("hint:")]
        raise AgentError(title, hint=hint, detail=without_controls("\n".join(lines)))
    if not pushed.has_upstream:
        await git.run("branch", f"--set-upstream-to={pushed.remote}/{pushed.branch}", pushed.branch)


async def _git_in(folder: Path) -> UsersGit:
    return await UsersGit.around(folder, "git failed, so nothing was changed.")


async def _current(git: UsersGit) -> str:
    """Return the branch that is checked out; an empty string while detached."""
    return (await git.run("symbolic-ref", "-q", "--short", "HEAD"))[1].strip()
