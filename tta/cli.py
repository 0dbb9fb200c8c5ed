"""What every command shares: flag parsing, exit status, one-line errors, console scripts."""

import runpy
import sys

from absl import app, flags

from tta.errors import InputError

FAILED, WRONG_FLAGS = 1, 2


def run(main):
    """Parses the flags, calls `main()` and exits: 0 done, 1 failed, 2 wrong flags.

    Args:
        main: called without arguments once the flags are parsed.
    """
    # A console script reaches the command through runpy; absl shows a module's flags in --help
    # only if that module is the main one.
    flags.FLAGS.set_gnu_getopt(True)

    def parse(argv):
        try:
            rest = app.parse_flags_with_usage(argv) if _wants_help(argv) else flags.FLAGS(argv)
        except flags.Error as error:
            _stop(f"{error} (--help lists the flags)", WRONG_FLAGS)
        if len(rest) > 1:
            _stop(f"unexpected argument {rest[1]!r}: every option is a --flag=value", WRONG_FLAGS)
        return rest

    def guarded(_):
        try:
            main()
        except InputError as error:
            _stop(error, FAILED)
        except OSError as error:
            _stop(f"{error.filename}: {error.strerror}" if error.filename else error, FAILED)
        except KeyboardInterrupt:
            _stop("interrupted", 130)

    app.run(guarded, flags_parser=parse)


def _wants_help(argv):
    return any(
        a.lstrip("-").partition("=")[0] in {"help", "helpfull", "helpshort", "helpxml", "h"}
        for a in argv[1:]
        if a.startswith("-")
    )


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
create_vocab = _script("tta.data.run_create_vocab")
create_tfrecords = _script("tta.data.run_create_tfrecords")
