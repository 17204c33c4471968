"""``python -m dnumpy.native`` builds the module in C beside its sources."""

import sys

from dnumpy.native.build import NotBuilt, build

try:
    sys.stdout.write(f"{build()}\n")
except NotBuilt as error:
    sys.exit(str(error))
