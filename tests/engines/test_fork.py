"""A process that is forked while its threads fit: the child fits as if nothing had been, and gets the same bits."""

import hashlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed

import unveil
from unveil.engines import Threads
from unveil.numerics.blas import _blas, single_threaded_blas

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]
ROWS = np.random.default_rng(0).normal(size=(40_000, 6)) + np.repeat([[0.0], [4.0], [9.0], [15.0]], 10_000, axis=0)
PATIENCE = 60  # seconds, after which a child has stopped for good


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """BLAS is left alone here."""


def fitted() -> str:
    """A digest of what fits find."""
    engine = Threads(2)
    kmeans = unveil.KMeans(4, random_state=0, n_init=1, engine=engine).fit(ROWS)
    mixture = unveil.GaussianMixture(4, random_state=0, max_iter=2, tol=0.0, init_params="random", engine=engine)
    mixture.fit(ROWS)
    pca = unveil.PCA(2, engine=engine).fit(ROWS)
    found = (kmeans.cluster_centers_, mixture.means_, mixture.covariances_, pca.components_)
    return hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest()


def threads_of_blas() -> list[int]:
    return [library.get_num_threads() for library in _blas().lib_controllers]


BEFORE = threads_of_blas()


def in_a_child(work) -> int:
    """How a child ends that is forked here and now, and does `work`: 0 if that returns True."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)  # which kills it
        ended = 9
        try:
            ended = 0 if work() else 1
        finally:
            os._exit(ended)
    return os.waitpid(child, 0)[1]


@pytest.fixture
def busy():
    """A thread that fits, again and again."""
    done, errors = threading.Event(), []

    def work():
        try:
            while not done.is_set():
                fitted()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    done.set()
    thread.join()
    assert not errors


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_child_of_a_fit_fits_the_same_and_has_its_threads_back(busy):
    wanted = digest()

    def same():
        free = threads_of_blas() == BEFORE
        return free and fitted() == wanted and threads_of_blas() == BEFORE

    for pause in (0.0, 0.003, 0.011, 0.017):
        time.sleep(pause)
        assert in_a_child(same) == 0


def test_who_forks_within_a_fit_goes_on_with_one_thread_until_its_end():
    before = threads_of_blas()
    with single_threaded_blas():
        assert in_a_child(lambda: set(threads_of_blas()) == {1}) == 0

        def leave():
            single_threaded_blas().__exit__()
            return threads_of_blas() == before

        assert in_a_child(leave) == 0
    assert threads_of_blas() == before


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    held, done = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_a_child(lambda: threads_of_blas() == BEFORE) == 0
    assert set(threads_of_blas()) == {1}
    done.set()
    thread.join()
    assert threads_of_blas() == BEFORE


def test_a_thread_that_compiles_does_not_keep_a_child_from_it():
    from numba.core.compiler_lock import global_compiler_lock

    held = threading.Event()

    def compile_something():
        with global_compiler_lock:
            held.set()
            time.sleep(0.3)

    thread = threading.Thread(target=compile_something)
    thread.start()
    held.wait()
    assert in_a_child(partial(global_compiler_lock._lock.acquire, timeout=5)) == 0
    thread.join()


def test_a_value_that_a_thread_is_finding_can_be_found_in_a_child():
    """With `functools.cached_property` of Python 3.11 the child waits for ever."""
    from unveil.core.once import cached_property

    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self):
            if not begun.is_set():
                begun.set()
                go_on.wait()
            return 3

    thread = threading.Thread(target=lambda: Slow().value)
    thread.start()
    begun.wait()
    assert in_a_child(lambda: Slow().value == 3) == 0
    go_on.set()
    thread.join()


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_a_pool_that_is_forked_within_fits_finds_the_same(busy):
    model = unveil.KMeans(4, random_state=0, n_init=1, engine=Threads(2))
    wanted = model.fit(ROWS).cluster_centers_.tobytes()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(model.fit, (ROWS,)).get(PATIENCE)
    assert found.cluster_centers_.tobytes() == wanted


@pytest.mark.filterwarnings("ignore::unveil.certificate.FitWarning")
def test_workers_of_joblib_find_the_same():
    model = unveil.KMeans(4, random_state=0, n_init=1, engine=Threads(2))
    found = Parallel(n_jobs=2)(delayed(model.fit)(ROWS) for _ in range(2))  # by loky, whose processes are spawned
    wanted = model.fit(ROWS).cluster_centers_.tobytes()
    assert [one.cluster_centers_.tobytes() for one in found] == [wanted] * 2


def digest() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted()
