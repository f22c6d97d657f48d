"""Who may talk to a Studio, and how much: requests to a real server, and its parts alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest
from starlette.datastructures import Headers

from browser import element, wait_for
from opdt.errors import InputError
from opdt.studio.web.app import is_loopback
from opdt.studio.web.login import Gate, Throttle
from opdt.studio.web.security import HEADERS, names_of
from studio_server import PASSWORD, running

websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")

SOCKET = "_nicegui_ws/socket.io/?EIO=4&transport="
LIMIT_MB = 2


@pytest.fixture(scope="module")
def open_studio(tmp_path_factory):
    """On this machine, without a password."""
    with running(tmp_path_factory.mktemp("open"), "--upload-limit", str(LIMIT_MB)) as server:
        yield server


@pytest.fixture(scope="module")
def locked_studio(tmp_path_factory):
    """On all addresses of the machine, with a password."""
    folder = tmp_path_factory.mktemp("locked")
    with running(folder, "--host", "0.0.0.0", password=PASSWORD) as server:
        yield server


def ask(server, path: str = "", method: str = "GET", **options):
    return httpx.request(method, server.url + path, timeout=20, **options)


def own_origin(server) -> dict[str, str]:
    return {"Origin": server.url.rstrip("/")}


def log_in(server, password: str = PASSWORD):
    return ask(server, "login", "POST", data={"password": password}, headers=own_origin(server))


def dial(server, **options):
    """Open a socket as a page does; its first message names the session."""
    address = server.url.replace("http", "ws") + SOCKET + "websocket"
    return websocket.create_connection(address, timeout=20, **options)


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


def test_a_short_password_is_refused():
    with pytest.raises(InputError, match="at least 8"):
        Gate("1234567", 1)


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


def test_every_answer_forbids_frames_guesses_and_other_sites(open_studio, locked_studio):
    for answer in (ask(open_studio), ask(locked_studio, "login"), ask(open_studio, "nothing")):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_a_forwarded_path_is_not_believed(open_studio):
    answer = ask(open_studio, headers={"X-Forwarded-Prefix": "//evil.example"})
    assert answer.status_code == 200
    assert "evil.example" not in answer.text


# -- the login -------------------------------------------------------------------------------------

BEHIND = [
    "_nicegui/{version}/static/nicegui.js",
    "_nicegui/{version}/components/nothing",
    "_nicegui/client/nothing/upload/1",
    "studio/studio.css",
    "studio/../app.py",
    "upload/nothing",
    "favicon.ico",
    "nothing",
    "//login",
    "login/",
    "%6cogin2",
    SOCKET + "polling",
]


@pytest.mark.parametrize("path", BEHIND)
def test_nothing_is_served_without_the_password(locked_studio, path):
    import nicegui

    answer = ask(locked_studio, path.format(version=nicegui.__version__))
    assert answer.status_code == 401
    assert answer.text == "Log in first.\n"


def test_the_page_leads_to_the_login(locked_studio):
    answer = ask(locked_studio)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert ask(locked_studio, "login").status_code == 200


def test_a_socket_needs_the_password(locked_studio):
    with pytest.raises(websocket.WebSocketBadStatusException):
        dial(locked_studio, origin=locked_studio.url.rstrip("/"))


def test_the_password_gives_a_cookie_for_this_site_alone_which_ends_with_the_login(locked_studio):
    answer = log_in(locked_studio)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert PASSWORD not in cookie
    jar = {"Cookie": cookie.split(";")[0]}
    assert ask(locked_studio, headers=jar).status_code == 200
    origin = locked_studio.url.rstrip("/")
    dial(locked_studio, origin=origin, cookie=jar["Cookie"]).close()
    ask(locked_studio, "logout", "POST", headers={**jar, **own_origin(locked_studio)})
    assert ask(locked_studio, headers=jar).status_code == 303


@pytest.mark.parametrize("cookie", ["opdt-studio-1=x", "{name}=", "{name}=guess", '{name}="\\;;='])
def test_a_made_up_cookie_opens_nothing(locked_studio, cookie):
    jar = {"Cookie": cookie.format(name=f"opdt-studio-{locked_studio.port}")}
    assert ask(locked_studio, "studio/studio.css", headers=jar).status_code == 401


def test_wrong_passwords_are_told_to_wait(tmp_path):
    with running(tmp_path, password=PASSWORD) as server:
        tried = [log_in(server, f"guess {k}") for k in range(Throttle.FREE)]
        assert {each.status_code for each in tried} == {401}
        assert all("set-cookie" not in each.headers for each in tried)
        late = log_in(server)  # even the right one must wait now
        assert late.status_code == 429
        assert int(late.headers["retry-after"]) >= 1
        time.sleep(int(late.headers["retry-after"]))
        assert log_in(server).status_code == 303


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_wrong_password_doubles_the_wait_up_to_a_limit():
    throttle = Throttle(clock := Clock())
    waits = []
    for _ in range(Throttle.FREE + 12):
        throttle.failed("192.0.2.1")
        waits.append(throttle.wait("192.0.2.1"))
        clock.now += Throttle.WINDOW + waits[-1]
    free = [0.0] * (Throttle.FREE - 1)
    assert waits == free + [min(2.0**k, Throttle.LONGEST) for k in range(13)]
    throttle.succeeded("192.0.2.1")
    assert throttle.wait("192.0.2.1") == 0


def test_many_addresses_share_one_limit():
    throttle = Throttle(clock := Clock())
    for k in range(Throttle.ALL):
        assert throttle.wait(f"192.0.2.{k}") == 0
        throttle.failed(f"192.0.2.{k}")
    assert throttle.wait("198.51.100.1") == Throttle.WINDOW
    clock.now += Throttle.WINDOW
    assert throttle.wait("198.51.100.1") == 0


def test_all_addresses_of_an_ipv6_network_are_one():
    throttle = Throttle(Clock())
    for k in range(Throttle.FREE):
        throttle.failed(f"2001:db8::{k:x}")
    assert throttle.wait("2001:db8::ffff") > 0
    assert throttle.wait("2001:db8:0:1::1") == 0


def test_passwords_are_compared_in_constant_time(monkeypatch):
    from opdt.studio.web import login

    seen = []
    monkeypatch.setattr(login.hmac, "compare_digest", lambda a, b: seen.append((a, b)) or a == b)
    gate = Gate(PASSWORD, 1)
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"password=short", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/login", "query_string": b"", "scheme": "http",
        "headers": [(b"content-type", b"application/x-www-form-urlencoded")],
        "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 1),
    }  # fmt: skip
    import asyncio

    asyncio.run(gate(scope, receive, send))
    assert sent[0]["status"] == 401
    ((one, other),) = seen
    assert len(one) == len(other)  # so that not even a length is told


def test_a_login_ends_by_itself():
    gate = Gate(PASSWORD, 7, clock := Clock())
    token = gate._new_login()
    headers = Headers({"cookie": f"opdt-studio-7={token}"})
    assert gate.admits(headers)
    clock.now += 12 * 3600
    assert not gate.admits(headers)


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


def test_a_long_password_is_no_way_to_fill_the_memory(locked_studio):
    answer = log_in(locked_studio, "x" * 100_000)
    assert answer.status_code == 413


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


# -- in a browser ----------------------------------------------------------------------------------


def test_a_person_logs_in_and_out(locked_studio, browser):
    browser.get(locked_studio.url)
    assert browser.current_url.endswith("/login")
    browser.find_element("id", "password").send_keys("not this one\n")
    assert "not the password" in wait_for(lambda: browser.find_element("id", "wrong")).text
    browser.find_element("id", "password").send_keys(PASSWORD + "\n")
    element(browser, "upload")
    assert "opdt-studio" not in browser.execute_script("return document.cookie")
    browser.find_element("css selector", "[data-testid=logout]").click()
    wait_for(lambda: browser.current_url.endswith("/login"))
    browser.get(locked_studio.url)
    assert browser.current_url.endswith("/login")


# -- one tab, one session --------------------------------------------------------------------------


class Recorded:
    """A session that writes down what becomes of it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str):
        return lambda: self.done.append(name)


