"""Faults on demand: a disk that is full, a training that is killed or stopped after a step."""

import contextlib
import os
import resource
import signal


@contextlib.contextmanager
def file_size_limit(size):
    """No file of this process grows beyond `size` bytes meanwhile: what a full disk is like."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # An error, not the end.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def forget_last_checkpoint(folder, last, kept):
    """Leaves a finished run as if it had ended after the step `kept`, with a checkpoint there."""
    (folder / "model.weights.h5").unlink()
    (folder / f"checkpoints/ckpt-{last}.safetensors").unlink()
    assert (folder / f"checkpoints/ckpt-{kept}.safetensors").exists()


def signal_after(step, number):
    """The training of this process sends itself a signal when it has done `step` steps."""
    from tta.modeling.training.trainer import Trainer

    def signalling(self, until, batches=Trainer._batches):
        for batch in batches(self, until):
            if self.step == step:
                os.kill(os.getpid(), number)
            yield batch

    Trainer._batches = signalling


def killed_writer(folder, name):
    """Leaves what a writer of a new file leaves in a new folder when it is killed."""
    folder.mkdir()
    unfinished = ".tta-0123456789abcdef.tmp"
    (folder / unfinished).write_bytes(b"half")
    (folder / f".{name}.lock").write_text(f"{unfinished}\n")


def assert_killed(process, errors):
    """Waits for a process that sends itself SIGKILL; shows the file `errors` if it ended otherwise.

    Some kernels (gVisor) close the descriptors of a killed process before its last thread has
    ended. A thread of gRPC that waits for one then aborts, and the status is SIGABRT.
    """
    assert process.wait() in (-signal.SIGKILL, -signal.SIGABRT), errors.read_text()
