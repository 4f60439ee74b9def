"""RocketMQ's requests, by theme; importing this package registers them all.

Each file begins with what its requests do here where that differs from, or is not obvious in, RocketMQ.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
