"""Tables of what runs unasked, what asks, and what is forbidden."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.engine import Allow, Ask, Forbid, decide
from tests.core.policy.lines import bare, rule, run, sandboxed, verdict

READ = CallFacts(tool="read_file", capabilities=("read_fs",), paths=("a.py",))
EDIT = CallFacts(tool="edit_file", capabilities=("write_fs",), paths=("a.py",))
SEARCH = CallFacts(tool="web_search", capabilities=("network",))
MCP = CallFacts(tool="mcp__x", capabilities=("write_fs",), source="external")
WORD = CallFacts(tool="request_approval", capabilities=(), asks="May I delete the old tests?")
LOOK, TEST = run("git status"), run("pytest -q")
CALLS = {"read": READ, "edit": EDIT, "search": SEARCH, "mcp": MCP, "word": WORD, "look": LOOK, "test": TEST}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # Z-62: `always` means every call, also reading and network. S-05, S-10, Z-27.
        ("always", dict.fromkeys(CALLS, "Ask")),
        ("on_write", {"read": "Allow", "edit": "Ask", "look": "strict", "test": "Ask"}),
        ("on_request", {"read": "Allow", "edit": "Allow", "look": "strict", "test": "restricted"}),
        ("never", {"read": "Allow", "edit": "Allow", "look": "strict", "test": "restricted", "search": "Forbid",
                   "mcp": "Forbid", "word": "Forbid"}),
    ],
)  # fmt: skip
def test_each_policy_leaves_exactly_this_free_in_a_sandbox(policy: str, expected: dict[str, str]) -> None:
    """S-01, Z-03, Z-15: the policy and the capability decide, not a mark on the tool."""
    found = {name: decide(call, sandboxed(policy)) for name, call in CALLS.items()}
    shown = {name: _shown(verdict) for name, verdict in found.items()}
    assert shown == dict.fromkeys(CALLS, "Ask") | expected
    assert all(verdict.reason for verdict in found.values() if not isinstance(verdict, Allow))


def _shown(verdict: Allow | Ask | Forbid) -> str:
    return (verdict.confinement or "Allow") if isinstance(verdict, Allow) else type(verdict).__name__


@pytest.mark.parametrize("command", ["ls", "git status", "pytest -q", "rm x"])
@pytest.mark.parametrize("policy", ["always", "on_write", "on_request"])
def test_without_a_sandbox_every_command_asks(command: str, policy: str) -> None:
    """Z-94: an unconfined command is never run as if it were confined."""
    for context in (bare(policy), sandboxed(policy, sandbox="none")):
        found = verdict(command, context)
        assert isinstance(found, Ask)
        assert found.confinement == "none"
        assert not found.is_escalation
    assert "doctor" in str(verdict(command, bare(policy)))


def test_without_a_sandbox_and_without_anybody_to_ask_no_command_runs() -> None:
    """Z-04: no answer is a no. R-17: nothing is allowed by default."""
    assert isinstance(verdict("ls", bare("never")), Forbid)


@pytest.mark.parametrize("policy", ["on_write", "on_request", "never"])
def test_under_the_strict_sandbox_commands_run_unasked_where_nothing_can_be_written(policy: str) -> None:
    context = sandboxed(policy, sandbox="strict")
    for command in ("rm -rf /", "pytest", "git commit -m x", "curl x", "ls ; rm -rf ~"):  # Z-93: walls, not words
        assert verdict(command, context) == Allow("strict")
    assert isinstance(decide(EDIT, context), Forbid)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("git commit -m x", "git"), ("git push", "network"), ("curl https://x", "network"), ("pip install x",
        "network"),
        ("rm -rf ../x", "outside"), ("echo x > /etc/hosts", "outside"), ("cp a ~/b", "outside"), ("sudo make",
        "rights"),
        ("pytest && git add .", "git"), ("bash -c 'npm install'", "network"),
    ],
)  # fmt: skip
def test_what_obviously_needs_more_asks_up_front_to_run_outside(command: str, word: str) -> None:
    for policy in ("on_request", "on_write", "always"):
        found = verdict(command, sandboxed(policy))
        assert isinstance(found, Ask)
        assert (found.confinement, found.is_escalation) == ("none", True)
        assert word in found.reason
        assert found.cause in command
        assert found.cause
    assert verdict(command, sandboxed("never")) == Allow("restricted")


def test_a_command_that_stays_in_the_sandbox_is_asked_as_that() -> None:
    found = verdict("pytest -q", sandboxed("on_write"))
    assert isinstance(found, Ask)
    assert found.confinement_words == "In the sandbox: may write this folder, no network"
    assert found.rule_patterns == (("pytest -q", "pytest"),)
    assert isinstance(verdict("touch /tmp/x", sandboxed("on_request")), Allow)


def test_wanting_out_of_the_sandbox_is_asked_with_the_reason() -> None:
    """S-16: the refusal tells the model that it can go on."""
    wants = run("pytest", wants_unconfined=True, justification="The tests need a socket.")
    for policy in ("on_write", "on_request", "always"):
        for mode in ("restricted", "strict"):
            found = decide(wants, sandboxed(policy, sandbox=mode))
            assert isinstance(found, Ask)
            assert found.is_escalation
            assert "The tests need a socket." in found.reason
    refused = decide(wants, sandboxed("never"))
    assert isinstance(refused, Forbid)
    assert "approval policy" in refused.reason


def test_where_there_is_no_bash_only_what_every_shell_reads_alike_counts_as_reading() -> None:
    for line in ("ls | head", "if [ -f x ]; then cat x; fi"):
        assert verdict(line, sandboxed("on_write", shell="sh")) == Allow("strict")
    for line in ("[[ -f x ]] && ls", "((1)); ls", "ls &> /dev/null", "x+=1; ls"):
        assert isinstance(verdict(line, sandboxed("on_write", rule("ls"), shell="sh")), Ask)
        assert verdict(line, sandboxed("on_write")) == Allow("strict")


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
@pytest.mark.parametrize("command", ["ls", "git status", "make"])
def test_where_there_is_neither_bash_nor_sh_every_command_asks_and_says_why(command: str, policy: str) -> None:
    rules = (rule(command), rule(command, is_exact=True, is_unconfined=True))
    for context in (sandboxed(policy, *rules, shell=""), bare(policy, *rules, shell="")):
        found = verdict(command, context)
        assert isinstance(found, Forbid if policy == "never" else Ask)
        assert "neither bash nor sh" in found.reason
        assert isinstance(found, Forbid) or found.is_once


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [".git/config", "sub/.git/hooks/x", ".GIT/config", ".git", "x/../.git/HEAD", ".git./x"]
)
@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
def test_gits_own_files_are_read_but_never_edited(path: str, policy: str) -> None:
    everything = rule("**", kind="edit")
    assert isinstance(decide(replace(EDIT, paths=("a", path)), sandboxed(policy, everything)), Forbid)
    assert isinstance(decide(replace(READ, paths=(path,)), sandboxed("on_write")), Allow)


@pytest.mark.parametrize(
    "path", [".env", "sub/.env.local", "key.pem", "id_rsa", ".ssh/config", ".ENV", ".aws/credentials"]
)
def test_secrets_ask_under_every_policy_but_for_a_rule_that_names_them(path: str) -> None:
    for call in (replace(READ, paths=(path,)), replace(EDIT, paths=("a.py", path))):
        for policy in ("always", "on_write", "on_request"):
            found = decide(call, sandboxed(policy, rule("**", kind="edit"), rule("*", kind="tool")))
            assert isinstance(found, Ask)
            assert found.cause == path
            named = (rule(path, kind="edit"), rule("a.py", kind="edit"))
            assert isinstance(decide(call, sandboxed(policy, *named)), Allow)
        assert isinstance(decide(call, sandboxed("never")), Forbid)


@pytest.mark.parametrize(
    "command", ["cat .env", "ls && head -3 < ~/.ssh/id_rsa", "grep x sub/.ENV.local", "pytest --env=.env"]
)
def test_a_command_that_names_a_secret_asks_like_a_tool_that_reads_it(command: str) -> None:
    for policy, mode in (("on_write", "restricted"), ("on_request", "restricted"), ("on_request", "strict")):
        found = verdict(command, sandboxed(policy, sandbox=mode))
        assert isinstance(found, Ask)
        assert "secrets" in found.reason
    assert isinstance(verdict(command, sandboxed("never")), Forbid)


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
@pytest.mark.parametrize(
    "command",
    [
        "cat .env; python3 -m this", "python3 -m this < .env", "F=.env; cat $F; python3 -m this",
        "python3 -m this .env",
        'cat "$PWD/.env" && python3 -m this', "cat ~/.ssh/id_rsa | python3 -m this",
        "echo $(cat .env); python3 -m this",
        "( cat .env ); python3 -m this", "for f in .env; do cat $f; done; python3 -m this", "xargs cat < .env",
        "timeout 3 cat .env", "bash -c 'cat .env; python3 -m this'", "find .env -exec cat {} +", "git push .env",
        "python3 -m this > secrets.json", "f() { cat .env; }; python3 -m this",
    ],
)  # fmt: skip
def test_no_rule_for_a_command_answers_the_question_about_secrets(command: str, policy: str) -> None:
    """A rule answers only its own question, and no command names the files that it reads."""
    wide = [rule(name, is_unconfined=is_open) for name in ("python3 -m this", "cat", "git push", "xargs", "find")
            for is_open in (False, True)]  # fmt: skip
    exact = [rule(command, is_exact=True, is_unconfined=is_open) for is_open in (False, True)]
    for context in (sandboxed(policy, *wide, *exact), bare(policy, *wide, *exact)):
        found = verdict(command, context)
        assert isinstance(found, Forbid if policy == "never" else Ask), found
        if isinstance(found, Ask):
            assert (found.is_once, found.rule_patterns) == (True, ())
            assert "secrets" in found.reason


def test_our_own_folder_asks_before_it_is_edited() -> None:
    call = replace(EDIT, paths=(".desktop-agent/rules.toml",))
    assert isinstance(decide(call, sandboxed("on_request", rule("**", kind="edit"))), Ask)
    assert isinstance(decide(call, sandboxed("never")), Forbid)


def test_edits_are_allowed_by_rules_for_every_one_of_their_paths() -> None:
    both = replace(EDIT, paths=("src/a.py", "docs/b.md"))
    assert isinstance(decide(both, sandboxed("on_write", rule("src/**", kind="edit"))), Ask)
    rules = (rule("src/**", kind="edit"), rule("docs/*.md", kind="edit"))
    assert isinstance(decide(both, sandboxed("on_write", *rules)), Allow)
    forbidding = rule("docs/*", kind="edit", effect="forbid")
    assert isinstance(decide(both, sandboxed("on_request", *rules, forbidding)), Forbid)


def test_other_tools_are_allowed_by_their_name() -> None:
    assert isinstance(decide(SEARCH, sandboxed("always", rule("web_*", kind="tool"))), Allow)
    assert isinstance(decide(MCP, sandboxed("on_write", rule("mcp__x", kind="tool"))), Allow)
    assert isinstance(decide(MCP, sandboxed("on_write", rule("**", kind="edit"))), Ask)
    assert isinstance(decide(SEARCH, sandboxed("on_write", rule("web_*", kind="tool", effect="forbid"))), Forbid)
    assert isinstance(decide(READ, sandboxed("on_write", rule("read_file", kind="tool", effect="ask"))), Ask)
    assert isinstance(decide(replace(MCP, capabilities=("read_fs",)), sandboxed("on_write")), Allow)


# --- blocked commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocked", "command"),
    [
        # S-03, S-18; Z-92: `e""cho` is echo. Z-91: options in any form and order.
        ("echo", "echo forbidden"), ("echo", 'e""cho x'), ("echo", "ls; echo x"), ("echo", "/bin/echo x"),
        ("echo", "sudo env A=1 echo x"), ("echo", "ls $(echo x)"), ("echo", "ECHO x"), ("echo", "bash -c 'echo x'"),
        ("rm -rf /", "rm -fr /"), ("rm -rf /", "rm  -rf /"), ("rm -rf /", "sudo rm -r -f /"), ("rm -rf /", "rm -rf //"),
        ("rm -rf /", "rm --recursive --force /"), ("rm -rf", "rm -rf x"), ("rm -rf", "rm -Rf x"), ("rm",
        "find . -exec rm {} +"),
        ("git push", "git -C x push"), ("git push", "git --no-pager push -f"), ("git push", "git -c a=b push"),
        ("dd if=", "dd if=/dev/zero of=x"), ("rm", "ssh host rm x"), ("sudo", "sudo ls"), ("bash", "bash -c ls"),
        ("rm", "ls | xargs rm"), ("pytest", "uv run pytest"),
    ],
)  # fmt: skip
def test_a_blocked_command_is_forbidden_however_it_is_written(blocked: str, command: str) -> None:
    for context in (bare(blocked_commands=(blocked,)), sandboxed("never", blocked_commands=(blocked,))):
        exact = rule(command, is_exact=True, is_unconfined=True)
        found = verdict(command, replace(context, rules=(exact,)))
        assert found == Forbid(f"Command contains blocked pattern: {blocked}")


@pytest.mark.parametrize(
    ("blocked", "command"),
    [
        # Z-91, Z-92: words are compared, not texts.
        ("echo", "cat echo.txt"), ("rm -rf /", "rm -rf /tmp/x"), ("dd if=", "cat add if=1"), ("dd if=", "ls 'dd if='"),
        ("rm", "ls rm"), ("git push", "git commit -m push"), ("more", "cat more.txt"), ("less", "ls useless"),
    ],
)  # fmt: skip
def test_a_name_that_only_looks_blocked_is_not(blocked: str, command: str) -> None:
    assert not isinstance(verdict(command, sandboxed("on_request", blocked_commands=(blocked,))), Forbid)


@pytest.mark.parametrize("command", ["$X y", "eval $X", "echo 'x", "python -c x", "git $X", "ls | sh", "rm${IFS}x"])
def test_what_may_hide_a_blocked_command_is_asked(command: str) -> None:
    blocked = {"blocked_commands": ("rm", "git push")}
    assert isinstance(verdict(command, sandboxed("on_request", **blocked)), Ask)
    assert isinstance(verdict(command, sandboxed("never", **blocked)), Forbid)
    assert verdict(command, sandboxed("on_request")) == Allow("restricted")


def test_a_yes_to_the_very_line_answers_a_word_that_only_names_a_blocked_command() -> None:
    context = sandboxed("on_request", rule("grep -rn shutdown src"), blocked_commands=("shutdown",))
    found = verdict("grep -rn shutdown src", context)
    assert isinstance(found, Ask)
    assert (found.cause, found.rule_patterns) == ("shutdown", ())
    exact = rule("grep -rn shutdown src", is_exact=True)
    assert verdict("grep -rn shutdown src", replace(context, rules=(exact,))) == Allow("strict", exact)


def test_a_line_that_was_not_understood_can_only_be_allowed_once() -> None:
    found = verdict("eval $X", sandboxed("on_request", blocked_commands=("rm",)))
    assert isinstance(found, Ask)
    assert found.is_once
    assert found.rule_kind is None


def test_a_rule_that_asks_holds_also_where_it_is_not_sure() -> None:
    asking = rule("git push", effect="ask")
    for command in ("git push", "git $X", "git -c alias.z=push z", "foo 'git push'", "eval $X"):
        found = verdict(command, sandboxed("on_request", asking))
        assert isinstance(found, Ask), command
        assert "rule of yours" in found.reason
    assert isinstance(verdict("git status", sandboxed("on_request", asking)), Allow)


@pytest.mark.parametrize(
    "command",
    [
        *("./env git push", "sub/timeout 3 git push", "./bash -c 'git push'", "ENV git push", "./xargs git push"),
        *("/lib64/ld-linux-x86-64.so.2 --preload ./x.so git push", "gosu root git push"),
    ],
)
def test_a_wrapper_of_the_folder_is_no_wrapper_of_the_system(command: str) -> None:
    """A file called `env` in the folder may be any program, so the wrapped command's rule does not count."""
    rules = (rule("git push", is_unconfined=True), rule("git push"))
    assert isinstance(verdict(command, sandboxed("on_write", *rules)), Ask)


