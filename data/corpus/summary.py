"""The closing lines of the commands that write a data set."""

from typing import Any


def summary(info: dict[str, Any], seconds: float) -> str:
    """Says what was written, changed and dropped; `info` is the contents of dataset.json."""
    counts = info["counts"]
    unit = "records of merged sentences" if info.get("merge_sentences") else "sentences"
    lines = [
        f"{name}: {split['sentences']:,} {unit}, {split['tokens']:,} tokens, "
        f"{split['shards']} shard{'s' * (split['shards'] > 1)}"
        for name, split in info["splits"].items()
    ]
    lines.append(
        f"of {counts['lines']:,} lines {counts['spoken']:,} in spoken form, "
        f"{counts['truncated']:,} truncated to {info['max_seq_length']} tokens, "
        f"{counts['dropped_long']:,} dropped as longer, "
        f"{counts['dropped_short']:,} dropped with fewer than {info['min_tokens']} pieces"
    )
    lines.append(f"{seconds:.0f} s, {counts['tokens'] / seconds:,.0f} tokens/s")
    return "\n".join(lines)
