"""The objectives of autoencoders: the bound, its weights, beta over the steps, the measures."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.numpy_tta import log_softmax
from tests.modeling.tiny import Vocabulary, arrays, batch, training_config
from tests.tiny import without_graphs
from tests.tiny_dataset import MAX_LENGTH, sentences_of, write_shard
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import eval_batches, train_batches
from tta.errors import InputError
from tta.modeling.config.training import LossSettings
from tta.modeling.models.language_model import build_model
from tta.modeling.training.evaluation import Evaluator
from tta.modeling.training.optimizers import BertAdamW, WarmupLinearDecay
from tta.modeling.training.trainer import Trainer
from tta.papers.nar.objectives import (
    Autoencoding,
    FullVariationalAutoencoding,
    VariationalAutoencoding,
    cyclical_beta,
)
from tta.papers.nar.tests.test_autoencoder import TYPES, autoencoder_config, make

pytestmark = pytest.mark.tensorflow

LENGTHS = [7, 3, 5]


def fixed_samples(model, latent):
    """Makes the model draw these latent vectors."""
    object.__setattr__(model.connector, "sample", lambda *_: tf.constant(latent))
    return model


def loss_of(objective, model, inputs, step=0, weights=None):
    task = objective.task(inputs, step)
    weights = task.weights / np.sum(task.weights) if weights is None else weights
    return objective.loss(model, task._replace(weights=weights))


def plain_losses(model, latent, inputs):
    """-log p of each text given its latent vector, without the begin token: [B], in NumPy."""
    states = model.decode(latent, inputs["padding_mask"], inputs["input_ids"])
    logits = np.array(model.head(states, model.token_table), np.float64)
    mask = np.array(inputs["padding_mask"])
    return np.array([
        -sum(log_softmax(row[i])[ids[i]] for i in range(1, keep.sum()))
        for row, ids, keep in zip(logits, inputs["input_ids"], mask, strict=True)
    ])  # fmt: skip


def plain_kls(model, inputs):
    """The KL of each text and dimension: [B, P], in NumPy."""
    state = np.array(model.encode(inputs)["hidden_states"], np.float64)[:, 0]
    mean, log_variance = np.split(state @ arrays(model)["connector/kernel"], 2, axis=1)
    return 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance)


def plain_kl(model, inputs):
    return plain_kls(model, inputs).sum(axis=1)


@pytest.mark.parametrize("kind", TYPES)
def test_ae_is_the_mean_over_the_predicted_tokens(kind):
    model, inputs = make(kind), batch(LENGTHS)
    loss = loss_of(Autoencoding(), model, inputs)
    latent = model.encode_latent(inputs)["mean"]
    expected = plain_losses(model, latent, inputs).sum() / (sum(LENGTHS) - len(LENGTHS))
    assert float(loss.total) == pytest.approx(expected, rel=1e-4)
    assert set(loss.parts) == {"head"}


@pytest.fixture(scope="module")
def vae():
    latent = np.random.default_rng(1).normal(size=(9, 7)).astype(np.float32)
    return make("pad", variational=True), latent


@pytest.mark.parametrize(("beta", "threshold"), [(0.0, 0.0), (1.0, 0.0), (0.7, 2.0)])
def test_vae_is_the_evidence_lower_bound_per_token(vae, beta, threshold):
    """Each dimension counts a threshold of the KL at least."""
    model, latent = vae
    inputs = batch(LENGTHS)
    fixed_samples(model, latent[:3])
    objective = VariationalAutoencoding(config=LossSettings(kl_threshold=threshold))
    task = objective.task(inputs, 0)
    weights = task.weights / np.sum(task.weights)
    loss = objective.loss(model, task._replace(weights=weights, auxiliary=beta))
    each, count = plain_kls(model, inputs), sum(LENGTHS) - len(LENGTHS)
    reconstruction = plain_losses(model, latent[:3], inputs).sum()
    expected = (reconstruction + beta * np.maximum(each, threshold).sum()) / count
    assert float(loss.total) == pytest.approx(expected, rel=1e-5)
    assert float(loss.parts["kl"]) == pytest.approx(each.sum() / count, rel=1e-4)


def test_the_length_is_one_more_factor_of_the_probability():
    model, inputs = make("pad", predicts_length=True), batch(LENGTHS)
    loss = loss_of(Autoencoding(), model, inputs)
    latent = model.encode_latent(inputs)["mean"]
    weights = arrays(model)
    logits = np.array(latent) @ weights["length_predictor/kernel"]
    scores = log_softmax(logits + weights["length_predictor/bias"])
    lengths = -sum(row[length - 1] for row, length in zip(scores, LENGTHS, strict=True))
    count = sum(LENGTHS) - len(LENGTHS)
    assert float(loss.parts["length"]) == pytest.approx(lengths / count, rel=1e-4)
    expected = (plain_losses(model, latent, inputs).sum() + lengths) / count
    assert float(loss.total) == pytest.approx(expected, rel=1e-4)
    (right, ones) = Autoencoding().evaluate(model, inputs)["length_accuracy"]
    np.testing.assert_array_equal(right, scores.argmax(axis=1) + 1 == LENGTHS)
    assert np.array(ones).tolist() == [1, 1, 1]


def test_a_text_of_the_begin_token_alone_adds_nothing(vae):
    """Nothing of it is predicted, so neither its tokens nor its KL nor its length count."""
    model, latent = vae
    inputs = batch([7, 1, 5])
    others = {name: value[[0, 2]] for name, value in inputs.items()}
    for objective, one in (
        (Autoencoding(), make("pad", predicts_length=True)),
        (VariationalAutoencoding(), model),
    ):
        found = []
        for given, rows in ((inputs, [0, 1, 2]), (others, [0, 2])):
            fixed_samples(one, latent[rows])
            found.append(float(loss_of(objective, one, given).total))
        assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_a_masked_decoder_is_trained_on_hidden_tokens_only():
    model, inputs = make("pad", decoder_input="masked"), batch([9, 5, 1], width=10)
    read = []
    decode, encode = model.decode, model.encode_latent

    class ReadError(Exception):
        pass

    def reading(*_, known_ids, **__):
        read.append(known_ids)
        raise ReadError  # the tokens that it is given are enough

    object.__setattr__(model, "decode", reading)
    objective, counts, pad_id = Autoencoding(), [], model.config.pad_id
    inputs["input_ids"] = np.where(inputs["input_ids"] == pad_id, 3, inputs["input_ids"])
    encoded = encode(inputs)
    latent = encoded["mean"]
    object.__setattr__(model, "encode_latent", lambda *_, **__: encoded)  # once for all draws
    for draw in range(80):
        if draw < 79:
            with pytest.raises(ReadError):
                loss_of(objective, model, inputs)
        else:
            object.__setattr__(
                model, "decode", lambda *a, **k: read.append(k["known_ids"]) or decode(*a, **k)
            )
            object.__setattr__(model, "encode_latent", encode)
            loss = loss_of(objective, model, inputs)
        known = np.array(read[-1])
        is_known = known != pad_id
        assert (known == inputs["input_ids"])[is_known].all()
        assert not is_known[~inputs["padding_mask"]].any()
        assert not is_known[:, 0].any(), "decoding does not know the first token either"
        counts.append((~is_known & inputs["padding_mask"])[:, 1:].sum(axis=1))
    logits = model.head(decode(latent, inputs["padding_mask"], known_ids=known), model.token_table)
    scores = log_softmax(np.array(logits, np.float64))
    expected, lengths = 0.0, [9, 5, 1]
    for row, ids, seen, length in zip(scores, inputs["input_ids"], is_known, lengths, strict=True):
        hidden = [i for i in range(1, length) if not seen[i]]
        n = length - 1
        expected -= sum(row[i][ids[i]] for i in hidden) * 2 * n / (n + 1)
    assert float(loss.total) == pytest.approx(expected / 12, rel=1e-4)
    counts = np.array(counts)
    assert sorted(set(counts[:, 0])) == list(range(1, 9)), "from one to all"
    assert sorted(set(counts[:, 1])) == list(range(1, 5))
    assert set(counts[:, 2]) == {0}
    assert counts[:, 0].mean() == pytest.approx(4.5, abs=0.7), "uniform"


@pytest.mark.parametrize("lowest", [0.0, 0.25])
def test_beta_rises_over_half_of_each_cycle(lowest):
    found = [float(cyclical_beta(step, 23, num_cycles=3, lowest=lowest)) for step in range(23)]
    places = [(step * 3 / 23) % 1 for step in range(23)]
    expected = [lowest + (1 - lowest) * min(max((t - 0.5) / 0.25, 0), 1) for t in places]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert float(cyclical_beta(625, 10_000, lowest=lowest)) == pytest.approx((1 + lowest) / 2)


@pytest.mark.parametrize(
    ("objective", "values"),
    [(VariationalAutoencoding, (0, 1)), (FullVariationalAutoencoding, (0.25, 1))],
)
def test_the_step_of_the_run_gives_beta(objective, values):
    made = objective(Vocabulary(), training_config(num_train_steps=1000))
    for step, value in zip((1, 999), values, strict=True):
        task = made.task(batch(LENGTHS), tf.constant(step, tf.int64))
        assert float(task.auxiliary) == pytest.approx(value)
        # After step s + 1, which was trained with beta(s); so the last one shows that of the end.
        assert float(made.at_step(step + 1)["beta"]) == pytest.approx(value)


def test_an_objective_refuses_the_other_kind_of_model():
    for objective, variational in ((Autoencoding, True), (VariationalAutoencoding, False)):
        with pytest.raises(
            InputError, match=r"needs variational (true|false) in the model's config"
        ):
            objective().check_model(autoencoder_config(variational=variational))
        objective().check_model(autoencoder_config(variational=not variational))


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "shard"
    write_shard(path, sentences_of({6: 12, 12: 8, 17: 20}))  # of few shapes, for XLA
    return str(path)


def test_evaluation_takes_the_mean_and_leaves_begin_and_end_tokens_out(shard):
    model = make("tta", variational=True)
    batches = eval_batches([shard], DEFAULT_FEATURES, 100, MAX_LENGTH, 0)
    found = Evaluator(model, VariationalAutoencoding(), batches.element_spec)(batches)
    nll = hits = count = kl = 0
    latents = []
    for one in batches.as_numpy_iterator():
        latent = model.encode_latent(one)["mean"]
        latents.append(np.array(latent))
        kl += plain_kl(model, one).sum()
        states = model.decode(latent, one["padding_mask"], one["input_ids"])
        logits = np.array(model.head(states, model.token_table), np.float64)
        for row, ids, mask in zip(logits, one["input_ids"], one["padding_mask"], strict=True):
            for i in range(1, mask.sum() - 1):
                nll -= log_softmax(row[i])[ids[i]]
                hits += row[i].argmax() == ids[i]
                count += 1
    assert found.num_tokens == count
    assert found.values["nll"] == pytest.approx(nll / count, rel=1e-4)
    assert found.values["accuracy"] == pytest.approx(hits / count)
    assert found.values["kl"] == pytest.approx(kl / 40, rel=1e-4)
    active = (np.concatenate(latents).var(axis=0) > 0.01).sum()
    assert found.values["active_units"] == active > 0
    assert found.text.endswith(f"{active} active units")


def make_trainer(shard, folder, steps, evaluates=False):
    keras.utils.set_random_seed(0)
    config = autoencoder_config(variational=True, num_hidden_layers=1)
    settings = training_config(num_train_steps=steps, save_checkpoints_steps=5, log_steps=4)
    cycles = training_config(num_train_steps=100)  # of 10 steps, beta is above 0 from step 6 on
    return Trainer(
        model=build_model(config),
        optimizer=BertAdamW(WarmupLinearDecay(1e-2, 3, 20)),
        objective=VariationalAutoencoding(Vocabulary(), cycles),
        epoch_batches=lambda epoch: train_batches(
            [shard], DEFAULT_FEATURES, 100, MAX_LENGTH, 0, 0, epoch
        ),
        heldout_batches=(lambda: eval_batches([shard], DEFAULT_FEATURES, 100, MAX_LENGTH, 0))
        if evaluates
        else None,
        output_dir=folder,
        loop=settings,
    )


@without_graphs()
def test_a_stopped_run_goes_on_with_its_samples_and_its_beta(shard, tmp_path, capsys):
    whole = make_trainer(shard, tmp_path, 8)
    assert whole.train()
    (tmp_path / "checkpoints/ckpt-8.safetensors").unlink()
    resumed = make_trainer(shard, tmp_path, 8, evaluates=True)
    assert resumed.restore() == 5
    assert resumed.train()
    # In the layer of the connector, so it is in the checkpoint.
    states = [one.model.connector.generator.state.numpy() for one in (whole, resumed)]
    np.testing.assert_array_equal(*states)
    assert states[0][1] == 8, "one draw per step"
    for name, weight in whole.model.named_weights().items():
        found = resumed.model.named_weights()[name].numpy()
        np.testing.assert_allclose(found, weight.numpy(), atol=1e-4, err_msg=name)
    shown = capsys.readouterr().err
    assert "beta 0.800 over 40 sentences" in shown
    # Replicas draw different numbers from the states with this name, see two_replicas.py.
    state = whole.model.connector.generator.state
    assert state.path.endswith("seed_generator_state")
    assert any(one is state for one in whole.model.variables)
