"""`with unveil.checkpoint("night.ckpt"):` a notebook (`unveil.core.checkpoint`) that is kept in a file.

The file is a safetensors file as model files are: numbers and words, a digest, nothing that is run; it appears whole or
not at all, so a run that is killed while it writes leaves the file before. It holds which version wrote it, which tasks
it is of, and notes: for each computation its key, whether it has ended, and its outcome or state.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

import unveil
from unveil.core.checkpoint import CheckpointError as CheckpointError
from unveil.core.checkpoint import Note, Notebook, notebook, noting_in
from unveil.storage.atomic import PathLike, checked_target
from unveil.storage.file import ModelFileError, read, write
from unveil.storage.objects import Writer, restored

logger = logging.getLogger("unveil")

KIND = "checkpoint"
UNANSWERED = signal.SIGTERM, signal.SIG_DFL
ENDED = 143  # exit code of what SIGTERM ended: 128 + 15, as shells have it


@contextmanager
def checkpoint(path: PathLike, every: float = 60.0, keep: bool = False) -> Iterator[None]:
    """Keep a file from which the fits of this context go on, should they be killed.

    The same program, run again, resumes: what the file holds is not computed again, and the result has the bits of a
    run that nobody disturbed. Killed at any moment (power cut, ``kill -9``), at most `every` seconds of work are lost;
    Ctrl-C and SIGTERM write the file first. All that unveil does within the context is covered: restarts,
    `unveil.select`, several fits one after the other. A context variable, as that of `unveil.watch` is: it holds for
    the thread that opened it.

    Parameters
    ----------
    path : path
        The file. Where it is there it is resumed from, unless it is of other data, options or another version of
        unveil: then a ``CheckpointError`` names the difference. It is removed when the context ends without an error
        and nothing was interrupted.
    every : float, default=60
        Seconds between writes. A write never takes more than a twentieth of the time: where a state is large it is
        written less often.
    keep : bool, default=False
        Whether to keep the file at the end: the same program is then done at once.

    Examples
    --------
    >>> import pathlib, tempfile, unveil
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with unveil.checkpoint(pathlib.Path(folder, "night.ckpt"), every=60):
    ...         model = unveil.KMeans(2, n_init=5, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [0.5, 5.5]
    """
    if not isinstance(every, Real) or isinstance(every, bool) or not 0.0 <= every < float("inf"):
        raise ValueError(f"every must be a number of seconds from 0 on, got {every!r}")
    if notebook() is not None:
        raise ValueError(f"{os.fspath(path)}: a checkpoint within another would hold what that holds already")
    target = checked_target(path)
    kept = Notebook(os.fspath(path), partial(_save, target), float(every))
    if target.exists():
        _open(target, kept)
    try:
        with noting_in(kept), _signals_noted(kept):
            yield
    except CheckpointError:
        raise
    except BaseException:
        _keep(kept)
        raise
    if kept.presses:
        _keep(kept)
    elif keep:
        kept.write()
    else:
        with suppress(FileNotFoundError):
            target.unlink()


def _keep(kept: Notebook) -> None:
    """Write what there is for whoever goes on."""
    if kept.notes:
        kept.write()
        if not kept.failed:
            logger.warning("%s: written; the same run, begun again, goes on from there", kept.shown)


@contextmanager
def _signals_noted(kept: Notebook) -> Iterator[None]:
    """SIGTERM, unless somebody else answers it, ends the program by way of this context; Ctrl-C is counted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: Any) -> Any:
        kept.presses += 1
        after = before[signal.Signals(number)]
        if callable(after):
            return after(number, frame)
        raise SystemExit(ENDED)

    ours = [one for one, answer in before.items() if callable(answer) or (one, answer) == UNANSWERED]
    for one in ours:
        signal.signal(one, note)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, before[one])


# -- the file ----------------------------------------------------------------------------------------------------------


def _save(target: Path, kept: Notebook) -> None:
    """Write the notebook; a note that cannot be stored is left out, and computed again by whoever resumes."""
    writer, notes = Writer(), []
    for key, note in kept.notes.items():
        try:
            notes.append([key, note.ended, writer.stored(note.value)])
        except TypeError as error:
            logger.debug("%s: a note is left out: %s", kept.shown, error)
    header = {"kind": KIND, "tasks": kept.tasks, "draws": kept.draws, "notes": notes}
    write(target, header, writer.arrays)


def _open(target: Path, kept: Notebook) -> None:
    """Fill the notebook from a file."""
    try:
        header, arrays = read(target)
    except ModelFileError as error:
        said = str(error).removeprefix(f"{target}: ").replace("model file", "file")
        raise _damaged(kept, said) from error
    if header.get("kind") != KIND:
        raise CheckpointError(f"{kept.shown}: is a model file, and no checkpoint; name another file")
    if header.get("library_version") != unveil.__version__:
        raise CheckpointError(
            f"{kept.shown}: was written by unveil {header.get('library_version')}, and this is unveil "
            f"{unveil.__version__}, whose bits may differ: go on with that version, or remove the file to begin anew"
        )
    own = {name: np.array(array, order="K") for name, array in arrays.items()}  # which may be written to
    try:
        for task in header["tasks"]:
            kept.tasks.append({str(name): str(value) for name, value in task.items()})
        for draws in header["draws"]:
            kept.draws.append({str(name): int(value) for name, value in draws.items()})
        for key, ended, stored in header["notes"]:
            kept.notes[str(key)] = _found(bool(ended), restored(stored, own))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(kept, f"it is malformed ({error})") from error
    if len(kept.tasks) != len(kept.draws):
        raise _damaged(kept, "it is malformed (tasks and draws differ in number)")


def _found(ended: bool, value: Any) -> Note:
    note = Note(ended, lambda: value)
    note.used = False
    return note


def _damaged(kept: Notebook, why: str) -> CheckpointError:
    return CheckpointError(f"{kept.shown}: cannot be resumed from: {why}. Remove the file to begin anew")
