"""The training loop: it learns, measures truly, stops in time and goes on as if it had not."""

import dataclasses
import os
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.faults import file_size_limit
from tests.modeling import numpy_tta
from tests.modeling.tiny import (
    arrays,
    batch,
    dataset,
    tiny_config,
    tiny_model,
    training_config,
)
from tests.tiny import without_graphs
from tests.tiny_dataset import MAX_LENGTH, sentences_of, write_shard
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import eval_batches, train_batches
from tta.errors import InputError
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training.config import LoopSettings
from tta.modeling.training.evaluation import Evaluator
from tta.modeling.training.optimizers import BertAdamW, WarmupLinearDecay
from tta.modeling.training.statistics import output_statistics
from tta.modeling.training.trainer import Trainer

pytestmark = pytest.mark.tensorflow

NUM_STEPS = 23
# An epoch is 11 batches of at most 100 tokens, in three shapes: XLA compiles for each.
SENTENCES = sentences_of({6: 24, 12: 32, 17: 25})


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "shard"
    write_shard(path, SENTENCES)
    return str(path)


def epoch_of(shard, epoch):
    return train_batches([shard], DEFAULT_FEATURES, 100, MAX_LENGTH, 0, 0, epoch)


def heldout_of(shard):
    return eval_batches([str(shard)], DEFAULT_FEATURES, 100, MAX_LENGTH, 0)


def evaluate(model, objective, batches, max_batches=None):
    return Evaluator(model, objective, batches.element_spec)(batches, max_batches)


def make_trainer(shard, output_dir, num_train_steps=NUM_STEPS, dropout=0.3, rate=1e-2, **options):
    """A trainer as run_pretraining.py makes it; every random state starts from seed 0."""
    keras.utils.set_random_seed(0)
    config = tiny_config(
        num_hidden_layers=1, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    values = {
        "model": LanguageModel(config),
        "optimizer": BertAdamW(WarmupLinearDecay(rate, 3, max(NUM_STEPS, num_train_steps))),
        "objective": LanguageAutoencoding(),
        "epoch_batches": lambda epoch: train_batches(
            [shard], DEFAULT_FEATURES, 100, MAX_LENGTH, 0, 0, epoch
        ),
        "heldout_batches": None,
        "loop": LoopSettings(
            num_train_steps=num_train_steps, save_checkpoints_steps=5, log_steps=4
        ),
    }
    return Trainer(output_dir=output_dir, **values | options)


def assert_same_end(trainer, expected):
    """Same weights, moments, random states and position.

    To the last bit only where operations are deterministic, a setting of a whole process:
    test_run_pretraining.py sees to that.
    """

    def variables(trainer):
        return [*trainer.model.variables, *trainer.optimizer.variables, *trainer.position.values()]

    for found, wanted in zip(variables(trainer), variables(expected), strict=True):
        found, wanted = np.asarray(found), np.asarray(wanted)
        # A key's bias has no gradient but rounding errors: 1e-2 is the least that counts.
        scale = max(1e-2, np.abs(wanted).max()) if wanted.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-3 * scale)


@pytest.fixture(scope="module")
def uninterrupted(shard, tmp_path_factory):
    trainer = make_trainer(shard, tmp_path_factory.mktemp("whole"))
    assert trainer.train()
    return trainer


def test_the_position_counts_steps_epochs_batches_and_real_tokens(uninterrupted, shard):
    tf.random.set_seed(0)
    last = list(epoch_of(shard, 2))[:1]
    tokens = 2 * sum(map(len, SENTENCES)) + sum(int(b["padding_mask"].numpy().sum()) for b in last)
    assert uninterrupted.position == {"step": 23, "epoch": 2, "batch": 1, "tokens": tokens}


class Signalled(LanguageAutoencoding):
    """Sends this process a signal during a step, if it is set; one graph for all of them."""

    number, last_step = signal.SIGTERM, 0

    def task(self, batch, step):
        def send(step):
            if step == self.last_step - 1:  # It is counted up at the end of the step.
                os.kill(os.getpid(), self.number)
            return np.int64(0)

        tf.numpy_function(send, [step], tf.int64)
        return super().task(batch, step)


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal; a test run in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def train_until(trainer, num_steps, number=signal.SIGTERM, step=0):
    """Goes on with a run from its last checkpoint; a signal comes in `step`."""
    Signalled.number, Signalled.last_step = number, step
    trainer.loop = dataclasses.replace(trainer.loop, num_train_steps=num_steps)
    return trainer.train()


