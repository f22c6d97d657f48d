from __future__ import annotations

import io
import threading
import zipfile
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from opdt.datasets import fetch, load
from opdt.datasets.download import Bar, store
from opdt.datasets.registry import SOURCES
from opdt.errors import InputError

pytest.importorskip("pooch")
pytest.importorskip("pandas")

CONTENT = b"1,1,1,1,1,1,1,1,0\n2,2,2,2,2,2,2,2,1\n" * 400


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"folder/{name}", content)
    return buffer.getvalue()


class Archive(BaseHTTPRequestHandler):
    """Serves the toy file well, wrongly, and half."""

    pages = {  # noqa: RUF012
        "/good": CONTENT,
        "/windows": CONTENT.replace(b"\n", b"\r\n"),
        "/wrong": CONTENT + b"3,3,3,3,3,3,3,3,1\n",
        "/half": CONTENT,
        "/good.zip": zipped(**{"other.txt": b"", "toy.data": CONTENT}),
        "/wrong.zip": zipped(**{"toy.data": b"1,1,1,1,1,1,1,1,0\n"}),
        "/empty.zip": zipped(**{"other.txt": b""}),
        "/damaged.zip": zipped(**{"toy.data": CONTENT})[:-40],
    }

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page[: len(page) // 2] if self.path == "/half" else page)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Archive) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def serve(server, cache, monkeypatch):
    """Declare a toy dataset that is downloaded from these pages of the local server."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.asked.clear()
    root = f"http://127.0.0.1:{server.server_address[1]}"

    def declare(*pages):
        source = replace(
            SOURCES["pima"],
            name="toy",
            file="toy.data",
            sha256=sha256(CONTENT).hexdigest(),
            urls=tuple(page if "://" in page else root + page for page in pages),
        )
        monkeypatch.setitem(SOURCES, "toy", source)

    return declare


def files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("page", ["/good", "/good.zip", "/windows"])
def test_a_download_is_kept_in_the_cache_and_not_repeated(serve, server, cache, page):
    serve(page)
    path = fetch("toy")
    assert path == cache / "toy" / "toy.data"
    assert path.read_bytes().replace(b"\r\n", b"\n") == CONTENT
    assert load("toy").n_rows == 800
    assert files(cache) == ["toy.data"]
    assert server.asked == [page]


def test_the_second_address_is_tried_where_the_first_fails(serve, server):
    serve("/gone", "/wrong", "/half", "/good.zip")
    assert load("toy").n_rows == 800
    assert server.asked == ["/gone", "/wrong", "/half", "/good.zip"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("/gone", "answered 404"),
        ("/wrong", "served a file with a wrong checksum"),
        ("/wrong.zip", "served a file with a wrong checksum"),
        ("/half", "broke off half-way"),
        ("/damaged.zip", "served a damaged zip file"),
        ("/empty.zip", "served a zip file without it"),
        ("http://127.0.0.1:9/closed", "could not be reached"),
    ],
)
def test_a_failed_download_leaves_nothing_behind_and_is_one_sentence(serve, cache, page, reason):
    serve(page)
    with pytest.raises(InputError) as caught:
        load("toy")
    message = str(caught.value)
    assert f"{page} {reason}" in message
    assert "'folder'" in message
    assert "OPDT_DATA" in message
    assert "opdt.datasets.fetch" in message
    assert "\n" not in message
    assert files(cache.parent) == []


def test_a_damaged_file_in_the_cache_is_downloaded_again(serve, cache):
    serve("/good")
    store(cache / "toy" / "toy.data", b"1,1")
    assert load("toy").n_rows == 800


def test_a_damaged_file_in_the_cache_stays_until_there_is_a_better_one(serve, cache):
    serve("/half")
    store(cache / "toy" / "toy.data", b"1,1")
    with pytest.raises(InputError, match="broke off half-way"):
        fetch("toy")
    assert (cache / "toy" / "toy.data").read_bytes() == b"1,1"


def test_a_write_that_fails_leaves_no_draft(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").write_text("")
    with pytest.raises(OSError):  # noqa: PT011
        store(tmp_path / "taken", b"content")
    assert files(tmp_path) == ["inside"]


def test_progress_is_drawn_on_the_error_stream_only_when_asked_for(serve, capfd):
    serve("/good")
    fetch("toy", progress=False)
    assert capfd.readouterr() == ("", "")
    store(fetch("toy"), b"damaged")
    fetch("toy", progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Pima Indians Diabetes" in shown.err


def test_the_bar_ends_on_its_total():
    bar = Bar("Toy")
    bar.total = 2500
    for _ in range(3):
        bar.update(1024)
    bar.reset()
    bar.update(2500)
    bar.close()
    assert bar.total == 2500
    assert bar.done == 2500
