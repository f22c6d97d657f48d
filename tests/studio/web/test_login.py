"""The password of a Studio: what lies behind it, its cookie, and how long wrong ones wait."""

from __future__ import annotations

import asyncio
import time

import nicegui
import pytest
from starlette.datastructures import Headers

from browser import element, wait_for
from opdt.errors import InputError
from opdt.studio.web.login import Gate, Throttle
from opdt.studio.web.security import HEADERS
from studio_server import PASSWORD, SOCKET, ask, dial, own_origin, running

websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")


@pytest.fixture(scope="module")
def locked_studio(tmp_path_factory):
    """On all addresses of the machine, with a password."""
    folder = tmp_path_factory.mktemp("locked")
    with running(folder, "--host", "0.0.0.0", password=PASSWORD) as server:
        yield server


def log_in(server, password: str = PASSWORD):
    return ask(server, "login", "POST", data={"password": password}, headers=own_origin(server))


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
    answer = ask(locked_studio, path.format(version=nicegui.__version__))
    assert answer.status_code == 401
    assert answer.text == "Log in first.\n"


def test_the_page_leads_to_the_login(locked_studio):
    answer = ask(locked_studio)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    page = ask(locked_studio, "login")
    assert page.status_code == 200
    assert all(page.headers[name] == value for name, value in HEADERS.items())


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
    jar = {"Cookie": "another[app]=\\; " + cookie.split(";")[0]}  # what else the host has set
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


def test_a_short_password_is_refused():
    with pytest.raises(InputError, match="at least 8"):
        Gate("1234567", 1)


def test_a_long_password_is_no_way_to_fill_the_memory(locked_studio):
    answer = log_in(locked_studio, "x" * 100_000)
    assert answer.status_code == 413


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
