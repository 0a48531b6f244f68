"""The options of `desktop-agent costs`."""

from desktop_agent.cli.arguments import Commands, at_least_one, command


def add_arguments(commands: Commands) -> None:
    """Add the command."""
    summary = "Show what the sessions cost, by day and model: of all folders, or of that of --workspace."
    costs = command(commands, "costs", summary, "costs --days 7")
    costs.add_argument("--days", type=at_least_one, default=30, metavar="N", help="the last N days, today too (30)")
    by_help = "time, tokens, cost and errors by one of these, instead of costs by day and model"
    costs.add_argument("--by", choices=("day", "model", "tool", "folder"), help=by_help)
