"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.sources.array import ArraySource as ArraySource
from unveil.sources.dask import DaskSource as DaskSource
from unveil.sources.dask import is_dask as is_dask
from unveil.sources.errors import DataError as DataError
from unveil.sources.files.scan import Scan as Scan
from unveil.sources.frame import from_frame as from_frame
from unveil.sources.frame import is_frame as is_frame
from unveil.sources.rows import sample_rows as sample_rows
from unveil.sources.rows import take as take
from unveil.sources.sequences import Sequences as Sequences
from unveil.sources.weighted import Weighted as Weighted
from unveil.sources.weighted import with_weights as with_weights
