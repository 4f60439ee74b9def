"""What `spark-submit` runs: `braid pipeline run`, with the arguments that it was submitted with."""

import sys

from braidmq.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["pipeline", "run"]
    main()
