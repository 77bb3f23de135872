"""The type `NDArray`, and how parts of a column are spread out row by row.

The type is that of `numpy.typing`, defined here because importing that package slows start-up by 3%.
"""

from typing import Any, TypeVar

import numpy as np

Scalar = TypeVar("Scalar", bound=np.generic)

NDArray = np.ndarray[tuple[Any, ...], np.dtype[Scalar]]


Whole = NDArray[np.int64]


def spread(begins: Whole, sizes: Whole) -> tuple[Whole, Whole]:
    """Return the rows of parts that begin there and have these sizes, one part after the other.

    The first result is the number of the part of each row, the second the row.
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) + (begins - (np.cumsum(sizes) - sizes))[owner]
