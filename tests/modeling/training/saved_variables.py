"""Saves every variable of a training, stacked over the replicas of its process: [L, ...]."""

import numpy as np


def saving(make_trainer, output):
    """`make_trainer`, whose trainers save their variables in `output` when they have trained."""

    def make_saving_trainer(*args, **options):
        trainer = make_trainer(*args, **options)
        train = trainer.train

        def train_and_save():
            done = train()
            copies = trainer.steps.strategy.experimental_local_results
            variables = {name: v.value for name, v in trainer.variables.items()}
            values = {n: np.stack([c.numpy() for c in copies(v)]) for n, v in variables.items()}
            values |= trainer.position
            np.savez(output, **{n.replace("/", "."): v for n, v in values.items()})
            return done

        trainer.train = train_and_save
        return trainer

    return make_saving_trainer
