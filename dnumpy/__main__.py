"""The command line, ``python -m dnumpy``: see `dnumpy.api.script`."""

from __future__ import annotations

import sys

from dnumpy.api.script import main

if __name__ == "__main__":
    main(sys.argv[1:])