class Visit:
    """A page of a tab."""

    def __init__(self, tab_id: str) -> None:
        self.id = str(id(self))
        self.tab_id = tab_id
        self.on_delete = self.__dict__.setdefault("gone", []).append

    def leave(self) -> None:
        for each in self.gone:
            each()


def test_a_tab_keeps_its_session_over_a_reload_and_loses_it_when_it_is_closed():
    import asyncio

    from nicegui import core

    from opdt.studio.web.sessions import Sessions

    async def story() -> None:
        core.loop = asyncio.get_running_loop()
        sessions = Sessions(Recorded, grace=0.05)
        first = Visit("one tab")
        mine, is_new = sessions.attach(first, "ann")
        assert is_new
        other, _ = sessions.attach(Visit("another tab"), "ann")
        stranger, _ = sessions.attach(Visit("one tab"), "bob")
        assert len({id(each) for each in (mine, other, stranger)}) == 3
        first.leave()
        assert mine.done == ["stop"]
        again = Visit("one tab")
        assert sessions.attach(again, "ann") == (mine, False)
        await asyncio.sleep(0.2)
        assert mine.done == ["stop", "refresh"]
        again.leave()
        await asyncio.sleep(0.2)
        assert mine.done == ["stop", "refresh", "stop", "close"]
        assert len(sessions) == 2
        sessions.close()
        assert other.done == stranger.done == ["close"]

    asyncio.run(story())
