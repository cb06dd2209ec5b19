"""Tells a person's Ctrl-C from an interrupt that an implementation raises, or one that it swallows."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from attrs import define


@define
class Watch:
    """What is known of the person at the keyboard."""

    is_kept: bool = False
    presses: int = 0


WATCH = Watch()
MOST = 3
"""So often is Ctrl-C pressed in one run by a person whom nothing answers: the implementation swallows it for ever."""
EXIT_INTERRUPTED = 130


@contextmanager
def watched() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C as ever, and remember that it was pressed.

    Where Ctrl-C does something else already, or is ignored, that is left as it is; so it is in a
    thread, which cannot change it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, press)
    WATCH.is_kept = True
    try:
        yield
    finally:
        WATCH.is_kept, WATCH.presses = False, 0
        signal.signal(signal.SIGINT, signal.default_int_handler)


def press(_: int, __: FrameType | None) -> None:
    """Remember that Ctrl-C was pressed, and raise it; end the process where that is of no use."""
    WATCH.presses += 1
    if WATCH.presses >= MOST:
        os.write(2, b"interrupted; the implementation did not let go, so nothing is reported\n")
        os._exit(EXIT_INTERRUPTED)
    raise KeyboardInterrupt


def forget() -> None:
    """Begin anew: what was pressed before was raised before."""
    WATCH.presses = 0


def is_persons(error: BaseException) -> bool:
    """Tell whether an error is a person's Ctrl-C; where nobody watches, every KeyboardInterrupt is."""
    return isinstance(error, KeyboardInterrupt) and (WATCH.presses > 0 or not WATCH.is_kept)


def raise_swallowed() -> None:
    """Raise a person's Ctrl-C again, where an implementation swallowed it."""
    if WATCH.presses:
        raise KeyboardInterrupt