def stop_by_signal(trainer, number, step, capfd):
    """Goes on with a run that a signal stops after `step`."""
    before = signal.getsignal(number)
    capfd.readouterr()
    if number == signal.SIGINT:
        with pytest.raises(KeyboardInterrupt):
            train_until(trainer, NUM_STEPS, number, step)
    else:
        assert not train_until(trainer, NUM_STEPS, number, step)
    assert trainer.step == step
    assert trainer.checkpoints.latest.stem == f"ckpt-{step}"
    assert signal.getsignal(number) == before
    err = capfd.readouterr().err
    assert "\r" not in err, "a log has whole lines"
    assert ("Ctrl-C again stops at once" in err) == (number == signal.SIGINT)
    assert err.endswith(f"stopped after step {step} of 23; repeat the command to resume\n")


def a_second_ctrl_c_stops_at_once(trainer, step):
    def interrupted_save():
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it saved")

    save, before = trainer.save, trainer.checkpoints.latest
    trainer.save = lambda: interrupted_save() if trainer.step == step else save()
    with pytest.raises(KeyboardInterrupt):
        train_until(trainer, NUM_STEPS, signal.SIGINT, step)
    trainer.save = save
    assert trainer.step == step
    assert trainer.checkpoints.latest == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def an_ignored_ctrl_c_stays_ignored(trainer, num_steps):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert train_until(trainer, num_steps, signal.SIGINT, num_steps - 1)
    assert trainer.step == num_steps
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_run_that_was_stopped_in_every_way_ends_like_one_that_was_not(
    shard, tmp_path, uninterrupted, ctrl_c, capfd
):
    """One trainer, traced once, goes back to its last checkpoint each time; the last is new."""
    trainer = make_trainer(shard, tmp_path, objective=Signalled())
    assert train_until(trainer, 5)  # at a regular checkpoint
    assert trainer.step == 5
    a_second_ctrl_c_stops_at_once(trainer, 9)
    assert trainer.checkpoints.latest.stem == "ckpt-5"
    stop_by_signal(trainer, signal.SIGTERM, 9, capfd)
    an_ignored_ctrl_c_stays_ignored(trainer, 11)  # at the end of an epoch
    stop_by_signal(trainer, signal.SIGINT, 13, capfd)  # in the second epoch
    last = make_trainer(shard, tmp_path)
    assert last.train()
    assert_same_end(last, uninterrupted)


@pytest.fixture(scope="module")
def computed():
    """A model, and of each sentence: the scores of all its tokens, and its normalized outputs."""
    model = tiny_model(hidden_dropout_prob=0.5)
    weights, per_sentence, normalized = arrays(model), [], []
    last = f"encoder/layer_{model.config.num_hidden_layers - 1}/feed_forward_norm/norm/"
    for ids in SENTENCES:
        hidden, _ = numpy_tta.encode(weights, model.config, np.array(ids))
        scores = numpy_tta.log_softmax(numpy_tta.logits(weights, hidden))
        per_sentence.append(scores[np.arange(len(ids)), ids])
        normalized.append((hidden[1:-1] - weights[f"{last}beta"]) / weights[f"{last}gamma"])
    return model, per_sentence, normalized


@pytest.mark.parametrize("boundary", [False, True], ids=["inner tokens", "all tokens"])
def test_evaluation_equals_a_direct_computation(shard, computed, boundary):
    model, per_sentence, normalized = computed
    if not boundary:
        per_sentence = [scores[1:-1] for scores in per_sentence]
    objective = LanguageAutoencoding(config=training_config(score_boundary_tokens=boundary))
    found = evaluate(model, objective, heldout_of(shard))
    values = found.values
    perplexities = [np.exp(-s.mean()) for s in per_sentence]
    np.testing.assert_allclose(values["nll"], -np.concatenate(per_sentence).mean(), rtol=1e-5)
    np.testing.assert_allclose(values["pseudo_perplexity_mean"], np.mean(perplexities), rtol=1e-4)
    np.testing.assert_allclose(
        values["pseudo_perplexity_median"], np.median(perplexities), rtol=1e-4
    )
    assert (found.num_sentences, found.num_tokens) == (81, sum(map(len, per_sentence)))
    assert "(ln)" in str(found)
    tokens = np.concatenate(normalized)
    share = np.square(tokens.mean(axis=0)).sum() / np.square(tokens).sum(axis=1).mean()
    np.testing.assert_allclose(values["common_component"], share, rtol=1e-5)


@without_graphs()
def test_evaluation_reads_as_many_batches_as_it_may():
    batches = dataset([batch([5, 3], seed=i) for i in range(4)])
    model, objective = tiny_model(), LanguageAutoencoding()
    assert evaluate(model, objective, batches, max_batches=3).num_sentences == 6
    assert evaluate(model, objective, batches).num_tokens == 4 * (3 + 1)


@pytest.mark.parametrize(
    "batches", [[], [batch([2, 1])]], ids=["no batch", "boundary tokens alone"]
)
@without_graphs()
def test_evaluation_of_nothing_is_refused(batches):
    with pytest.raises(InputError, match="the held-out set has no token to score"):
        evaluate(tiny_model(), LanguageAutoencoding(), dataset(batches))


