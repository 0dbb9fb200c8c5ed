"""Measures the HTTP service under load, with clients on the same machine.

    python -m benchmarks.serve --json=serve.json

Each row sends requests with a number of texts from a number of clients, one after the other each,
to a server in a process of its own: requests and texts per second, the median and the 99th
percentile of the time of a request, and the server's memory at the end. Rows with `--batch_texts=1`
score every request alone. The last lines compare with `lm.score` on the same texts in one process.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
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
WORDS = 20
ALONE = """
import json, sys, time, tta
texts = json.load(sys.stdin)
lm = tta.load(engine="onnxruntime")
lm.score(texts[:500])
start = time.perf_counter()
lm.score(texts)
print(len(texts) / (time.perf_counter() - start))
"""


def make_texts(count: int) -> list[str]:
    """Texts of `WORDS` words of README.md, all different."""
    with open("README.md", encoding="utf-8") as file:
        words = np.array([word for word in file.read().lower().split() if word.isalpha()])
    draws = np.random.default_rng(0).integers(0, len(words), [count, WORDS])
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
    command.append(f"--batch_texts={batch_texts}")
    texts = make_texts(size * count)
    bodies = [
        json.dumps({"texts": texts[start : start + size]}).encode()
        for start in range(0, len(texts), size)
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().split()[0].strip("/").rpartition(":")[2])
            asyncio.run(load(port, clients, bodies[: 2 * clients]))
            seconds, times = asyncio.run(load(port, clients, bodies))
            with open(f"/proc/{server.pid}/status", encoding="utf-8") as file:
                memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        finally:
            os.kill(server.pid, signal.SIGTERM)
    return {
        "clients": clients,
        "texts": size,
        "batch_texts": batch_texts,
        "requests_per_s": len(bodies) / seconds,
        "texts_per_s": len(texts) / seconds,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "memory_mb": memory / 1024,
    }


def main(_):
    rows = [measure(*case) for case in CASES]
    heads = list(rows[0])
    print("| " + " | ".join(heads) + " |\n|" + "---:|" * len(heads))
    for row in rows:
        print("| " + " | ".join(f"{value:,.4g}" for value in row.values()) + " |")
    texts = make_texts(8000)
    found = subprocess.run(
        [sys.executable, "-c", ALONE], input=json.dumps(texts), text=True, capture_output=True
    )
    alone = float(found.stdout)
    joined, single = rows[2]["requests_per_s"], rows[3]["requests_per_s"]
    print(
        f"lm.score: {alone:,.0f} texts/s; the service: {rows[-1]['texts_per_s'] / alone:.2f} of it"
    )
    print(f"64 clients, joined over alone: {joined / single:.2f}")
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps({"rows": rows, "alone": alone}, indent=2) + "\n")


if __name__ == "__main__":
    flags.DEFINE_string("json", None, "File for the measurements.")
    app.run(main)
