"""Kernels on disk are loaded without the parts of numba that only compiling needs, and others are still compiled."""

import subprocess
import sys

import numpy as np
import pytest

from mapgauge import kernels
from mapgauge.kernels._cache import IS_TESTED

CODE = """
import sys
import numba, numpy
from mapgauge import kernels

print(kernels.resample.lengths_of(numpy.array([[0.0, 0.0], [3.0, 4.0]]), numpy.array([0, 2])))
print("numba.np.arraymath" in sys.modules)
print(numba.njit(lambda values: values.max())(numpy.arange(3.0)))
print("numba.np.arraymath" in sys.modules)
"""


def test_a_kernel_on_disk_is_loaded_without_the_compiler() -> None:
    if not IS_TESTED:
        pytest.skip("this version of numba loads kernels in its own way")
    kernels.resample.lengths_of(np.zeros((2, 2)), np.array([0, 2]))  # puts it on disk
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.split() == ["[5.]", "False", "2.0", "True"]
