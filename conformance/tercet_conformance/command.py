"""The command ``tercet``: says what to install where its extra is missing. Only the standard library is needed here."""

import os
import sys
import threading
from time import monotonic

EXIT_USAGE, EXIT_INTERRUPTED = 2, 130
PATIENCE = 2.0
"""Seconds that a thread is waited for when all is said."""


def main() -> int:
    """Run the command, and return its exit code."""
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    leave(code)
    return code


def leave(code: int) -> None:
    """End the process where a thread that an implementation left behind would keep it for ever."""
    before = monotonic()
    left = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    for thread in left:
        if thread is not threading.current_thread():
            thread.join(max(0.0, before + PATIENCE - monotonic()))
            if thread.is_alive():
                sys.stdout.flush()
                os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the command, if what it needs is installed."""
    try:
        from tercet_conformance import cli
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "msgspec"):
            raise
        print(
            f"The command needs {error.name}, which is not installed. Install it with: pip install 'tercet[cli]'",
            file=sys.stderr,
        )
        return EXIT_USAGE
    return cli.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
