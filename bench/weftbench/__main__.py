"""`python3 -m weftbench`."""

import sys

from weftbench.command import main

sys.exit(main(sys.argv[1:]))
