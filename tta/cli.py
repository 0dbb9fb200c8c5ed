"""What every command shares: flag parsing, exit status, one-line errors, console scripts."""

import os
import runpy
import signal
import sys

from absl import app, flags

from tta._quiet import silence_tensorflow
from tta.errors import InputError

FAILED, WRONG_FLAGS, INTERRUPTED, TERMINATED = 1, 2, 130, 143


def run(main, passes_on=False):
    """Parses the flags, calls `main()` and exits: 0 done, 1 failed, 2 wrong flags.

    SIGTERM ends it as Ctrl-C does: what is half-written goes away.

    Args:
        main: called without arguments once the flags are parsed.
        passes_on: whether what stands after `--` is another program's: `main` is called with it, a
            list of str.
    """
    flags.FLAGS.set_gnu_getopt(True)
    others = []
    if passes_on and "--" in sys.argv:
        place = sys.argv.index("--")
        sys.argv, others = sys.argv[:place], sys.argv[place + 1 :]
    arguments = [others] if passes_on else []
    app.run(lambda _: _guarded(lambda: main(*arguments)), flags_parser=_parse)


def _parse(argv):
    try:
        rest = flags.FLAGS(argv)
    except flags.Error as error:
        rules = "; ".join(str(error).splitlines())  # absl gives one a line
        _stop(f"{rules} (--help lists the flags)", WRONG_FLAGS)
    except SystemExit:  # absl's --help has printed, and takes it for a failure
        sys.exit(0)
    if len(rest) > 1:
        _stop(f"unexpected argument {rest[1]!r}: every option is a --flag=value", WRONG_FLAGS)
    return rest


def _guarded(main):
    silence_tensorflow()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        main()
        sys.stdout.flush()
    except InputError as error:
        _stop(error, FAILED)
    except BrokenPipeError:  # whoever read our output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        told = f"{error.filename}: {error.strerror or error}" if error.filename else str(error)
        _stop(" ".join(told.split()), FAILED)
    except KeyboardInterrupt:
        _stop("interrupted", INTERRUPTED)
    except _Terminated:
        _stop("terminated", TERMINATED)


class _Terminated(BaseException):
    """SIGTERM came; nothing but the end of the command catches it."""


def _terminate(*_):
    raise _Terminated


def _stop(message, status):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(status)


def _script(module):
    """A console script that runs `module` as the main program, so that absl finds its flags."""

    def entry():
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    return entry


pretraining = _script("tta.run_pretraining")
rerank = _script("tta.run_rerank")
sts = _script("tta.run_sts")
score = _script("tta.scoring.run_score")
export = _script("tta.scoring.run_export")
fit_pooling = _script("tta.scoring.run_fit_pooling")
create_vocab = _script("tta.data.run_create_vocab")
create_tfrecords = _script("tta.data.run_create_tfrecords")
beam_create_tfrecords = _script("tta.data.run_beam_create_tfrecords")
beam_score = _script("tta.scoring.run_beam_score")
