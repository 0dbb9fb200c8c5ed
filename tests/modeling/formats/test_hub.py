"""hf:OWNER/NAME, from a local server that speaks the Hub's protocol, in a process of its own."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.tiny import write_model_directory
from tta.errors import InputError, install
from tta.modeling.formats import hub

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install '.[hub]'")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOAD = """
import sys
import tta
from tta import settings
network, *models = sys.argv[1:]
settings.limits = settings.Limits(offline=network == "offline")
for model in models:
    try:
        lm = tta.load(model, engine="onnxruntime")
        print(lm.name, lm.score(["a"]).tolist(), end="\\0")
    except tta.errors.InputError as error:
        print("error:", error, end="\\0")
"""


class Handler(BaseHTTPRequestHandler):
    """The repository me/tiny with the files of a folder; `.h5` files are large files (LFS)."""

    protocol_version = "HTTP/1.1"
    folder: Path
    seen: list[str]

    def do_GET(self):
        type(self).seen.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0]
        names = sorted(file.name for file in self.folder.iterdir())
        resolve = f"/me/tiny/resolve/{COMMIT}/"
        if path in [f"/api/models/me/tiny/revision/{name}" for name in ("main", "v1", COMMIT)]:
            files = [{"rfilename": name} for name in names]
            self.answer(json.dumps({"id": "me/tiny", "sha": COMMIT, "siblings": files}).encode())
        elif path == f"/api/models/me/tiny/tree/{COMMIT}":
            self.answer(json.dumps([self.entry(name) for name in names]).encode())
        elif path.startswith(resolve) and path.removeprefix(resolve) in names:
            content = (self.folder / path.removeprefix(resolve)).read_bytes()
            self.answer(content, {"ETag": f'"{self.etag(path.removeprefix(resolve))}"'})
        else:
            self.answer(b"{}", {"X-Error-Code": "RepoNotFound"}, 404)

    do_HEAD = do_GET  # noqa: N815

    def etag(self, name):
        content = (self.folder / name).read_bytes()
        if name.endswith(".h5"):
            return hashlib.sha256(content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    def entry(self, name):
        size, oid = (self.folder / name).stat().st_size, self.etag(name)
        entry = {"type": "file", "path": name, "size": size, "oid": oid[:40]}
        large = {"lfs": {"oid": oid, "size": size, "pointerSize": 134}}
        return entry | (large if name.endswith(".h5") else {})

    def answer(self, content, headers=None, status=200):
        self.send_response(status)
        for name, value in ({"X-Repo-Commit": COMMIT} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads models in a new process; returns what it prints of each. The cache stays."""
    Handler.folder = write_model_directory(tmp_path_factory.mktemp("hub") / "tiny")
    (Handler.folder / "evil.py").write_text("raise SystemExit")
    Handler.seen = []
    home = tmp_path_factory.mktemp("home")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = os.environ | {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
        }
        environment.pop("HF_HUB_OFFLINE", None)

        def run(network, *models):
            command = [sys.executable, "-c", LOAD, network, *models]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            *printed, rest = done.stdout.split("\0")
            assert (len(printed), rest) == (len(models), "")
            return printed

        run.home = home
        yield run
        server.shutdown()


@pytest.fixture(scope="module")
def downloaded(load):
    """What is printed of the model, which is in the cache from then on; of others; the requests."""
    names = "hf:me/tiny", "hf:me/tiny@v1", f"hf:me/tiny@{COMMIT}"
    found, *others = load("online", *names, "hf:me/nothing", "hf:me/tiny@nothing")
    return found, others, list(Handler.seen)


@pytest.mark.tensorflow
def test_a_model_of_the_hub_is_loaded_with_its_commit_in_the_name(downloaded):
    found, (of_tag, of_commit, *_), seen = downloaded
    assert found.startswith(f"hf:me/tiny@{COMMIT} [-")
    assert of_tag == of_commit == found
    assert any("/resolve/" in path for path in seen)
    assert not any("evil.py" in path for path in seen)


@pytest.mark.tensorflow
def test_what_is_not_there_is_one_line(downloaded):
    _, (*_, no_model, no_revision), _ = downloaded
    assert no_model.startswith("error: hf:me/nothing: cannot be taken from the Hub: ")
    assert "\n" not in no_revision.strip()


@pytest.mark.tensorflow
def test_a_commit_in_the_cache_needs_no_network(load, downloaded):
    found, *_ = downloaded
    Handler.seen.clear()
    *tiny, other = load("offline", f"hf:me/tiny@{COMMIT}", "hf:me/tiny", "hf:me/other")
    assert tiny == [found, found]
    assert Handler.seen == []
    assert other.startswith("error: hf:me/other: cannot be taken from")


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["model.weights.h5", "vocab.txt"])
def test_a_changed_file_is_refused(load, downloaded, name):
    (path,) = load.home.glob(f"hub/models--me--tiny/snapshots/{COMMIT}/{name}")
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    try:
        (found,) = load("offline", "hf:me/tiny")
    finally:
        path.write_bytes(content)
    expected = f"error: hf:me/tiny: {path}: not the file of the Hub; remove it to download it again"
    assert found == expected


@pytest.mark.parametrize("model", ["hf:", "hf:tiny", "hf:a/b/c", "hf:../x@", "hf:a/b@"])
def test_other_names_are_refused(model):
    with pytest.raises(InputError, match="expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION"):
        hub.hub_directory(model)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("models/tiny", "tiny"),
        (f"models--me--tiny/snapshots/{COMMIT}", f"hf:me/tiny@{COMMIT}"),
        (f"models--tiny/snapshots/{COMMIT}", f"hf:tiny@{COMMIT}"),
        ("models--me--tiny/tiny", "tiny"),
    ],
)
def test_signatures_name_a_model_of_the_hub_with_its_commit(folder, name):
    assert hub.model_name(folder) == name


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError) as raised:
        hub.hub_directory("hf:me/none")
    assert str(raised.value) == f"hf:me/none: it needs huggingface_hub: {install('hub')}"
