"""What `spark-submit` runs: the command of the house, with the arguments it was submitted with."""

import sys

from braidmq.cli import main

if __name__ == "__main__":
    sys.exit(main(["pipeline", "run", *sys.argv[1:]]))
