"""The command ``tercet``: says what to install where its extra is missing. Only the standard library is needed here."""

import sys

EXIT_USAGE, EXIT_INTERRUPTED = 2, 130


def main() -> int:
    """Run the command, and return its exit code."""
    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


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
