"""What a sample must be before anything is estimated from it.

In come numbers as a caller has them; out come arrays of finite numbers, or a refusal that says how many
are unusable. A number that is missing is refused, or dropped where the caller says so: never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sample(values: ArrayLike, *, drop_missing: bool = False) -> NDArray[np.float64]:
    """Return the values as one flat array of finite numbers.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        One value a replication.
    drop_missing : bool
        Leave NaN out instead of refusing it.

    Raises
    ------
    ValueError
        If there is not one axis, no value is left, or one is NaN or infinite.

    Examples
    --------
    >>> sample([1.0, float("nan"), 3.0], drop_missing=True).tolist()
    [1.0, 3.0]
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"a sample has one axis, got the shape {found.shape}")
    if drop_missing:
        found = found[~np.isnan(found)]
    if not found.size:
        raise ValueError("an interval needs at least one value, got none")
    require_finite(found)
    return found


def sample_table(columns: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Return named samples as one table: a row a replication, a column a policy, in the order given.

    Parameters
    ----------
    columns : mapping of str to array_like of float, shape (n,)
        At least two; entry i of all of them comes from replication i.

    Returns
    -------
    numpy.ndarray of float, shape (n, k)

    Raises
    ------
    ValueError
        If there are fewer than two columns, their lengths differ, or as `sample`.

    Examples
    --------
    >>> sample_table({"a": [1.0, 2.0], "b": [3.0, 4.0]}).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    require_rivals(columns)
    samples = [sample(values) for values in columns.values()]
    lengths = {name: found.size for name, found in zip(columns, samples, strict=True)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of one table have one length, got {lengths}")
    return np.column_stack(samples)


def require_rivals(columns: Mapping[str, ArrayLike]) -> None:
    """Raise `ValueError` unless there are at least two columns, which a comparison needs."""
    if len(columns) < 2:  # noqa: PLR2004 - a pair
        raise ValueError(f"a comparison needs at least two columns, got {list(columns)}")


def require_finite(values: NDArray[np.float64]) -> None:
    """Raise `ValueError` if a value is NaN or infinite, and say how many are."""
    unusable = int(np.count_nonzero(~np.isfinite(values)))
    if unusable:
        raise ValueError(f"{unusable} of {values.size} values are NaN or infinite")


def require_share(value: float, name: str) -> None:
    """Raise `ValueError` unless the value lies in (0, 1)."""
    if not 0 < value < 1:
        raise ValueError(f"{name} lies in (0, 1), got {value!r}")
