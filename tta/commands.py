"""The commands of the package: a name and the module whose `run` it calls.

A new command is one module in flags/ and one line here. setup.py reads this file, so it imports
nothing.
"""

COMMANDS = {
    "tta-adapt": "tta.flags.adapt",
    "tta-beam-create-tfrecords": "tta.flags.beam_create_tfrecords",
    "tta-beam-score": "tta.flags.beam_score",
    "tta-classify": "tta.flags.classify",
    "tta-completion": "tta.flags.completion",
    "tta-create-tfrecords": "tta.flags.create_tfrecords",
    "tta-create-vectors": "tta.flags.create_vectors",
    "tta-create-vocab": "tta.flags.create_vocab",
    "tta-demo": "tta.flags.demo",
    "tta-export": "tta.flags.export",
    "tta-fit-pooling": "tta.flags.fit_pooling",
    "tta-models": "tta.flags.models",
    "tta-pretrain": "tta.flags.pretraining",
    "tta-probe": "tta.flags.probe",
    "tta-reconstruct": "tta.flags.reconstruct",
    "tta-rerank": "tta.flags.rerank",
    "tta-score": "tta.flags.score",
    "tta-serve": "tta.flags.serve",
    "tta-sts": "tta.flags.sts",
}
