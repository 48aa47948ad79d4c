"""Where to run: designs of experiments as arrays of levels or of points in the unit cube.

Pure functions: numbers in, numbers out; no file, no experiment. `scaling` takes points of the cube to the
ranges of factors.
"""

from experiments.designs.factorial import FractionalDesign, fractional, two_level
from experiments.designs.scaling import label_index, linear, log, whole
from experiments.designs.sensitivity import morris, saltelli
from experiments.designs.space_filling import latin_hypercube, sobol

__all__ = [
    "FractionalDesign",
    "fractional",
    "label_index",
    "latin_hypercube",
    "linear",
    "log",
    "morris",
    "saltelli",
    "sobol",
    "two_level",
    "whole",
]