def logged_tags(log):
    """The names of the values in a log for TensorBoard."""
    return {
        value.tag
        for record in tf.data.TFRecordDataset(str(log))
        for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value
    }


def test_evaluations_come_when_due_and_at_the_end_even_after_a_stop(shard, tmp_path, capfd):
    calls = []

    def heldout():
        calls.append(trainer.step)
        return heldout_of(shard)

    options = {
        "num_train_steps": 5,
        "heldout_batches": heldout,
        "loop": LoopSettings(num_train_steps=5, save_checkpoints_steps=2, eval_steps=2),
    }
    trainer = make_trainer(shard, tmp_path, **options)
    assert trainer.train()
    assert calls == [2, 4, 5]
    expected = trainer.last_evaluation
    out, err = capfd.readouterr()
    assert out == ""
    assert f"step 5: held-out {expected}" in err
    share = expected.values["common_component"]
    assert f"step 5: common component of the outputs {100 * share:.2f}%" in err
    (log,) = (tmp_path / "logs").iterdir()
    assert logged_tags(log) == {
        "train/loss",
        "train/head",
        "train/tokens_per_second",
        "train/learning_rate",
        "heldout/nll",
        "heldout/pseudo_perplexity_mean",
        "heldout/pseudo_perplexity_median",
        "heldout/common_component",
    }
    # As if killed after its last checkpoint, before the evaluation: the next start evaluates.
    trainer = make_trainer(shard, tmp_path, **options)
    assert trainer.train()
    assert calls == [2, 4, 5, 5]
    assert trainer.last_evaluation == expected


@without_graphs()
def test_a_loss_that_is_not_finite_stops_it_and_the_last_checkpoint_is_good(shard, tmp_path):
    class Model(LanguageModel):
        def loss_of(self, *args):
            good = tf.cast(trainer.optimizer.iterations < 4, tf.float32)
            return super().loss_of(*args) * good / good

    trainer = make_trainer(
        shard,
        tmp_path,
        model=Model(tiny_config(num_hidden_layers=1)),
        loop=LoopSettings(num_train_steps=NUM_STEPS, save_checkpoints_steps=4, log_steps=3),
    )
    with pytest.raises(InputError) as error:
        trainer.train()
    rule = "the loss became nan at step 5; the last good checkpoint is "
    assert str(error.value).startswith(f"{rule}{tmp_path}/checkpoints/ckpt-4.safetensors. ")
    again = make_trainer(shard, tmp_path, dropout=0.0)
    assert again.restore() == 4
    assert all(np.isfinite(v).all() for v in arrays(again.model).values())


@without_graphs()
def test_a_gradient_that_is_not_finite_never_reaches_a_checkpoint(shard, tmp_path):
    class Model(LanguageModel):
        def loss_of(self, *args):
            zero = tf.reduce_sum(self.head.bias) * 0.0  # whose root is 0, and its gradient is not
            return super().loss_of(*args) + tf.sqrt(zero)

    trainer = make_trainer(
        shard,
        tmp_path,
        model=Model(tiny_config(num_hidden_layers=1)),
        loop=LoopSettings(num_train_steps=9, save_checkpoints_steps=1, log_steps=1),
    )
    with pytest.raises(InputError, match=r"is no longer finite at step 1; .* is none yet"):
        trainer.train()
    assert trainer.checkpoints.latest is None


@without_graphs()
def test_a_damaged_shard_is_one_line(tmp_path):
    """test_pretrain.py has a held-out one."""
    damaged = tmp_path / "damaged"
    write_shard(damaged, SENTENCES[:14])  # one whole batch, and a part of others
    damaged.write_bytes(damaged.read_bytes()[:-5])
    trainer = make_trainer("", tmp_path, 2, epoch_batches=lambda _: heldout_of(damaged))
    with pytest.raises(InputError, match="a training shard is truncated or damaged: ") as error:
        trainer.train()
    assert "\n" not in str(error.value)


def test_a_missing_shard_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"a training shard .*no/such/shard"):
        make_trainer("no/such/shard", tmp_path).train()


def test_a_training_set_without_a_sentence_is_refused(tmp_path):
    write_shard(tmp_path / "empty", [])
    with pytest.raises(InputError, match="the training set holds no sentence"):
        make_trainer(str(tmp_path / "empty"), tmp_path).train()


