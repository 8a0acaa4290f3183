"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.engines.cluster.patience import ClusterLostError as ClusterLostError
from unveil.engines.dask import Dask as Dask
from unveil.engines.threads import Threads as Threads
