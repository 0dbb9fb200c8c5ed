"""The commands of the package: a name and the module whose `run` it calls.

A new command is one module in flags/ and one line here. setup.py reads this file, so it imports
nothing large.
"""

from tta.registry import Registry

OURS = {
    "tta-adapt": "tta.flags.adapt",
    "tta-calibrate": "tta.flags.calibrate",
    "tta-completion": "tta.flags.completion",
    "tta-create-tfrecords": "tta.flags.create_tfrecords",
    "tta-create-vocab": "tta.flags.create_vocab",
    "tta-demo": "tta.flags.demo",
    "tta-export": "tta.flags.export",
    "tta-fit-pooling": "tta.flags.fit_pooling",
    "tta-models": "tta.flags.models",
    "tta-pretrain": "tta.flags.pretraining",
    "tta-rerank": "tta.flags.rerank",
    "tta-score": "tta.flags.score",
    "tta-serve": "tta.flags.serve",
    "tta-sts": "tta.flags.sts",
}

COMMANDS = Registry("command", OURS)

# Commands of earlier versions: what to do instead.
GONE = {
    "tta-beam-create-tfrecords": "a script does it on Apache Beam, see docs/scaling.md",
    "tta-beam-score": "a script does it on Apache Beam, see docs/scaling.md",
}
