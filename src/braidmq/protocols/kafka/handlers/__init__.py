"""One file for each API key; importing this package registers them all.

Each file begins with what its API does here where that differs from, or is not obvious in, Kafka.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
