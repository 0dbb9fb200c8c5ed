"""Writes a model for TF Serving: a SavedModel that takes raw strings, and warm-up requests.

models/tta/1/                   --output_dir: a folder for the model, and in it one per version
    saved_model.pb, variables/  graph and weights
    assets.extra/
        tf_serving_warmup_requests   requests that TF Serving runs before it accepts others
        tta_signature.txt            what the scores depend on, as run_rerank.py prints it
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import whole_folder
from tta.errors import InputError
from tta.names import VOCABULARY
from tta.registry import resolve

# Warm-up: a short sentence, one that is longer than the input of our models, and an empty one.
_WARMUP_TEXTS = ("the cat sat on the mat", "the cat sat on the mat and " * 40, "")


def check_output_dir(output_dir: Path | str) -> None:
    """Raises InputError if a folder exists, or its name is not a version number."""
    output_dir = Path(output_dir)
    name = output_dir.name
    if not (name.isascii() and name.isdecimal()):
        raise InputError(
            f"the folder's name must be a version number, as in {output_dir / '1'}",
            output_dir,
        )
    if os.path.lexists(output_dir):
        raise InputError(
            "exists; a version is never replaced, because a server may be reading it", output_dir
        )


def export(lm: Any, output_dir: Path | str) -> None:
    """Writes a model as a SavedModel. The folder appears only when it is complete.

    Args:
        lm: `tta.scoring.scorers.text_model.TextModel`, also a `ClassifierModel` or an
            `AutoencoderModel`.
        output_dir: the folder of the version, `models/tta/1`; missing parents are made.

    Raises:
        InputError: as `check_output_dir`; the model is of another kind, has no vocabulary or gives
            no scores; or the files cannot be written.
    """
    import tensorflow as tf

    from tta.scoring.exports.serving.served_model import ServedModel
    from tta.scoring.scorers.text_model import TextModel

    output_dir = Path(output_dir)
    check_output_dir(output_dir)
    if not isinstance(lm, TextModel):
        raise InputError(
            f"only a T-TA, cloze, biLM or uniLM can be exported, not a {type(lm).__name__}"
        )
    if lm.tokenizer is None:
        raise InputError(f"model {lm.name!r} has no {VOCABULARY}: it cannot take text")
    if lm.model.config.tokenizer != "word_pieces":
        raise InputError("only models of word pieces can be exported, not of words", lm.name)
    served_class = resolve(lm.served)
    if served_class is None:
        lm.check_scores()
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    served = ServedModel(lm) if served_class is None else served_class(lm)
    try:
        # TF Serving ignores folders whose name is not a number.
        with whole_folder(output_dir, partial(check_output_dir, output_dir)) as folder:
            tf.saved_model.save(served, folder, served.signatures())
            _without_random_id(folder / "fingerprint.pb")
            extra = folder / "assets.extra"
            extra.mkdir()
            (extra / "tta_signature.txt").write_text(f"{lm.signature}\n", encoding="utf-8")
            with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as file:
                for request in warmup_requests(served):
                    file.write(request.SerializeToString(deterministic=True))
    except tf.errors.OpError as error:
        reason = error.message.partition("\n")[0]
        raise InputError(f"cannot be written: {reason}", output_dir) from None


def _without_random_id(path):
    """Gives a SavedModel the same id whenever it is written: that of its graph."""
    from tensorflow.core.protobuf import fingerprint_pb2

    fingerprint: Any = fingerprint_pb2.FingerprintDef.FromString(path.read_bytes())
    fingerprint.uuid = str(fingerprint.saved_model_checksum)
    path.write_bytes(fingerprint.SerializeToString(deterministic=True))


def warmup_requests(served: Any) -> list[Any]:
    """A `PredictionLog` for each signature of a `ServedModel`, or of one of the other kinds."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    inputs_of = served.warmup_inputs(tf.constant(_WARMUP_TEXTS))
    requests = []
    for name, inputs in inputs_of.items():
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "tta"
        request.model_spec.signature_name = name
        for key, value in inputs.items():
            request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
        log = prediction_log_pb2.PredictLog(request=request)
        requests.append(prediction_log_pb2.PredictionLog(predict_log=log))
    return requests
