"""The frozen program: the application, or Python for the processes that the application starts of its own modules."""

import os
import runpy
import sys


def restore_environment() -> None:
    """Take out what the starter has set: git, Python and others that we start must not load our libraries."""
    if "_PYI_ARCHIVE_FILE" not in os.environ:
        return
    for name in [name for name in os.environ if name.startswith("_PYI_")]:
        del os.environ[name]
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before


def main() -> int:
    restore_environment()
    match sys.argv[1:]:
        case ["-P", "-m", module, *rest] | ["-m", module, *rest]:
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-I", "-S", script, *rest]:
            sys.argv = [script, *rest]
            runpy.run_path(script, run_name="__main__")
        case ["-c", program, *rest]:
            sys.argv = ["-c", *rest]
            exec(program, {"__name__": "__main__"})  # noqa: S102 - as Python does
        case _:
            from desktop_agent.cli import main as run

            return run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
