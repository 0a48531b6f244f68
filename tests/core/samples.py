"""A filled-in event of every durable kind, for tests of codec and fold."""

from datetime import UTC, datetime

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    BlobRef,
    CacheMiss,
    ChangeSelection,
    Citation,
    Diagnostic,
    FileChange,
    FileDiagnostics,
    FileImage,
    FileOutcome,
    FolderIdentity,
    GuidanceFile,
    HostedCall,
    LeftOut,
    LineComment,
    ModelRef,
    OpaqueBlock,
    Pin,
    RedactedThinkingBlock,
    Rule,
    ScopeOffer,
    Summary,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Uncaptured,
    Usage,
    WebPage,
)

MODEL = ModelRef(provider="anthropic", model="claude-sonnet-5-5", base_url="http://127.0.0.1:1")
AT = datetime(2026, 11, 21, 21, 37, 0, 123456, UTC)
IMAGE = FileImage(digest="a" * 64, size=3, mode=0o644)
CHANGE = FileChange(
    id="1.1",
    path="src/a.py",
    kind="created",
    author="agent",
    before=None,
    after=IMAGE,
    added=3,
    new_folders=("src",),
)
CALL = ToolCall(id="toolu_1", name="edit_file", arguments={"path": "a.py", "nested": {"blob": [1, None, 2.5]}})

RULE = Rule(
    id="rule-1",
    effect="allow",
    kind="command",
    pattern="pytest",
    scope="project",
    created_at=AT,
    workspace="/w",
    expires_at=AT,
)

SUMMARY = Summary(
    goals=("Count the pages right",),
    decisions=("Count from one",),
    constraints=("No new dependency",),
    files=("src/a.py",),
    apis=("count_pages(path)",),
    todos=("Write a test",),
)

