"""NDArray as numpy.typing has it, without the cost: importing that package takes a thirtieth of a start."""

from typing import Any, TypeVar

import numpy as np

Scalar = TypeVar("Scalar", bound=np.generic)

NDArray = np.ndarray[tuple[Any, ...], np.dtype[Scalar]]
