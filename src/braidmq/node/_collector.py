"""The garbage collector, set up for a process that holds much and leaks nothing.

Nearly everything that is made for a request dies with its last reference. The collector's own rounds, which look at
every list and tuple that is alive, cost as much as all the rest of an append when a thousand partitions are written
to.
"""

import gc

YOUNG_OBJECTS = 50_000
MIDDLE_ROUNDS = 20
OLD_ROUNDS = 100


def tune_collector() -> None:
    """What exists now is taken to stay; the rest is looked at seldom."""
    if gc.isenabled():  # a process that had it off until now has only begun: there is nothing in it to be collected
        gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, MIDDLE_ROUNDS, OLD_ROUNDS)
    gc.enable()
