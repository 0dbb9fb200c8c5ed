"""Measures the HTTP service under load, with clients on the same machine.

    python -m benchmarks.serve --json=serve.json

Each row sends requests with a number of texts from a number of clients, one after the other each,
to a server in a process of its own: requests and texts per second, the median and the 99th
percentile of the time of a request, the texts that the model gets at once, the CPU time of a
request in the server and in the clients, and the server's memory after the first requests and at
the end. Rows with `--batch_texts=1` score every request alone. The last lines compare with
`lm.score` in one process: of all texts, of 64 at a time, and one by one.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from absl import app, flags

from tta.data.text.files import open_output

FLAGS = flags.FLAGS
# clients, texts in a request, requests in all, batch_texts
CASES = [
    *((clients, 1, 2000 if clients > 1 else 500, 512) for clients in (1, 8, 64)),
    (64, 1, 1000, 1),
    (8, 50, 160, 512),
]
ALONE = """
import json, sys, time, tta
texts, model = json.load(sys.stdin)
lm = tta.load(model, engine="onnxruntime")
lm.score(texts[:500])
for size in len(texts), 64, 1:
    some = texts[: max(size, 512)]
    start = time.perf_counter()
    for place in range(0, len(some), size):
        lm.score(some[place : place + size])
    print(len(some) / (time.perf_counter() - start))
"""


def make_texts(count: int) -> list[str]:
    """Texts of --words words of README.md, all different."""
    with open("README.md", encoding="utf-8") as file:
        words = np.array([word for word in file.read().lower().split() if word.isalpha()])
    draws = np.random.default_rng(0).integers(0, len(words), [count, FLAGS.words])
    return [" ".join(row) for row in words[draws]]


async def load(port: int, clients: int, bodies: list[bytes]) -> tuple[float, np.ndarray]:
    """Sends all bodies; returns the seconds in all and those of each request."""
    waiting, times = iter(bodies), []

    async def client():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in waiting:
            start = time.perf_counter()
            head = (
                f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            if not answer.startswith(b"http/1.1 200"):
                raise ValueError(answer)
            await reader.readexactly(int(answer.partition(b"content-length: ")[2].split()[0]))
            times.append(time.perf_counter() - start)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - start, np.array(times)


def measure(clients: int, size: int, count: int, batch_texts: int) -> dict[str, Any]:
    """One row."""
    command = [sys.executable, "-m", "tta", "serve", "--port=0", "--engine=onnxruntime"]
    command += [f"--batch_texts={batch_texts}", f"--model={FLAGS.model}"]
    texts = make_texts(size * count)
    bodies = [
        json.dumps({"texts": texts[start : start + size]}).encode()
        for start in range(0, len(texts), size)
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            port = int(address.strip("/").rpartition(":")[2])
            # Memory grows until each shape of a batch has occurred.
            asyncio.run(load(port, clients, bodies[: max(2 * clients, len(bodies) // 4)]))
            before, own = state(server.pid, address), time.process_time()
            seconds, times = asyncio.run(load(port, clients, bodies))
            after, own = state(server.pid, address), time.process_time() - own
        finally:
            os.kill(server.pid, signal.SIGTERM)
    used = {name: after[name] - before[name] for name in after}
    return {
        "clients": clients,
        "texts": size,
        "batch_texts": batch_texts,
        "requests_per_s": len(bodies) / seconds,
        "texts_per_s": len(texts) / seconds,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "texts_at_once": used["items"] / used["batches"],
        "server_ms": 1e3 * used["seconds"] / len(bodies),
        "clients_ms": 1e3 * own / len(bodies),
        "memory_mb": before["memory_mb"],
        "growth_mb": used["memory_mb"],
    }


def state(pid: int, address: str) -> dict[str, float]:
    """The memory and the processor's seconds of a server, and its numbers of items and batches."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    with urllib.request.urlopen(f"{address}metrics") as answer:
        metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines())
    return {
        "memory_mb": int(status.partition("VmRSS:")[2].split()[0]) / 1024,
        "seconds": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
        "items": float(metrics["tta_batch_items_sum"]),
        "batches": float(metrics["tta_batch_items_count"]),
    }


def main(_):
    rows = [measure(*case) for case in CASES if str(case[0]) in FLAGS.clients]
    heads = list(rows[0])
    print("| " + " | ".join(heads) + " |\n|" + "---:|" * len(heads))
    for row in rows:
        print("| " + " | ".join(f"{value:,.4g}" for value in row.values()) + " |")
    given = json.dumps([make_texts(FLAGS.texts), FLAGS.model])
    found = subprocess.run(
        [sys.executable, "-c", ALONE], input=given, text=True, stdout=subprocess.PIPE, check=True
    )
    alone, by_64, single = map(float, found.stdout.split())
    print(f"lm.score: {alone:,.0f} texts/s; 64 at once: {by_64:,.0f}; one by one: {single:,.0f}")
    print(f"64 texts at once over one by one: {by_64 / single:.2f}")
    rate = {(row["clients"], row["texts"], row["batch_texts"]): row["texts_per_s"] for row in rows}
    if (8, 50, 512) in rate:
        print(f"50 texts from 8 clients over lm.score: {rate[8, 50, 512] / alone:.2f}")
    if (64, 1, 512) in rate:
        print(f"64 clients, joined over alone: {rate[64, 1, 512] / rate[64, 1, 1]:.2f}")
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps({"rows": rows, "alone": [alone, by_64, single]}, indent=2) + "\n")


if __name__ == "__main__":
    flags.DEFINE_string("json", None, "File for the measurements.")
    flags.DEFINE_string("model", "small", "The model.")
    flags.DEFINE_integer("words", 20, "Words of a text.", 1)
    flags.DEFINE_integer("texts", 8000, "Texts for lm.score.", 512)
    flags.DEFINE_list("clients", ["1", "8", "64"], "Rows with these numbers of clients.")
    app.run(main)
