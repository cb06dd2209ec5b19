"""What tests ask of processes."""

import os


def is_running(process_id: int) -> bool:
    """Tell whether there is such a process."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
