"""The type `NDArray` of `numpy.typing`, defined here because importing that package slows start-up by 3%."""

from typing import Any, TypeVar

import numpy as np

Scalar = TypeVar("Scalar", bound=np.generic)

NDArray = np.ndarray[tuple[Any, ...], np.dtype[Scalar]]
