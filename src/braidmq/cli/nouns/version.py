"""`braid version`."""


def command() -> None:
    """The version of this software."""
    from braidmq import __version__

    print(f"braid {__version__}")