def test_an_empty_command_is_refused() -> None:
    assert verdict(" ", sandboxed()) == Forbid("Command must not be empty")  # S-03


# --- no way around ------------------------------------------------------------------------------------------------

_QUOTED = [
    "rm", r"\rm", "r''m", '"rm"', "'r'm", r"r\m", "/bin/rm", "RM", "r$X", "$'rm'", "r{m,}", "$(echo rm)", "r\\\nm",
]  # fmt: skip
_WRAPS = [
    "{}", "sudo {}", "env A=1 {}", "nice -n 3 {}", "nohup {} &", "timeout 3 {}", "xargs {}", "bash -c Q", "( {} )",
    "ls && {}", "ls; {}", "ls | {}", "ls\n{}", "{} # ls", "{} > /dev/null", "echo $({})", "echo `{}`", "cat <({})",
    "if ls; then {}; fi", "! {}", "while {}; do ls; done", "f() {{ {}; }}; f", "eval Q", "command {}", "A=1 {}",
    "find . -exec {} \\;", "ls \\\n && {}", "{{ {}; }}", "exec {}", "time {}", "echo \"$({})\"", "cat <<E\n$({})\nE",
    "case x in *) {};; esac", "x=$({}); ls", "trap Q EXIT", "ssh h {}", "echo ${{x:-$({})}}", "sh -lc Q",
]  # fmt: skip


