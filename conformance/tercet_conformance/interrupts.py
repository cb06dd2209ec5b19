"""Tells a person's Ctrl-C from an interrupt that an implementation raises, or one that it swallows."""

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
    was_pressed: bool = False


WATCH = Watch()


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
        WATCH.is_kept = WATCH.was_pressed = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def press(_: int, __: FrameType | None) -> None:
    """Remember that Ctrl-C was pressed, and raise it."""
    WATCH.was_pressed = True
    raise KeyboardInterrupt


def forget() -> None:
    """Begin anew: what was pressed before was raised before."""
    WATCH.was_pressed = False


def is_persons(error: BaseException) -> bool:
    """Tell whether an error is a person's Ctrl-C; where nobody watches, every KeyboardInterrupt is."""
    return isinstance(error, KeyboardInterrupt) and (WATCH.was_pressed or not WATCH.is_kept)


def raise_swallowed() -> None:
    """Raise a person's Ctrl-C again, where an implementation swallowed it."""
    if WATCH.was_pressed:
        raise KeyboardInterrupt
