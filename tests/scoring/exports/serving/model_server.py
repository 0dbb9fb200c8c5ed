"""Behaves like TF Serving without its binary, for tests.

It reads an exported model by the signatures of its MetaGraphDef in a C++ session, which checks
dtypes but not shapes. It answers the messages of TF Serving: PredictRequest over gRPC, and rows
in JSON by the rules of https://www.tensorflow.org/tfx/serving/api_rest.
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
        """Answers the body {"instances": [N]} of POST .../v1/models/NAME:predict, as JSON."""
        name = body.get("signature_name", "serving_default")
        ((key, info),) = self.signatures[name].inputs.items()
        try:
            outputs = self.run(name, {key: to_array(body["instances"], info)})
        except tf.errors.OpError as error:
            return {"error": str(error)}
        columns = {key: to_json(value) for key, value in outputs.items()}
        rows = list(zip(*columns.values(), strict=True))
        if len(columns) == 1:
            return {"predictions": [value for (value,) in rows]}
        return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def to_array(value, info):
    """A JSON value as an array of a signature's input."""
    dtype = tf.as_dtype(info.dtype)

    def leaves(value):
        if isinstance(value, list):
            return [leaves(item) for item in value]
        if dtype == tf.string:
            return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()
        return value

    return np.array(leaves(value), object if dtype == tf.string else dtype.as_numpy_dtype)


def to_json(value):
    """An output, or a row of one, as JSON."""
    if isinstance(value, bytes):
        return value.decode()
    value = np.asarray(value)
    return [to_json(item) for item in value] if value.ndim else value.item()
