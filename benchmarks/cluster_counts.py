"""What a cluster did, by counting: bytes decoded and files opened on workers, bytes between client and scheduler."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit


def count_reads() -> None:
    """In this process: count Parquet files opened, footers read, and bytes decoded, from now on."""
    from pyarrow import parquet

    if hasattr(parquet, "unveil_counts"):
        parquet.unveil_counts.clear()
        return
    counts: Counter[str] = Counter()
    opened, batches = parquet.ParquetFile.__init__, parquet.ParquetFile.iter_batches

    def opening(self: Any, *args: Any, **options: Any) -> None:
        counts["opened"] += 1
        counts["footers"] += options.get("metadata") is None
        opened(self, *args, **options)

    def decoding(self: Any, *args: Any, **options: Any) -> Any:
        for batch in batches(self, *args, **options):
            counts["decoded"] += batch.nbytes
            yield batch

    parquet.unveil_counts = counts
    parquet.ParquetFile.__init__, parquet.ParquetFile.iter_batches = opening, decoding


def counted() -> dict[str, int]:
    """What was counted in this process."""
    from pyarrow import parquet

    return dict(parquet.unveil_counts)


class CountingProxy:
    """A port that passes all on to a scheduler, and counts the bytes each way."""

    def __init__(self, address: str) -> None:
        target = urlsplit(address)
        self.target = (target.hostname, target.port)
        self.bytes: Counter[str] = Counter()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.server.accept()
                far = socket.create_connection(self.target)
                for one, other, way in ((near, far, "sent"), (far, near, "received")):
                    threading.Thread(target=self._pass_on, args=(one, other, way), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 20):
                self.bytes[way] += len(data)
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """No more connections."""
        self.server.close()