def _wrapped(command: str, wraps: list[str]) -> str:
    """Wrap a command repeatedly, with matching quotes; backticks do not nest, so they are used once."""
    for wrap in wraps:
        if not ("`" in wrap and "`" in command):
            command = wrap.replace("Q", shlex.quote(command)) if "Q" in wrap else wrap.format(command)
    return command


@given(
    st.sampled_from(_QUOTED),
    st.lists(st.sampled_from(_WRAPS), min_size=1, max_size=3),
    st.sampled_from([" x", " -rf x", ""]),
)
def test_no_rewriting_of_a_forbidden_command_is_ever_allowed(word: str, wraps: list[str], rest: str) -> None:
    """S-17, Z-91, Z-92, Z-93."""
    command = _wrapped(word + rest, wraps)
    broad = (rule("ls"), rule("echo"), rule("find"), rule("r"), rule("cat"))
    for policy in ("always", "on_write", "on_request", "never"):
        blocked = verdict(command, sandboxed(policy, *broad, blocked_commands=("rm",)))
        assert not isinstance(blocked, Allow), command
        open_ = verdict(
            command, bare(policy, *(structs.replace(r, is_unconfined=True) for r in broad), blocked_commands=("rm",))
        )
        assert not isinstance(open_, Allow), command
    forbidden = verdict(command, bare("on_request", rule("rm", effect="forbid"), *broad))
    assert not isinstance(forbidden, Allow), command


