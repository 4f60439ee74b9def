import numpy as np
import numpy.typing as npt

from braidmq.records._batch import Buffer

def find_fields(
    buffer: Buffer, spans: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], found: npt.NDArray[np.int64]
) -> int: ...
def find_headers(
    buffer: Buffer,
    counts: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
) -> bool: ...
