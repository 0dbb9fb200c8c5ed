"""A session gives the same bits on one core and on all, alone and beside others."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.modeling.kits.onnx.graph import Graph
from tta.scoring.engines.onnxruntime.session import SMALL, Session

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(1000, 512)).astype(np.float32)  # more than a large weight's bytes
KERNEL = RNG.normal(size=(512, 2000)).astype(np.float32)


def graph():
    """log sum exp of a product, of the rows that the ids choose; one weight is not read."""
    made = Graph()
    ids = made.input("input_ids", np.int32, ["rows"])
    made.weight("nobody reads it", np.zeros(3, np.float32))
    rows = made.operator("Gather", made.weight("table", TABLE), ids)
    product = made.operator("Gemm", rows, made.weight("kernel", KERNEL))
    return made.output("sums", made.operator("ReduceLogSumExp", product, [1], keepdims=0))


@pytest.mark.parametrize("size", [1, SMALL, SMALL + 1])
def test_bits_do_not_depend_on_what_else_runs(size):
    session, ids = Session(graph()), RNG.integers(0, len(TABLE), size).astype(np.int32)
    alone, rows = session(input_ids=ids), TABLE[ids].astype(np.float64) @ KERNEL
    highest = rows.max(axis=1, keepdims=True)
    sums = highest[:, 0] + np.log(np.exp(rows - highest).sum(axis=1))
    np.testing.assert_allclose(alone, sums, rtol=1e-5)
    barrier = threading.Barrier(4)

    def run(_):
        barrier.wait()
        return session(input_ids=ids)

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(4)):
            np.testing.assert_array_equal(found, alone)


def test_small_batches_alone_take_all_cores_and_others_one():
    session, small = Session(graph()), np.zeros(SMALL, np.int32)
    threads = lambda: sorted(session._sessions)  # noqa: E731
    session(input_ids=small)
    assert threads() == [0]
    session(input_ids=np.zeros(SMALL + 1, np.int32))
    assert threads() == [0, 1]
    assert session._num_running == 0


def test_tables_are_not_copied_and_kernels_are():
    session = Session(graph())
    assert [*session._fed] == ["table"]
    assert [*session._kept] == ["kernel"]


def test_another_device_has_one_session_and_all_weights(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "other", PROVIDERS["cpu"])
    session = Session(graph(), "other")
    for size in (1, SMALL + 1):
        session(input_ids=np.zeros(size, np.int32))
    assert [*session._sessions] == [0]
    assert not session._fed


def test_a_start_that_failed_leaves_nothing_running(monkeypatch):
    session, small = Session(graph()), np.zeros(1, np.int32)

    def fail(self, num_threads):
        raise InputError("no memory")

    with monkeypatch.context() as broken:
        broken.setattr(Session, "_start", fail)
        with pytest.raises(InputError):
            session(input_ids=small)
    session(input_ids=small)
    assert [*session._sessions] == [0]
