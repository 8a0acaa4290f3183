"""From what users hand in to a Dask client: a client, the address of a scheduler, or nothing, for the current one."""

from __future__ import annotations

from threading import Lock
from typing import Any

_lock = Lock()
_by_address: dict[str, Any] = {}  # clients that were made here, one for each scheduler


def client_of(given: Any) -> Any:
    """The client that `given` stands for, which waits for answers."""
    if given is None:
        return current_client()
    client = _at(given) if isinstance(given, str) else given
    if not is_client(client):
        taken = "a distributed.Client, the address of a scheduler, or None for the current client"
        raise TypeError(f"client must be {taken}, got {client!r:.80}")
    if client.asynchronous:
        raise ValueError("client must be one that waits for answers, got a distributed.Client(asynchronous=True)")
    return client


def is_client(value: Any) -> bool:
    """Whether `value` is a client of Dask, by what it can do; Dask is not imported to find out."""
    return all(callable(getattr(value, name, None)) for name in ("scatter", "gather", "compute", "nthreads"))


def current_client() -> Any:
    """The current Dask client, or an error that says how to get one."""
    kind = _client_class()
    try:
        return kind.current()
    except ValueError:
        raise ValueError(
            'engine="dask" found no Dask client in this process: make one first, client = distributed.Client(), '
            "or pass engine=client, or the address of a scheduler, engine='tcp://...:8786'"
        ) from None


def _at(address: str) -> Any:
    """A client of the scheduler at an address; the same one again for as long as it is connected."""
    with _lock:
        known = _by_address.get(address)
        if known is None or known.status != "running":
            try:
                known = _by_address[address] = _client_class()(address, set_as_default=False)
            except OSError as error:
                raise ConnectionError(f"no Dask scheduler answers at {address!r}: {error}") from error
        return known


def _client_class() -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('engine="dask" needs dask and distributed: install the extra, unveil[dask]') from error
    return Client