_BODIES: tuple[ev.KnownEvent, ...] = (
    ev.SessionOpened(
        session_id="20261121-213700-k3f9qx", workspace="/w", model=MODEL, approval="on_write", app_version="0.1.0"
    ),
    ev.PromptSubmitted(turn=1, prompt_id="p-1", text="Fix it\nplease"),
    ev.TurnStarted(turn=1, model=MODEL),
    ev.MessageDone(
        turn=1,
        message_id="msg_1",
        model=MODEL,
        content=(
            ThinkingBlock(thinking="hm", signature="sig"),
            RedactedThinkingBlock(data="xyz"),
            TextBlock(
                text="I'll look.", citations=(Citation(url="https://a.example", title="A", quote="q", seal="s"),)
            ),
            OpaqueBlock(
                payload={"type": "server_tool_use", "id": "s"},
                call=HostedCall(id="s", query="q", pages=(WebPage(url="https://a.example", title="A"),)),
            ),
            ToolUseBlock(id="toolu_1", name="edit_file", arguments={"path": "a.py"}),
        ),
        stop_reason="tool_use",
    ),
    ev.UsageReported(
        turn=1,
        usage=Usage(input_tokens=10, output_tokens=2, cache_read_tokens=5, cost_usd=0.25),
        model=MODEL,
        cache_miss=CacheMiss(reason="tools", tokens=9),
    ),
    ev.ToolCallStarted(
        turn=1, call=CALL, title="a.py", source="workspace", capabilities=("write_fs",), is_read_only=False
    ),
    ev.ApprovalRequested(
        turn=1,
        request=ApprovalRequest(
            call_id="toolu_1",
            tool="edit_file",
            title="Change a.py?",
            reason="It writes.",
            arguments_digest="b" * 64,
            changes=(CHANGE,),
            scopes=(ScopeOffer(scope="once", label="Allow once"),),
        ),
    ),
    ev.ApprovalResolved(turn=1, call_id="toolu_1", decision=Allowed(scope="session", rules=(RULE,))),
    ev.RuleRevoked(rule_id=RULE.id),
    ev.ChangesPrepared(turn=1, call_id="toolu_1", purpose="apply", changes=(CHANGE,)),
    ev.ChangesRecorded(
        turn=1, call_id="toolu_1", changes=(CHANGE,), uncaptured=(Uncaptured(path="big.bin", reason="too large"),)
    ),
    ev.ToolCallFinished(
        turn=1,
        call_id="toolu_1",
        state="completed",
        result=ToolResult(
            content="ok",
            metadata={"lines": 3},
            output=BlobRef(blob="c" * 64, size=9, media_type="text/plain"),
            images=(BlobRef(blob="d" * 64, size=9, media_type="image/png"),),
        ),
        duration_s=0.25,
    ),
    ev.Queued(prompt_id="p-2", text="and then"),
    ev.Unqueued(prompt_id="p-2"),
    ev.Queued(prompt_id="p-3", text="and this", is_steering=True),
    ev.Steered(turn=1, prompt_id="p-3", text="and this"),
    ev.Notice(level="warning", code="retrying", title="Busy.", hint="Trying again.", turn=1),
    ev.TurnEnded(turn=1, reason="completed", requests=2, duration_s=3.5),
    ev.ChangesUndone(
        selection=ChangeSelection(turn=1),
        change_ids=("1.1",),
        outcomes=(FileOutcome(path="src/a.py", state="restored", change_ids=("1.1",)),),
    ),
    ev.ChangesRedone(
        selection=ChangeSelection(turn=1),
        change_ids=("1.1",),
        outcomes=(FileOutcome(path="src/a.py", state="restored", change_ids=("1.1",)),),
    ),
    ev.ChangesCommitted(
        selections=(ChangeSelection(turn=1),),
        commit="0123456789abcdef0123456789abcdef01234567",
        parent="123456789abcdef0123456789abcdef012345678",
        branch="refs/heads/main",
        subject="Count the last page",
        message="Count the last page\n\nIt was left out.\n",
        paths=("src/a.py",),
        left_out=(LeftOut(path="src/a.py", hunk="0123456789abcdef", reason="HEAD has other lines in the same place."),),
        hooks_output="pre-commit: formatted",
        changed_by_hooks=("src/a.py",),
    ),
    ev.CommitUndone(commit="0123456789abcdef0123456789abcdef01234567"),
    ev.ReviewMarked(path="src/a.py", hunks=("0123456789abcdef",), state="kept"),
    ev.CommentAdded(
        comment=LineComment(id="c1", path="src/a.py", side="new", start=0, end=1, quote="x\n", text="Why?")
    ),
    ev.CommentsRemoved(comment_ids=("c1",)),
    ev.Rewound(turn=1, scope="files"),
    ev.ModeSet(model=MODEL, approval="always", is_planning=True),
    ev.PlanEdited(text="# Count pages\n\n- [ ] fix the last one\n"),
    ev.PlanAccepted(text="# Count pages\n\n- [ ] fix the last one\n"),
    ev.AgentSessionOpened(agent="claude", agent_session="s-1", name="Claude Code", version="1.2"),
    ev.SubagentStarted(turn=1, call_id="toolu_9", session_id="20261121-213700-k3f9qx", role="explore", model=MODEL),
    ev.SubagentEnded(
        turn=1,
        call_id="toolu_9",
        state="completed",
        result=ToolResult(content="It is in src/pages.py."),
        duration_s=9.5,
    ),
    ev.AgentOptionSet(agent="claude", option_id="model", value="opus"),
    ev.SessionRenamed(title="Fix the page count", is_generated=True),
    ev.GuidanceLoaded(
        files=(
            GuidanceFile(path="/home/me/AGENTS.md", scope="person", text="Be brief."),
            GuidanceFile(path="AGENTS.md", scope="workspace", text="Use tabs."),
            GuidanceFile(path="src/AGENTS.md", scope="folder", text="No tabs", is_cut=True),
        )
    ),
    ev.Pinned(pin=Pin(id="pin-1", text="keep it short", expires_at=AT)),
    ev.Unpinned(pin_id="pin-1", is_expired=True),
    ev.Compacted(
        compaction_id="k-1",
        through_turn=1,
        summary=SUMMARY,
        focus="the page count",
        is_automatic=True,
        tokens_before=9000,
        tokens_after=900,
    ),
    ev.SummaryEdited(compaction_id="k-1", summary=Summary(goals=("Count the pages from one",))),
    ev.CompactionUndone(compaction_id="k-1"),
    ev.CommandRun(text="/fork", output="A copy of this session is open.", opens="20261121-213900-k3f9qz"),
    ev.CommandRun(text="/pin remove 7", output="There is no pin 7.", is_error=True),
    ev.HookRan(
        turn=1,
        moment="PreToolUse",
        command="./check.sh",
        path="/home/me/.claude/settings.json",
        call_id="toolu_1",
        exit_code=0,
        duration_s=0.125,
        decision="ask",
        reason="It touches the build.",
        message="Look at this.",
        changed={"command": "make test"},
        context="The build is slow.",
        output="checked",
    ),
    ev.DiagnosticsFound(
        turn=1,
        call_id="toolu_1",
        files=(
            FileDiagnostics(
                path="src/app.py",
                server="basedpyright",
                digest="0" * 64,
                found=(
                    Diagnostic(
                        line=3, last_line=4, severity="error", message="“x” is not defined", code="E1", is_new=True
                    ),
                ),
                left_out=2,
            ),
        ),
    ),
    ev.SessionPinned(is_pinned=True),
    ev.SessionForked(source="20261121-213600-k3f9qw", title="Count the pages", before_turn=2),
    ev.SessionArchived(is_archived=True),
    ev.FolderAccepted(folder=FolderIdentity(device=64512, inode=4711)),
)

SAMPLE_EVENTS: tuple[ev.KnownEvent, ...] = tuple(body.stamped(seq, AT) for seq, body in enumerate(_BODIES, start=1))
