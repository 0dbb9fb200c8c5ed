"""Flags of BERT's and the original T-TA's scripts, and what our commands have in their place."""

# Groups of flags that have one answer.
_TPU = "--distribution_strategy of tta pretrain, for GPUs; TPUs are not used"
_MASKS = "--objective=mlm of tta pretrain masks 15 % of the pieces, anew in every step"
_BOTH = "tta pretrain trains, and evaluates every --eval_steps"
_FOLDER = "--model takes the folder of a model, with its config and vocabulary"
_BATCHES = "evaluation takes the batches of --train_batch_tokens of tta pretrain"
FLAGS = {
    "bert_config_file": "--config_file of tta pretrain",
    "config_file": _FOLDER,
    "model_checkpoint": _FOLDER,
    "init_checkpoint": _FOLDER,
    "vocab_file": _FOLDER,
    "input_file": "--input_dir of tta pretrain, --nbest_file of tta rerank, --sts_file of tta sts",
    "eval_input_file": "--heldout_fraction of tta create-tfrecords",
    "output_file": "--output_dir of tta create-tfrecords, --vocab_file of tta create-vocab",
    "num_output_split": "--num_shards of tta create-tfrecords",
    "max_seq_length": "--max_seq_length of tta create-tfrecords; training reads it there",
    "short_seq_prob": "--merge_sentences of tta create-tfrecords; else, a record is a sentence",
    "do_lower_case": "--lower_case of tta create-vocab and tta create-tfrecords; a model keeps it",
    "random_seed": "--seed of tta create-tfrecords and tta pretrain",
    "dupe_factor": _MASKS,
    "masked_lm_prob": _MASKS,
    "max_predictions_per_seq": _MASKS,
    "do_whole_word_mask": _MASKS,
    "do_train": _BOTH,
    "do_eval": _BOTH,
    "eval_batch_size": _BATCHES,
    "do_predict": "--test_file of tta classify",
    "task_name": "--task of tta classify",
    "max_eval_steps": "--max_eval_batches of tta pretrain",
    "iterations_per_loop": "--log_steps of tta pretrain",
    "use_tpu": _TPU,
    "tpu_name": _TPU,
    "tpu_zone": _TPU,
    "gcp_project": _TPU,
    "num_tpu_cores": _TPU,
    "master": _TPU,
}


def answer(flag: str) -> str | None:
    """What stands in place of a flag, which may have the prefix `no`; None for any other flag."""
    ours = FLAGS.get(flag) or FLAGS.get(flag.removeprefix("no"))
    return ours and f"--{flag} is a flag of BERT's or the original T-TA's scripts: here, {ours}"
