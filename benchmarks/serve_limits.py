"""Measures what unfriendly clients cost the others of the HTTP service.

    python -m benchmarks.serve_limits --json=limits.json

- Neighbours: four clients that send one text of 20 words after the other, alone and beside two that
  send 24,000 words again and again; one of these leaves after 0.3 s each time.
- Slow readers: 20 clients that never read an answer of some megabytes: how much more memory than 20
  that do, and after which time their connections end.
- Many requests: the memory after 2,000 and after 20,000 requests of eight clients.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
from absl import app, flags

from benchmarks.serve import load, make_texts, state
from tta.data.text.files import open_output

FLAGS = flags.FLAGS
TIMEOUT = 10


@contextlib.contextmanager
def serving(*options: str):
    """A server in a process of its own; yields its process, its address and its port."""
    command = [sys.executable, "-m", "tta", "serve", "--port=0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            yield server, address, int(address.strip("/").rpartition(":")[2])
        finally:
            server.send_signal(signal.SIGTERM)


def request(path: str, value: Any) -> bytes:
    """A request that asks the server to end the connection."""
    body = json.dumps(value).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def send_again_and_again(port: int, data: bytes, patience: float | None) -> None:
    """Sends a request until it is cancelled; leaves after `patience` seconds each time."""
    while True:
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(data)
        with contextlib.suppress(asyncio.TimeoutError, ConnectionError):
            await asyncio.wait_for(reader.read(), patience)
        writer.close()


def neighbours(count: int) -> dict[str, Any]:
    """The times of short requests alone, and beside heavy clients."""
    texts = make_texts(count + 1200)
    short = [json.dumps({"texts": [text]}).encode() for text in texts[:count]]
    heavy = request("/v1/score", {"texts": texts[count:]})  # 1,200 times 20 words

    async def beside(port):
        others = [send_again_and_again(port, heavy, patience) for patience in (None, 0.3)]
        tasks = [asyncio.ensure_future(other) for other in others]
        await asyncio.sleep(1)
        _, times = await load(port, 4, short)
        for task in tasks:
            task.cancel()
        return times

    found = {}
    with serving("--max_texts=2000") as (_, _, port):
        asyncio.run(load(port, 4, short[:100]))
        for name, times in (
            ("alone", asyncio.run(load(port, 4, short))[1]),
            ("beside", asyncio.run(beside(port))),
        ):
            found |= {f"{name}_{q}_ms": 1e3 * float(np.quantile(times, q / 100)) for q in (50, 99)}
    return found


def slow_readers(count: int) -> dict[str, Any]:
    """How much more memory clients hold who do not read, and when their connections end."""
    data = request("/v1/embeddings", {"input": make_texts(1000)})

    async def whole(port):
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(data)
        size = len(await reader.read())
        writer.close()
        return size

    async def unread(port, memory):
        opened = []
        for _ in range(count):
            # A small window, so that the answer stays with the server.
            opened.append(await asyncio.open_connection("localhost", port, limit=1024))
            opened[-1][1].write(data)
        most, start, seen = memory(), time.perf_counter(), 0.0
        while time.perf_counter() - start < 60 + 2 * TIMEOUT:
            await asyncio.sleep(1)
            most = max(most, memory())
            with open(f"/proc/net/tcp{FLAGS.tcp}", encoding="utf-8") as file:
                rows = [line.split()[1:4] for line in file][1:]
            held = [row for row in rows if row[0].endswith(f":{port:04X}") and row[2] == "01"]
            if not held and seen:
                break
            seen = time.perf_counter() - start if held else seen
        for _, writer in opened:
            writer.close()
        return most, seen

    with serving(f"--timeout={TIMEOUT}") as (server, address, port):

        def memory():
            return state(server.pid, address)["memory_mb"]

        async def read_by_all():
            """The largest answer, and the most memory while as many clients read theirs."""
            reads = asyncio.gather(*(whole(port) for _ in range(count)))
            most = memory()
            while not reads.done():
                await asyncio.sleep(0.5)
                most = max(most, memory())
            return max(await reads), most

        size, before = asyncio.run(read_by_all())
        most, seconds = asyncio.run(unread(port, memory))
    return {"answer_mb": size / 1e6, "before_mb": before, "grows_mb": most - before, "s": seconds}


def many_requests(count: int) -> dict[str, Any]:
    """The memory after a tenth of the requests, and after all."""
    bodies = [json.dumps({"texts": [text]}).encode() for text in make_texts(2000)]
    with serving() as (server, address, port):
        asyncio.run(load(port, 8, bodies[: count // 10]))
        before = state(server.pid, address)["memory_mb"]
        for _ in range(9):
            asyncio.run(load(port, 8, bodies[: count // 10]))
        after = state(server.pid, address)["memory_mb"]
    return {"before_mb": before, "growth_mb": after - before}


def main(_):
    found = {
        "neighbours": neighbours(FLAGS.short),
        "slow readers": slow_readers(20),
        "many requests": many_requests(FLAGS.requests),
    }
    for name, row in found.items():
        print(f"{name}: " + ", ".join(f"{key} {value:,.4g}" for key, value in row.items()))
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    flags.DEFINE_string("json", None, "File for the measurements.")
    flags.DEFINE_integer("words", 20, "Words of a text.", 1)
    flags.DEFINE_integer("short", 500, "Short requests.", 1)
    flags.DEFINE_integer("requests", 20000, "Requests for the memory.", 10)
    flags.DEFINE_enum("tcp", "", ["", "6"], "Which table of connections to read: IPv4 or IPv6.")
    app.run(main)
