"""The login: one password, a cookie for who knows it, and patience with who does not."""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from opdt.errors import InputError

LOGIN, LOGOUT = "/login", "/logout"
_SHORTEST = 8
_VALID_SECONDS = 12 * 3600.0
_MOST_LOGINS = 1000
_LONGEST_FORM = 10_000  # bytes
_FORM = "application/x-www-form-urlencoded"


class Throttle:
    """How long to wait for the next attempt, for one address and for all together.

    After five wrong passwords an address waits one second, and twice as long after each further
    one, up to five minutes; all addresses together have thirty wrong passwords a minute.
    """

    FREE = 5
    LONGEST = 300.0
    ALL, WINDOW = 30, 60.0
    _REMEMBERED = 10_000

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._recent: deque[float] = deque()

    def wait(self, address: str) -> float:
        """Seconds until the next attempt from `address` is looked at; 0 for at once."""
        now = self._clock()
        while self._recent and now - self._recent[0] >= self.WINDOW:
            self._recent.popleft()
        crowded = len(self._recent) >= self.ALL
        together = self._recent[-self.ALL] + self.WINDOW - now if crowded else 0.0
        _, until = self._wrong.get(_network(address), (0, now))
        return max(together, until - now, 0.0)

    def failed(self, address: str) -> None:
        """Count a wrong password."""
        now, key = self._clock(), _network(address)
        count = self._wrong.pop(key, (0, now))[0] + 1
        pause = min(2.0 ** min(count - self.FREE, 60), self.LONGEST) if count >= self.FREE else 0.0
        self._wrong[key] = (count, now + pause)
        self._recent.append(now)
        while len(self._wrong) > self._REMEMBERED:
            self._wrong.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the wrong passwords of an address."""
        self._wrong.pop(_network(address), None)


def _network(address: str) -> str:
    """One who has an IPv6 address has all of its network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))


class Gate:
    """Who may come in: the login page, its cookie, and the way out.

    Parameters
    ----------
    password : str
        At least eight characters.
    port : int
        The server's; cookies are not kept apart by port, so the cookie's name holds it.
    clock : callable
        Seconds that never go backwards.
    """

    paths = (LOGIN, LOGOUT)

    def __init__(
        self, password: str, port: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if len(password) < _SHORTEST:
            raise InputError(f"the password must have at least {_SHORTEST} characters.")
        self._digest = _digest(password)
        self._cookie = f"opdt-studio-{port}"
        self._clock = clock
        self._throttle = Throttle(clock)
        self._logins: OrderedDict[str, float] = OrderedDict()

    def admits(self, headers: Headers) -> bool:
        """Whether a request comes from someone who has logged in."""
        return self.visitor(headers) is not None

    def visitor(self, headers: Headers) -> str | None:
        """What tells those who have logged in apart; None for anyone else."""
        token = cookie_parser(headers.get("cookie", "")).get(self._cookie)
        if token is None:
            return None
        # The digest is looked up, not the token: how long that takes says nothing of the token.
        known = _digest(token).hex()
        return known if self._logins.get(known, 0.0) > self._clock() else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of the `paths`."""
        request = Request(scope, receive)
        if scope["path"] == LOGOUT and request.method == "POST":
            answer = self._log_out(request)
        elif scope["path"] == LOGIN and request.method == "POST":
            answer = await self._log_in(request)
        elif self.admits(request.headers):
            answer = RedirectResponse("/", 303)
        else:
            answer = _page()
        answer.headers["Cache-Control"] = "no-store"
        await answer(scope, receive, send)

    async def redirect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a browser to the login page."""
        answer = RedirectResponse(LOGIN, 303, {"Cache-Control": "no-store"})
        await answer(scope, receive, send)

    async def _log_in(self, request: Request) -> Response:
        address = request.client.host if request.client else ""
        seconds = self._throttle.wait(address)
        if seconds > 0:
            whole = int(seconds) + 1
            words = f"Too many wrong passwords; try again in {whole} seconds."
            return _page(words, 429, {"Retry-After": str(whole)})
        if not request.headers.get("content-type", "").startswith(_FORM):
            return _page("Send the password as a form.", 415)
        # A form of one password is small, and who sends more has none.
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_FORM:
                return _page("That is not the password.", 413)
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        given = fields.get("password", [None])[0]
        if not isinstance(given, str) or not hmac.compare_digest(_digest(given), self._digest):
            self._throttle.failed(address)
            return _page("That is not the password.", 401)
        self._throttle.succeeded(address)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._cookie,
            self._new_login(),
            max_age=int(_VALID_SECONDS),
            path="/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    def _new_login(self) -> str:
        token = secrets.token_urlsafe(32)
        self._logins[_digest(token).hex()] = self._clock() + _VALID_SECONDS
        while len(self._logins) > _MOST_LOGINS:
            self._logins.popitem(last=False)
        return token

    def _log_out(self, request: Request) -> Response:
        visitor = self.visitor(request.headers)
        if visitor is not None:
            del self._logins[visitor]
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")
        return answer


def _digest(text: str) -> bytes:
    """Of one length for every text, so that comparing tells nothing of a length."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _page(words: str = "", status: int = 200, headers: dict[str, str] | None = None) -> Response:
    shown = f'<p role="alert" id="wrong">{html.escape(words)}</p>' if words else ""
    return HTMLResponse(_PAGE.replace("{words}", shown), status, headers)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>opdt Studio: log in</title>
<style>
:root { color-scheme: light dark; --ground: #f6f7f8; --paper: #fff; --ink: #1c2126; --soft: #5a646e;
  --line: #c9d0d6; --accent: #0b5cad; --bad: #b3261e; --on: #fff; }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --paper: #1c2227; --ink: #e8ebee;
  --soft: #a3adb7; --line: #46515c; --accent: #7cb8f2; --bad: #ff8a80; --on: #10161c; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
form { box-sizing: border-box; width: min(24rem, 92vw); padding: 2rem; background: var(--paper);
  border: 1px solid var(--line); border-radius: .75rem; }
h1 { margin: 0 0 .25rem; font-size: 1.35rem; }
p { margin: 0 0 1.25rem; color: var(--soft); }
[role=alert] { color: var(--bad); font-weight: 600; }
label { display: block; font-weight: 600; margin-bottom: .35rem; }
input, button { box-sizing: border-box; width: 100%; font: inherit; padding: .6rem .75rem;
  border-radius: .45rem; }
input { background: var(--ground); color: inherit; border: 1px solid var(--line); }
button { margin-top: 1rem; border: 0; background: var(--accent); color: var(--on);
  font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
</style>
</head>
<body>
<form method="post" action="/login">
<h1>opdt Studio</h1>
<p>Whoever started this Studio knows the password.</p>
{words}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
  required autofocus>
<button type="submit">Log in</button>
</form>
</body>
</html>
"""
