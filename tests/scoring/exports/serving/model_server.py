"""Behaves like TF Serving without its binary, for tests.

It reads an exported model by the signatures of its MetaGraphDef in a C++ session, which checks
dtypes but not shapes. It answers the messages of TF Serving: PredictRequest over gRPC, and JSON
bodies by the rules of https://www.tensorflow.org/tfx/serving/api_rest.
"""

import base64

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401 (TF Serving links its operations)
from tensorflow.core.protobuf import config_pb2
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


class ModelServer(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Serves one version of a model.

    Args:
        directory: the version's folder.
    """

    def __init__(self, directory):
        self.session = tf.compat.v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            meta = tf.compat.v1.saved_model.load(self.session, ["serve"], str(directory))
        self.signatures = meta.signature_def
        self._calls = {}  # making one takes longer than calling it

    def run(self, name, inputs):
        """{input: array} -> {output: array}; raises `tf.errors.OpError`."""
        signature = self.signatures[name]
        if set(inputs) != set(signature.inputs):
            raise ValueError(f"{name} takes {sorted(signature.inputs)}, got {sorted(inputs)}")
        for key, value in inputs.items():
            wanted = tf.as_dtype(signature.inputs[key].dtype)
            if tf.as_dtype(value.dtype) != wanted and value.dtype != object:
                raise ValueError(f"{key} is {wanted.name}, got {value.dtype}")
        if name not in self._calls:
            # As TF Serving does it; Session.run would check shapes.
            options = config_pb2.CallableOptions(
                feed=[info.name for info in signature.inputs.values()],
                fetch=[info.name for info in signature.outputs.values()],
            )
            self._calls[name] = self.session._make_callable_from_options(options)
        values = (inputs[key] for key in signature.inputs)
        return dict(zip(signature.outputs, self._calls[name](*values), strict=True))

    def Predict(self, request, context):  # noqa: N802
        """PredictionService.Predict."""
        name = request.model_spec.signature_name or "serving_default"
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        response = predict_pb2.PredictResponse()
        try:
            outputs = self.run(name, inputs)
        except tf.errors.OpError as error:
            status = next(code for code in grpc.StatusCode if code.value[0] == error.error_code)
            context.abort(status, error.message)
        for key, value in outputs.items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
        return response

    def rest(self, body):
        """Answers the body of POST .../v1/models/NAME:predict; both are JSON as Python objects."""
        name = body.get("signature_name", "serving_default")
        infos = self.signatures[name].inputs
        try:
            if "instances" in body:
                return {"predictions": self._rows(name, infos, body["instances"])}
            value = body["inputs"]
            if not isinstance(value, dict) or is_bytes(value):
                (only,) = infos
                value = {only: value}
            outputs = self.run(name, {key: to_array(value[key], infos[key]) for key in infos})
            outputs = {key: to_json(value) for key, value in outputs.items()}
            return {"outputs": next(iter(outputs.values())) if len(outputs) == 1 else outputs}
        except (tf.errors.OpError, ValueError) as error:
            return {"error": str(error)}

    def _rows(self, name, infos, instances):
        if not instances:
            raise ValueError("no values in 'instances'")
        if not isinstance(instances[0], dict) or is_bytes(instances[0]):
            (only,) = infos
            instances = [{only: instance} for instance in instances]
        if any(set(instance) != set(infos) for instance in instances):
            raise ValueError(f"keys of an instance must be {sorted(infos)}")
        inputs = {key: to_array([row[key] for row in instances], infos[key]) for key in infos}
        outputs = self.run(name, inputs)
        if any(value.ndim == 0 or len(value) != len(instances) for value in outputs.values()):
            raise ValueError("an output has another first dimension than the batch")
        if len(outputs) == 1:
            return to_json(*outputs.values())
        return [
            {key: to_json(value[i]) for key, value in outputs.items()}
            for i in range(len(instances))
        ]


def is_bytes(value):
    """Whether a JSON value is TF Serving's {"b64": ...}."""
    return isinstance(value, dict) and set(value) == {"b64"}


def to_array(value, info):
    """A JSON value as an array of a signature's input."""
    dtype = tf.as_dtype(info.dtype)

    def leaves(value):
        if isinstance(value, list):
            return [leaves(item) for item in value]
        if dtype == tf.string:
            return base64.b64decode(value["b64"]) if is_bytes(value) else value.encode()
        return value

    return np.array(leaves(value), object if dtype == tf.string else dtype.as_numpy_dtype)


def to_json(value):
    """An output, or a row of one, as JSON."""
    if isinstance(value, bytes):
        return value.decode()
    value = np.asarray(value)
    return [to_json(item) for item in value] if value.ndim else value.item()
