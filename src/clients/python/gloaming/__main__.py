import sys

from .steps import main

sys.exit(main())
