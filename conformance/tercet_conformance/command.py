"""The command ``tercet``: says what to install where its extra is missing. Only the standard library is needed here."""

import sys

EXIT_USAGE = 2


def main() -> int:
    """Run the command, and return its exit code."""
    try:
        from tercet_conformance.cli import run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "msgspec"):
            raise
        print(
            f"The command needs {error.name}, which is not installed. Install it with: pip install 'tercet[cli]'",
            file=sys.stderr,
        )
        return EXIT_USAGE
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
