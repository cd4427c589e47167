"""Writes pickles that numpy 1 and numpy 2 load.

numpy 2 names ``numpy._core.multiarray`` in the pickle of an array. numpy before 1.26, which public evaluators require,
does not have that module. Both have ``numpy.core.multiarray``.
"""

import io
import pickle
from typing import Any

import numpy as np

_PROTOCOL = 4  # the last one that Python 3.7 reads
# Looks up the function that creates arrays by its old name, stores it as the first value in the memo of the unpickler,
# and takes it from the stack.
_OLD_NAME = (
    pickle.PROTO
    + bytes([_PROTOCOL])
    + pickle.GLOBAL
    + b"numpy.core.multiarray\n_reconstruct\n"
    + pickle.MEMOIZE
    + pickle.POP
)


def portable_pickle(document: Any) -> bytes:
    """Return a pickle of plain values and arrays that numpy 1 and numpy 2 load."""
    create = np.empty(0).__reduce__()[0]
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, _PROTOCOL)
    pickler.memo = {id(create): (0, create)}  # as if it had been written already
    pickler.dump(document)
    header = pickle.PROTO + bytes([_PROTOCOL])
    return _OLD_NAME + buffer.getvalue().removeprefix(header)