_HANDED_ON = [
    "{}", "-x {}", "-- {}", "--run={}", "--run {}", "-c 'ls; {}'", "'!{}'", "a=1 {}", "sub {}", "-n 3 -q {}", "x:{}",
    "--a b {}",
    "'[\"{}\"]'", "< in {}", "\"$({})\"",
]  # fmt: skip
_PROGRAMS = [
    "prlimit", "git", "git -c a.b=c", "tar", "ssh h", "fd", "rg", "sort", "make", "npm", "./x", "sub/run.sh", "sudo a",
]  # fmt: skip


@given(
    st.one_of(st.sampled_from(_PROGRAMS), st.from_regex(r"[a-z][a-z0-9_.-]{0,9}", fullmatch=True)),
    st.sampled_from(_HANDED_ON),
    st.sampled_from(
        ["rm", "RM", "/bin/rm", "./rm", "r''m", "r\\m", "rm x", "rm -rf x", "{rm,x}", "r{m,}", "r?", "r$X"]
    ),
    st.lists(st.sampled_from(_WRAPS), max_size=2),
)
def test_a_program_that_is_handed_a_blocked_one_is_never_allowed(
    program: str, form: str, word: str, wraps: list[str]
) -> None:
    """No table knows all programs that start others, so every program counts as one that may."""
    is_quoted = "'" in form and "'" in word
    command = _wrapped(f"{program} {form.replace('{}', 'rm' if is_quoted else word)}", wraps)
    broad = (rule(program), rule(program.split()[0], is_unconfined=True), rule("ls"), rule("echo"))
    for policy in ("always", "on_write", "on_request", "never"):
        for context in (sandboxed, bare):
            found = verdict(command, context(policy, *broad, blocked_commands=("rm",)))
            assert not isinstance(found, Allow), command


