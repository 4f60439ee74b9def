"""`python -m braidmq` is the braid command."""

from braidmq.cli import main

main()
