"""The closing lines of the commands that write a data set."""

from typing import Any

# A larger share of unknown tokens is pointed out.
MANY_UNKNOWN = 0.02


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
    unknown = counts["unknown"] / max(1, counts["tokens"])
    if unknown > MANY_UNKNOWN:
        lines.append(
            f"note: {100 * unknown:.1f} % of the tokens are words that the vocabulary cannot spell"
        )
    lines.append(f"{seconds:.0f} s, {counts['tokens'] / seconds:,.0f} tokens/s")
    return "\n".join(lines)