@given(st.sampled_from(_QUOTED), st.lists(st.sampled_from(_WRAPS), min_size=1, max_size=3))
def test_no_rewriting_of_a_command_gets_by_a_rule_that_is_not_about_it(word: str, wraps: list[str]) -> None:
    command = _wrapped(f"{word} x", wraps)
    others = tuple(
        rule(name, is_unconfined=True) for name in ("ls", "cat", "echo", "find", "git push", "xargs", "sudo")
    )
    assert isinstance(verdict(command, bare("on_write", *others)), Ask), command


_PATHS = [".git/config", ".git", ".git/hooks/pre-commit"]
_REWRITES = ["./{}", "x/../{}", ".//{}", "{}", "a/b/../../{}", "sub/{}"]


@given(st.sampled_from(_PATHS), st.lists(st.sampled_from(_REWRITES), max_size=3), st.booleans())
def test_no_rewriting_of_a_path_gets_an_edit_into_git(path: str, rewrites: list[str], is_upper: bool) -> None:
    path = path.upper() if is_upper else path
    for rewrite in rewrites:
        path = rewrite.format(path)
    context = sandboxed("never", rule("**", kind="edit"), rule(path, kind="edit"))
    assert isinstance(decide(replace(EDIT, paths=(path,)), context), Forbid)


