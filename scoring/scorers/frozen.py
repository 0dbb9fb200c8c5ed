"""A compiled function with a model's weights in it: faster, and deaf to later changes of them."""


def frozen(function, signature, model):
    """Compiles a TensorFlow function with a model's weights as constants.

    TensorFlow then casts and lays out the weights once instead of at every call: with products in
    bfloat16 that is a sixth of the time of a list, and most of a single sentence's
    (docs/performance.md). The token table is a constant only where the head multiplies by it:
    looking up its rows would gain nothing, and a large constant takes long to compile.

    Args:
        function: takes tensors, calls the model, returns one tensor.
        signature: list of `tf.TensorSpec`, one an argument.
        model: `tta.modeling.models.language_model.LanguageModel`.

    Returns:
        A function of arrays or tensors that returns a tensor.
    """
    import keras
    import tensorflow as tf

    table = model.token_table
    rows = tf.identity(table.value)
    columns = tf.cast(table.value, model.compute_dtype).numpy()
    weights = [(v, v.numpy()) for v in model.trainable_variables if v is not table]

    def with_constants(*arguments):
        constants = [(variable, tf.constant(value)) for variable, value in weights]
        with (
            keras.StatelessScope(state_mapping=[(table, rows), *constants]),
            model.multiplying_by(columns),
        ):
            return function(*arguments)

    graph = tf.function(with_constants, input_signature=signature, autograph=False)
    graph = graph.get_concrete_function()

    def call(*arguments):
        return graph(*map(tf.convert_to_tensor, arguments, [spec.dtype for spec in signature]))

    return call
