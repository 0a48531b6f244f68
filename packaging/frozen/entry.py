"""The frozen program: the application, or Python for the processes that the application starts of its own modules."""

import runpy
import sys


def main() -> int:
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
