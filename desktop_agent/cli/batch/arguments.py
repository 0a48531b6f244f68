"""The options of `desktop-agent batch`."""

from pathlib import Path

from desktop_agent.cli.arguments import Commands, above_zero, at_least_one, command, not_below_zero


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    summary = "Run many prompts, each in a copy of its folder, each with one line of result."
    batch = command(commands, "batch", summary, "batch tasks.jsonl --workers 4 --output results.jsonl")
    task_help = "the tasks, a JSON object a line: id, workspace, prompt, options (those of `run`)"
    batch.add_argument("tasks", type=Path, metavar="TASKS", help=task_help)
    where = "append the results here, and leave out tasks that have one (default: standard output)"
    batch.add_argument("--output", type=Path, metavar="F", help=where)
    count_help = "how many tasks at once (one for each processor, here or of the cluster)"
    batch.add_argument("--workers", type=at_least_one, metavar="N", help=count_help)
    batch.add_argument("--resume", action="store_true", help="go on with the results of --output, which must be there")
    retry_help = "try a task again, N times, when its worker died or its provider failed (1)"
    batch.add_argument("--retries", type=not_below_zero, default=1, metavar="N", help=retry_help)
    batch.add_argument("--max-cost", type=above_zero, metavar="X", help="start no more when all have cost X dollars")
    batch.add_argument("--scheduler", metavar="URL", help="run them on a Dask cluster: tls://host:8786")
    for name, what in (("ca", "who vouches for the cluster"), ("cert", "our certificate"), ("key", "the key of it")):
        help_text = f"a PEM file: {what} (default: as Dask is configured)"
        batch.add_argument(f"--tls-{name}", type=Path, metavar="F", help=help_text)