@pytest.mark.parametrize("path", ["**/.env", "conf/*.pem", "?/.env"])
def test_a_file_with_a_name_like_a_glob_gives_no_rule_that_means_others(path: str) -> None:
    found = decide(replace(EDIT, paths=(path,)), sandboxed("on_write"))
    assert isinstance(found, Ask)
    assert (found.cause, found.rule_kind, found.rule_patterns) == (path, None, ())


@pytest.mark.parametrize(
    ("paths", "patterns"),
    [
        (("a.py",), (("a.py", "**"),)),
        (("src/sub/a.py",), (("src/sub/a.py", "src/sub/**", "**"),)),
        (("src/a.py", "b.md"), (("src/a.py", "src/**", "**"), ("b.md", "**"))),
        (("src/a", "src/b", "src/x/c", "src/d"), (("src/**", "**"),)),
        (("a", "b", "c", "d"), (("**",),)),
        (("x*y/a.py",), (("**",),)),
        ((), (("**",),)),
    ],
)
def test_a_question_about_edits_offers_the_narrowest_rule_first(
    paths: tuple[str, ...], patterns: tuple[tuple[str, ...], ...]
) -> None:
    found = decide(replace(EDIT, paths=paths), sandboxed("on_write"))
    assert isinstance(found, Ask)
    assert found.rule_patterns == patterns


OF_SERVER = CallFacts(tool="git__push", capabilities=("network",), source="external", server="git")


@pytest.mark.parametrize("pattern", ["git__push", "git__*"])
@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
def test_a_rule_for_a_servers_tool_is_for_the_tool_as_it_was_allowed(policy: str, pattern: str) -> None:
    allowing = rule(pattern, kind="tool")

    def decided(change: str) -> object:
        return decide(structs.replace(OF_SERVER, tool_change=change), sandboxed(policy, allowing))

    assert isinstance(decided(""), Allow)
    for change in ("changed", "unknown"):
        question = decided(change)
        if policy == "never":
            assert isinstance(question, Forbid)
        else:
            assert isinstance(question, Ask)
            assert question.standing == allowing
            assert question.risks
            assert question.rule_patterns == ()


def test_without_a_rule_a_change_is_a_warning_and_a_tool_that_was_never_allowed_is_none() -> None:
    changed, new = (
        decide(structs.replace(OF_SERVER, tool_change=change), sandboxed()) for change in ("changed", "unknown")
    )

    assert isinstance(changed, Ask)
    assert isinstance(new, Ask)
    assert (bool(changed.risks), bool(new.risks)) == (True, False)
    assert changed.rule_patterns == new.rule_patterns == (("git__push", "git__*"),)


@pytest.mark.parametrize("effect", ["ask", "forbid"])
def test_rules_that_ask_or_forbid_hold_for_a_changed_tool(effect: str) -> None:
    facts = structs.replace(OF_SERVER, tool_change="changed")
    rules = rule("git__push", kind="tool", effect=effect), rule("git__*", kind="tool")

    found = decide(facts, sandboxed("on_write", *rules))

    assert isinstance(found, Forbid if effect == "forbid" else Ask)
