"""While the agent plans, nothing is changed; the accepted plan stays with the model until it is carried out."""

from desktop_agent.core.context.review_comments import comments_in
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import LineComment, TextBlock
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.transcript import replay
from desktop_agent.core.transcript.entries import todos_of
from tests.harness import Ground, Open, check_conversation

PLAN = "# Split the module\n\n- [ ] move `x`\n- [ ] test it\n"
WRITE: Reply = [Say("Here it is."), Call("write_plan", {"plan": PLAN})]
EDIT: Reply = [Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"})]
DONE: Reply = [Say("Done.")]


def offered(s: Open) -> set[str]:
    return {tool.name for tool in s.last_request.tools}


async def test_a_plan_is_written_edited_and_carried_out(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([EDIT, WRITE, DONE, WRITE, DONE, EDIT, DONE], approval="on_request") as s:
        await s.carry_out(ops.SetMode(is_planning=True), ev.ModeSet)
        assert (await s.prompt("Plan it")).reason == "completed"
        assert ground.read("a.py") == "x = 1\n", "an edit is refused, though edits need no answer"
        refused, _ = (event.result.content for event in s.rx.all(ev.ToolCallFinished))
        assert "While you plan, nothing is changed." in refused
        assert offered(s) >= {"read_file", "grep", "write_plan"}
        assert offered(s).isdisjoint({"edit_file", "apply_patch", "run_terminal_cmd", "delete_file"})
        assert "## Plan first" in s.last_request.system
        assert (s.session.transcript.turns.plan, s.session.transcript.session.is_planning) == (PLAN, True)

        edited = PLAN + "- [ ] changelog\n"
        await s.carry_out(ops.EditPlan(text=edited), ev.PlanEdited)
        await s.prompt("One more thing")
        assert any(f"It now reads:]\n\n{edited}" in text for text in texts(s))
        assert s.session.transcript.turns.plan == PLAN, "the agent has written it again"

        await s.carry_out(ops.CarryOutPlan(text=edited), ev.TurnEnded)
        assert ground.read("a.py") == "x = 2\n"
        assert edited.strip() in s.last_request.pinned
        assert "write_plan" not in offered(s)
        assert "## Plan first" not in s.last_request.system
        check_conversation(s.last_request)
        again = replay(s.rx.recorded)
        assert (again.turns.plan, again.session.is_planning) == (edited, False)
        assert again.session.approval == "on_request"


def texts(s: Open) -> list[str]:
    blocks = (block for message in s.last_request.messages for block in message.content)
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def ticking(*todos: dict[str, str], merge: bool = True) -> Call:
    return Call("todo_write", {"merge": merge, "todos": list(todos)})


async def test_what_is_done_is_ticked_in_the_plan_and_the_rest_of_it_stays(ground: Ground) -> None:
    plan = "1. [x] read\n\n```\n- [ ] test it\n```\n\n* [ ]  test it  \n  - [ ] test it\n- [] no step\n- [ ] log"
    moves: list[Reply] = [
        [ticking({"id": "2", "status": "in_progress"})],
        [ticking({"id": "2", "status": "completed"}, {"id": "5", "content": "more", "status": "completed"})],
        [ticking({"id": "a", "content": "Log", "status": "completed"}, merge=False)],
    ]
    comment = LineComment(id="c1", path="", side="new", start=8, end=9, quote="- [ ] log\n", text="Briefly")
    async with ground.session([*moves, DONE, WRITE, DONE]) as s:
        await s.carry_out(ops.AddComment(comment=comment), ev.CommentAdded)
        await s.carry_out(ops.CarryOutPlan(text=plan, approval="on_request"), ev.TurnEnded)
        assert s.session.transcript.turns.prompts[1].endswith("the plan, line 9:\n> - [ ] log\nBriefly")
        assert s.session.transcript.changed.comments == {}
        turns, session = s.session.transcript.turns, s.session.transcript.session
        begun = todos_of(s.rx.all(ev.ToolCallFinished)[0].result)
        assert [(todo.content, todo.status) for todo in begun or ()] == [
            ("read", "completed"),
            ("test it", "in_progress"),
            ("test it", "pending"),
            ("log", "pending"),
        ]
        assert turns.plan == plan.replace("* [ ]", "* [x]"), "only that step, and no other words"
        assert (session.approval, session.is_planning) == ("on_request", False)
        assert replay(s.rx.recorded).turns == turns
        await s.carry_out(ops.SetMode(is_planning=True), ev.ModeSet)
        await s.prompt("And now the next thing")
        assert (turns.plan, turns.plan_before) == (PLAN, ""), "another plan is not compared with the accepted one"


async def test_a_revision_is_compared_with_what_the_user_saw_before(ground: Ground) -> None:
    def write(text: str) -> Reply:
        return [Call("write_plan", {"plan": text})]

    comment = LineComment(id="c1", path="", side="new", start=0, end=1, quote="mine\n", text="Why?")
    async with ground.session([write("one"), DONE, write("two"), write("three"), DONE]) as s:
        await s.carry_out(ops.SetMode(is_planning=True), ev.ModeSet)
        await s.prompt("Plan it")
        await s.carry_out(ops.EditPlan(text="mine\n"), ev.PlanEdited)
        await s.carry_out(ops.AddComment(comment=comment), ev.CommentAdded)
        await s.carry_out(ops.SendComments(), ev.TurnEnded)
        turns = s.session.transcript.turns
        assert (turns.plan_before, turns.plan) == ("mine\n", "three\n")
        sent = s.session.transcript.turns.prompts[2]
        assert sent.endswith("Write the whole plan again.\n\nthe plan, line 1:\n> mine\nWhy?")
        (read,) = comments_in(sent)
        assert (read.path, read.quote, read.text) == ("the plan", "mine", "Why?")
        assert s.session.transcript.changed.comments == {}


async def test_a_plan_without_room_among_the_pins_goes_with_the_prompt(ground: Ground) -> None:
    long = "- [ ] many words\n" * 4_000
    async with ground.session([DONE, DONE, DONE]) as s:
        await s.carry_out(ops.CarryOutPlan(text=long), ev.TurnEnded)
        assert long.strip() in texts(s)[-1]
        assert s.last_request.pinned == ""
        for plan in ("- [ ] one", "- [ ] two"):
            await s.carry_out(ops.CarryOutPlan(text=plan), ev.TurnEnded)
        assert "two" in s.last_request.pinned
        assert "one" not in s.last_request.pinned, "a newer plan replaces it"


async def test_without_a_plan_there_is_nothing_to_carry_out(ground: Ground) -> None:
    async with ground.session([DONE]) as s:
        told = await s.carry_out(ops.CarryOutPlan(), ev.Notice)
        assert told.title == "There is no plan."
        assert s.session.transcript.turn == 0
