"""Dask in, Dask out: what a fitted estimator says of the rows of a Dask collection, computed when somebody asks.

A method such as `predict` that says something of each row by itself is wrapped here, once for all estimators. Given a
Dask array or frame it returns a Dask array at once, whose chunks are made on the workers by the very same method: the
collection is cut into chunks of whole partitions, so that every block has the shape that it has everywhere else, and
answers have the same bits as in memory. What travels to the workers is the estimator, once.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from types import FunctionType
from typing import Any

import numpy as np

from unveil.core.arrays import Array
from unveil.core.partition import partition_rows
from unveil.engines.threads import Threads
from unveil.sources.array import ArraySource
from unveil.sources.dask import DaskSource, is_dask

ROW_BY_ROW = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function"),
    *("transform", "score_samples", "density", "impute"),
)
"""Methods that say something of each row, whatever the other rows are."""
CHUNK_CELLS = 1 << 21  # of a chunk: 16 megabytes, large against the overhead of a task


def answer_lazily(kind: Any) -> None:
    """Wrap those methods of a class of estimators, own and inherited, that are not wrapped yet."""
    for name in ROW_BY_ROW:
        method = getattr_static(kind, name, None)
        if isinstance(method, FunctionType) and not hasattr(method, "answers_lazily"):
            setattr(kind, name, _lazy(method))


def _lazy(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is np.ndarray or not is_dask(X):
            return method(self, X, *args, **kwargs)
        return _of_collection(self, method.__name__, X, args, kwargs)

    answer.answers_lazily = True  # type: ignore[attr-defined]
    return answer


def _of_collection(estimator: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A Dask array of what a method says of the rows of a collection."""
    from dask import delayed

    source = DaskSource(X)
    asked = _Asked(_travelling(estimator), name, source.names, args, kwargs)
    sample = _one_answer(asked, source)
    cells = partition_rows(source.n_columns) * max(source.n_columns, 1)
    rows = source.cut(1 << (max(CHUNK_CELLS // cells, 1).bit_length() - 1))
    each = (
        {"chunks": (rows.chunks[0], *((size,) for size in sample.shape[1:]))} if sample.ndim > 1 else {"drop_axis": 1}
    )
    remote = delayed(asked, pure=False, traverse=False)
    return rows.map_blocks(_answered, remote, dtype=sample.dtype, meta=sample[:0], **each)


class _Asked:
    """A method of an estimator, and all it is called with but the rows."""

    def __init__(
        self, estimator: Any, name: str, names: tuple[str, ...] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.estimator, self.name, self.names, self.args, self.kwargs = estimator, name, names, args, kwargs

    def of(self, rows: Array) -> Array:
        """What the method says of rows."""
        source = ArraySource(rows, names=self.names)
        return np.asarray(getattr(self.estimator, self.name)(source, *self.args, **self.kwargs))


def _travelling(estimator: Any) -> Any:
    """The estimator as it goes to the workers: a task has one thread; what is lazy itself stays here."""
    light = copy.copy(estimator)
    for attribute, value in vars(estimator).items():
        if is_dask(value):
            delattr(light, attribute)
    if hasattr(light, "engine"):
        light.engine = Threads(1)
    return light


def _one_answer(asked: _Asked, source: DaskSource) -> Array:
    """What is said of one row: of ones, or of the first of the table where these are no row that it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return asked.of(np.ones((1, source.n_columns), source.dtype))
        except (ValueError, KeyError):
            return asked.of(np.ascontiguousarray(next(iter(source.read([0]))).rows[:1]))


def _answered(rows: Array, asked: _Asked, block_info: Any = None) -> Array:
    """What is said of a chunk, on a worker."""
    try:
        return asked.of(np.ascontiguousarray(rows))
    except Exception as error:
        if block_info:
            first = block_info[0]["array-location"][0][0]
            error.add_note(f"rows of this chunk are counted from 0; its first is row {first} of the table")
        raise