def save_at(shard, output_dir, *steps):
    """A trainer with checkpoints of steps that it has not made."""
    trainer = make_trainer(shard, output_dir)
    for step in steps:
        trainer.position["step"] = step
        trainer.save()
    return trainer


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(shard, tmp_path, capfd):
    trainer = save_at(shard, tmp_path, 1)
    expected = np.asarray(trainer.model.head.bias).copy()
    trainer.model.head.bias.assign_add(np.ones_like(expected))
    trainer.position["step"] = 2
    trainer.save()
    folder = tmp_path / "checkpoints"
    path = folder / "ckpt-2.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    resumed = make_trainer(shard, tmp_path)
    assert resumed.restore() == 1
    np.testing.assert_array_equal(resumed.model.head.bias, expected)
    assert f"{path}: the checkpoint cannot be restored: " in capfd.readouterr().err
    assert not list(folder.glob("ckpt-2.*"))
    assert resumed.checkpoints.latest.stem == "ckpt-1"


def test_the_checkpoints_of_former_starts_are_deleted_in_a_folder_with_characters_of_globs(
    shard, tmp_path
):
    folder = tmp_path / "a [1]*"
    save_at(shard, folder, 5, 7)
    resumed = save_at(shard, folder, 9)
    assert resumed.restore() == 9
    assert sorted(p.stem for p in folder.rglob("ckpt-*")) == ["ckpt-7", "ckpt-9"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [folder.name]


def test_fewer_steps_than_were_done_are_noted(shard, tmp_path, capfd):
    save_at(shard, tmp_path, 10**6)
    assert make_trainer(shard, tmp_path).train()
    assert "this run has done 1,000,000 steps, more than --num_train" in capfd.readouterr().err


@pytest.mark.parametrize(("step", "is_resumable"), [(0, True), (5, False), (5, True)])
def test_a_run_that_goes_on_names_its_checkpoint(shard, tmp_path, capfd, step, is_resumable):
    if step:
        save_at(shard, tmp_path, step)
    trainer = make_trainer(shard, tmp_path)
    trainer.is_resumable = is_resumable
    trainer.train(until=step + 1)
    line = "resuming from the checkpoint of step 5\n"
    assert (line in capfd.readouterr().err) == (step == 5 and is_resumable)


def test_what_a_killed_run_leaves_among_the_checkpoints_is_no_hindrance(shard, tmp_path):
    save_at(shard, tmp_path, 5, 7)
    folder = tmp_path / "checkpoints"
    (folder / ".tta-0123456789abcdef.tmp").write_bytes(b"half")
    (folder / ".ckpt-9.safetensors.lock").write_text(".tta-0123456789abcdef.tmp\n")
    resumed = make_trainer(shard, tmp_path)
    assert resumed.restore() == 7
    resumed.position["step"] = 9
    resumed.save()
    names = [f"ckpt-{step}.safetensors" for step in (7, 9)]
    assert sorted(p.name for p in folder.iterdir()) == names


@without_graphs()
def test_a_worker_that_is_not_the_chief_leaves_the_checkpoints_alone(shard, tmp_path, monkeypatch):
    strategy = tf.distribute.get_strategy()
    monkeypatch.setattr(type(strategy.extended), "should_checkpoint", False)
    path = tmp_path / "checkpoints" / "ckpt-9.safetensors"
    path.parent.mkdir()
    path.write_bytes(b"half")
    assert make_trainer(shard, tmp_path, 2).train()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["checkpoints", path.name]


def test_a_disk_that_fills_up_leaves_the_last_checkpoint(shard, tmp_path):
    folder = tmp_path / "run [1]"

    def files():
        paths = (folder / "checkpoints").glob("ckpt-*")
        return {path.name: path.read_bytes() for path in paths}

    trainer = save_at(shard, folder, 5)
    before = files()
    trainer.position["step"] = 6
    with file_size_limit(20_000), pytest.raises(OSError, match="File too large") as error:
        trainer.save()
    assert str(folder / "checkpoints") in str(error.value)
    assert "{{" not in str(error.value)
    assert "\n" not in str(error.value)
    assert make_trainer(shard, folder).restore() == 5
    assert files() == before


@pytest.mark.parametrize("model_type", ["tta", "bilm", "unilm", "cloze"])
def test_standardized_outputs_have_mean_zero_and_deviation_one_and_scores_stay(model_type):
    model = tiny_model(num_hidden_layers=1, model_type=model_type)
    batches = [batch([7, 11, 3], seed=i) for i in range(4)]
    before = [np.asarray(model(one)["logits"]) for one in batches]
    model.standardize_outputs(*output_statistics(model, dataset(batches), 3))
    inner = [
        np.asarray(model(one)["hidden_states"])[row, 1 : length - 1]
        for one in batches[:3]
        for row, length in enumerate([7, 11, 3])
    ]
    outputs = np.concatenate(inner)
    np.testing.assert_allclose(outputs.mean(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(outputs.std(axis=0), 1.0, atol=1e-4)
    for one, logits in zip(batches, before, strict=True):
        np.testing.assert_allclose(np.asarray(model(one)["logits"]), logits, atol=2e-4)
