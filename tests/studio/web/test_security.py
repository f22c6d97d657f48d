"""Who may talk to a Studio, and how much: requests to a real server, and its parts alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import httpx
import pytest

from browser import element, wait_for
from opdt.studio.web.app import is_loopback
from opdt.studio.web.security import HEADERS, names_of
from studio_server import SOCKET, ask, dial, own_origin, running

websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")

LIMIT_MB = 2


@pytest.fixture(scope="module")
def open_studio(tmp_path_factory):
    """On this machine, without a password."""
    with running(tmp_path_factory.mktemp("open"), "--upload-limit", str(LIMIT_MB)) as server:
        yield server


# -- who can reach it ------------------------------------------------------------------------------


def test_only_this_machine_is_listened_to(open_studio):
    with socket.create_connection(("127.0.0.1", open_studio.port), timeout=5):
        pass
    psutil = pytest.importorskip("psutil")
    listening = [
        each.laddr.ip
        for each in psutil.Process(open_studio.process.pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["0.0.0.0", "example.org"])
def test_another_address_needs_a_password(host, tmp_path):
    environment = {**os.environ, "OPDT_STUDIO_PASSWORD": ""}
    command = [sys.executable, "-c", "from opdt.cli import main; main()", "studio", "--host", host]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 2
    assert "needs a password" in done.stderr
    assert "OPDT_STUDIO_PASSWORD" in done.stderr
    assert done.stdout == ""


def test_only_loopback_addresses_are_this_machines_own():
    assert all(map(is_loopback, ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "localhost.example.org", ""]))


# -- names and origins -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "192.0.2.1", "", "[::"]
)
def test_a_strangers_name_for_this_machine_is_refused(open_studio, host):
    answer = ask(open_studio, headers={"Host": host})
    assert answer.status_code == 400
    assert "opdt Studio is" not in answer.text


def test_the_usual_names_of_this_machine_are_known(open_studio):
    for host in (f"localhost:{open_studio.port}", f"127.0.0.1:{open_studio.port}", "[::1]:9"):
        assert ask(open_studio, headers={"Host": host}).status_code == 200


def test_names_can_be_added():
    assert "studio.example.org" in names_of("0.0.0.0", ["Studio.example.org"], local=False)
    assert names_of("127.0.0.1", local=True) == {"127.0.0.1", "localhost"}


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://"]
)
@pytest.mark.parametrize("transport", ["websocket", "polling"])
def test_a_socket_of_another_page_is_refused(open_studio, origin, transport):
    headers = {"Origin": origin}
    if transport == "polling":
        for method in ("GET", "POST"):
            answer = ask(open_studio, SOCKET + "polling", method, headers=headers)
            assert answer.status_code == 403
            assert "sid" not in answer.text
    else:
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            dial(open_studio, origin=origin)
        assert refused.value.status_code == 403


def test_a_socket_must_name_its_page(open_studio):
    with pytest.raises(websocket.WebSocketBadStatusException):
        dial(open_studio, suppress_origin=True)


def test_a_socket_of_the_page_itself_is_accepted(open_studio):
    connection = dial(open_studio, origin=open_studio.url.rstrip("/"))
    assert json.loads(connection.recv()[1:])["sid"]
    connection.close()


def test_another_pages_script_cannot_fetch_parts(open_studio):
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert ask(open_studio, SOCKET + "polling", headers=foreign).status_code == 403
    assert ask(open_studio, headers=foreign).status_code == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(open_studio, headers=link).status_code == 200


def test_a_change_must_name_its_page(open_studio):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert ask(open_studio, "upload/x", method).status_code == 403


def test_every_answer_forbids_frames_guesses_and_other_sites(open_studio):
    for answer in (ask(open_studio), ask(open_studio, "nothing"), ask(open_studio, "upload/x")):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_a_forwarded_path_is_not_believed(open_studio):
    answer = ask(open_studio, headers={"X-Forwarded-Prefix": "//evil.example"})
    assert answer.status_code == 200
    assert "evil.example" not in answer.text


# -- sizes -----------------------------------------------------------------------------------------


def head(server, path: str, *lines: str) -> bytes:
    """The first lines of a request that a page of the server sends."""
    host = f"127.0.0.1:{server.port}"
    first = f"POST /{path} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}"
    return "\r\n".join([*first, *lines, "", ""]).encode()


def answer_to(server, sent: bytes) -> str:
    """The first bytes of the answer to what may be only the beginning of a request."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(sent)
        return connection.recv(4096).decode()


def test_a_body_over_the_limit_is_refused_before_it_is_sent(open_studio):
    too_long = f"Content-Length: {LIMIT_MB * 1_000_000 + 1}"
    answer = answer_to(open_studio, head(open_studio, "upload/x", too_long))
    assert answer.startswith("HTTP/1.1 413")
    assert "Content-Security-Policy" in answer.title()
    answer = answer_to(
        open_studio, head(open_studio, SOCKET + "polling", "Content-Length: 3000000")
    )
    assert answer.startswith("HTTP/1.1 413")


def upload_address(server, browser) -> str:
    """Where a page that is open in the browser sends its files."""
    browser.get(server.url)
    element(browser, "upload")
    field = browser.find_element("css selector", "[data-testid=upload-input]")
    return field.get_attribute("data-url").lstrip("/")


def test_a_file_that_grows_over_the_limit_is_refused_and_not_kept(open_studio, browser):
    def grow():
        for _ in range(LIMIT_MB * 1_000_000 // 0x10000 + 2):
            yield b"x" * 0x10000

    where = upload_address(open_studio, browser) + "?name=a.csv"
    try:
        answer = ask(open_studio, where, "POST", content=grow(), headers=own_origin(open_studio))
        assert answer.status_code == 413
    except httpx.TransportError:
        pass  # refused while it was still being sent
    wait_for(lambda: not [each for each in open_studio.folder.rglob("*") if each.is_file()])


def test_a_name_cannot_lead_out_of_the_temporary_folder(open_studio, browser):
    before = {each for each in open_studio.folder.parent.rglob("*") if each.is_file()}
    where = upload_address(open_studio, browser)
    for name in ("../../../escaped.csv", "..%2Fescaped.csv", "/escaped.csv", "a%00.csv"):
        answer = ask(
            open_studio, f"{where}?name={name}", "POST", content=b"a,b\n1,2\n",
            headers=own_origin(open_studio),
        )  # fmt: skip
        assert answer.status_code == 200
    wait_for(
        lambda: {each for each in open_studio.folder.parent.rglob("*") if each.is_file()} == before
    )


def test_a_pickle_is_not_opened(open_studio, browser):
    """A table is text or Parquet; what would run code when it is opened is not even looked at."""
    import pickle

    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(open_studio.folder / "owned"),)

    where = upload_address(open_studio, browser)
    for name in ("a.csv", "a.parquet", "a.csv.gz", "a.pkl", "a.opdt"):
        options = {"content": pickle.dumps(Attack()), "headers": own_origin(open_studio)}
        ask(open_studio, f"{where}?name={name}", "POST", **options)
    assert not (open_studio.folder / "owned").exists()
