"""`python -m mixnorm`, the same as `mixnorm`."""

import sys

from mixnorm.cli import main

if __name__ == "__main__":
    sys.exit(main())
