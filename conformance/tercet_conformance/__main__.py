"""``python -m tercet_conformance`` is the command ``tercet``."""

import sys

from tercet_conformance.command import main

sys.exit(main())
