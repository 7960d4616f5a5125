"""The page's server: nothing without the token, numbers with it; and the page in a real browser."""

from __future__ import annotations

import html
import http.client
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.errors import MonitorError
from batchlab.monitor import guard
from batchlab.monitor import server as server_module
from batchlab.monitor.guard import Pace, PaceControl, Serving
from batchlab.monitor.server import Server
from batchlab.monitor.snapshot import History, ResultExchange, SnapshotExchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from pathlib import Path

    from batchlab.monitor.snapshot import Snapshot

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def history(simulation: bl.Simulation) -> History:
    """Points of the run's first ten seconds."""
    history, fork = History(simulation.system.resources), simulation.fork()
    for instant in (0.0, 5.0, 10.0):
        fork.run_until(instant)
        history.add(fork.gauges())
    return history


@pytest.fixture
def control() -> PaceControl:
    """Give the pace of a run that goes as fast as can be."""
    return PaceControl(Pace())


@pytest.fixture
def server(exchange: SnapshotExchange, history: History, control: PaceControl) -> Iterator[Server]:
    """Serve what is known of the run at t = 10."""
    with Server(exchange, history, Serving(), control) as server:
        yield server


def get(server: Server, path: str, query: str | None = None) -> tuple[int, Message, str]:
    """Ask for a page with the token, or with another query: status, headers, text."""
    address, _, token = server.url.partition("?")
    request = f"{address.rstrip('/')}{path}?{token if query is None else query}"
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # our own
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


def state(server: Server, **known: object) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Ask for the numbers."""
    token = server.url.partition("?")[2]
    status, _, text = get(server, "/state", f"{token}&{urllib.parse.urlencode(known)}")
    assert status == 200
    return json.loads(text)


@pytest.mark.parametrize("path", ["/", "/state"])
def test_without_the_token_nothing_is_told(path: str, server: Server) -> None:
    """But that it is missing: no part of it will do, nor anything like it."""
    token = server.url.partition("token=")[2]
    for query in ("", "token=", f"token={token[:-1]}", f"token={token}x", "token=%C3%BC", f"Token={token}"):
        status, _, text = get(server, path, query)
        assert status == 403
        assert "The token is missing" in text
        assert "by hand" not in text
        assert "script" not in text
    assert get(server, path)[0] == 200


@pytest.mark.parametrize("query", [None, ""])
def test_nothing_leaves_the_page(query: str | None, server: Server) -> None:
    """No referrer that would carry the token, nothing stored, nothing loaded from elsewhere."""
    _, headers, _ = get(server, "/", query)
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nowhere", 404), ("POST", "/", 405), ("GET", "/%ff/..//", 404)]
)
def test_errors_have_the_headers_too(method: str, path: str, status: int, server: Server) -> None:
    """Those that the framework answers by itself."""
    answer = asked(server, method, path)
    assert answer.status == status
    assert "default-src 'none'" in (answer.headers["Content-Security-Policy"] or "")
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST", 200),
        ("[::1]:{port}", 200),
        ("192.0.2.7", 200),
        ("evil.example:{port}", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("[evil.example]", 421),
    ],
)
def test_a_page_elsewhere_cannot_take_this_address(host: str, status: int, server: Server) -> None:
    """A request that names another host is not answered, even with the token."""
    parts = urllib.parse.urlsplit(server.url)
    answer = asked(server, "GET", f"/state?{parts.query}", host.format(port=parts.port))
    assert answer.status == status
    assert "default-src 'none'" in (answer.headers["Content-Security-Policy"] or "")


def asked(server: Server, method: str, path: str, host: str | None = None) -> http.client.HTTPResponse:
    """Send a request as it is, with a name of the host."""
    parts = urllib.parse.urlsplit(server.url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=host is not None)
        if host is not None:
            connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def test_strangers_cannot_write_into_the_terminal(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """What is no HTTP at all is refused, and not passed on."""
    port = urllib.parse.urlsplit(server.url).port
    with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
        stranger.sendall(b"no such thing\r\n\r\n")
        assert b"400" in stranger.recv(100)
    assert not caplog.records


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET /sta",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /pace HTTP/1.1\r\nContent-Length: 9\r\n\r\nrate",
    ],
)
@pytest.mark.parametrize("after_a_request", [False, True])
def test_half_sent_requests_end(
    server: Server, monkeypatch: pytest.MonkeyPatch, half: bytes, *, after_a_request: bool
) -> None:
    """A connection whose request stays incomplete is closed, and others are answered meanwhile."""
    monkeypatch.setattr(guard, "_REQUEST_TIMEOUT", 0.3)
    port = urllib.parse.urlsplit(server.url).port
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
        if after_a_request:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stranger.recv(1 << 16).startswith(b"HTTP/1.1 403")
        stranger.sendall(half)
        assert get(server, "/state")[0] == 200
        with suppress(ConnectionResetError):
            while stranger.recv(1 << 16):
                pass


def test_slow_requests_are_answered(server: Server) -> None:
    """One that comes byte by byte, in less than the time that it has."""
    parts = urllib.parse.urlsplit(server.url)
    request = f"GET /state?{parts.query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=10) as client:
        for byte in request.encode():
            client.sendall(bytes([byte]))
            time.sleep(0.001)
        assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_the_page_asks_nothing_of_others(server: Server) -> None:
    """It is one file, and names no other address than that of the vector format."""
    _, headers, page = get(server, "/")
    assert headers.get_content_type() == "text/html"
    assert set(re.findall(r"https?://[\w.]+", page)) == {"http://www.w3.org"}
    assert not re.search(r"\b(src|innerHTML)\s*=", page)


def test_the_numbers(server: Server) -> None:
    """Those of the picture; of the curves only what the page does not have."""
    first = state(server)
    assert (first["queued"], first["running"], first["now"]) == (1, 2, 10.0)
    assert first["history"]["time"] == [0, 5, 10]
    generation = first["history"]["generation"]
    news = state(server, generation=generation, points=2)["history"]
    assert (news["start"], news["time"]) == (2, [10])
    assert state(server, generation="x", points="9" * 99)["history"]["start"] == 0


def test_the_pace_is_changed(server: Server, control: PaceControl) -> None:
    """By those who know the token; what is no pace is refused with the rule, and nothing changes."""
    token = server.url.partition("?")[2]
    assert asked(server, "GET", f"/pace?{token}&rate=9").status == 405
    assert asked(server, "POST", "/pace?rate=9&paused=yes").status == 403
    assert (control.pace.rate, control.pace.is_paused) == (None, False)
    assert asked(server, "POST", f"/pace?{token}&rate=250.5&paused=yes").status == 200
    for rate in ("0", "-1", "inf", "nan", "fast"):
        assert asked(server, "POST", f"/pace?{token}&rate={rate}").status == 400
    assert (control.pace.rate, control.pace.is_paused) == (250.5, True)
    assert asked(server, "POST", f"/pace?{token}&rate=&paused=no").status == 200
    assert (control.pace.rate, control.pace.is_paused) == (None, False)


def test_a_job_is_explained(exchange: SnapshotExchange, simulation: bl.Simulation, server: Server) -> None:
    """The sections of the answer of the run so far; errors say what is wrong."""
    token = server.url.partition("?")[2]
    status, _, text = get(server, "/why", f"{token}&job=13")
    assert (status, json.loads(text)["error"]) == (400, "the run has no result yet. Ask again.")
    fork = simulation.fork()
    fork.run_until(25)
    exchange.results = ResultExchange(fork.result)
    exchange.results.close()
    status, _, text = get(server, "/why", f"{token}&job=13")
    (head, _), *others = json.loads(text)["sections"]
    assert (status, head[:54]) == (200, "Job 13 waited 15 s, from 10 s to 25 s, and has not sta")
    assert others[0][0].startswith("Use of the")
    for number, message in (
        ("99", "no job of this run"),
        ("", "must be a whole number"),
        ("14", "not been sub"),
    ):
        status, _, text = get(server, "/why", f"{token}&job={number}")
        assert status == 400
        assert message in json.loads(text)["error"]


def test_results_are_made_by_the_thread_of_the_run(simulation: bl.Simulation) -> None:
    """While the run goes on, a viewer waits until its thread makes the result."""
    made: list[int] = []
    result = simulation.result()

    def make() -> bl.Result:
        made.append(threading.get_ident())
        return result

    results = ResultExchange(make)
    with pytest.raises(MonitorError, match="long decision"):
        results.latest(patience=0.01)
    asked = threading.Thread(target=results.latest)
    asked.start()
    while asked.is_alive():
        if results.is_wanted:
            results.publish()
        time.sleep(0.001)
    assert set(made) == {threading.get_ident()}


def test_it_listens_to_this_machine_only(server: Server) -> None:
    """Unless told otherwise."""
    port = int(server.url.partition("127.0.0.1:")[2].partition("/")[0])
    others = {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for address in others - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, port), timeout=2)


def test_addresses_that_are_taken(exchange: SnapshotExchange, history: History) -> None:
    """The error names them and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(bl.MonitorError, match=rf"127\.0\.0\.1 port {port}: Address already in use"):
            Server(exchange, history, Serving(port=port), PaceControl(Pace()))
    with pytest.raises(bl.MonitorError, match="cannot serve at no-such-host"):
        Server(exchange, history, Serving(host="no-such-host.invalid"), PaceControl(Pace()))


@pytest.mark.parametrize("host", ["0.0.0.0", "::1"])  # noqa: S104  # that is the test
def test_other_hosts_are_served_if_told(host: str, exchange: SnapshotExchange, history: History) -> None:
    """The address can be opened: a name for all interfaces, brackets around colons."""
    try:
        server = Server(exchange, history, Serving(host=host), PaceControl(Pace()))
    except bl.MonitorError as error:
        pytest.skip(f"this machine has no such interface: {error}")
    with server:
        name = socket.gethostname() if host == "0.0.0.0" else "[::1]"  # noqa: S104  # here too
        assert re.fullmatch(rf"http://{re.escape(name)}:\d+/\?token=[\w-]{{22}}", server.url)
        if host == "0.0.0.0":  # noqa: S104  # here too
            query = urllib.parse.urlsplit(server.url).query
            assert asked(server, "GET", f"/state?{query}", socket.gethostname()).status == 200


def browse(url: str, profile: Path) -> str:
    """Open a page in a browser without a window, wait until it has drawn, and give what it has become."""
    if BROWSER is None:
        pytest.skip("needs chromium, which is not here")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        "--window-size=1280,1400",
    ]
    command = [BROWSER, *options, "--virtual-time-budget=2500", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)  # noqa: S603  # ours
    return html.unescape(done.stdout)


def attribute(document: str, name: str, canvas: str = "nodes") -> str:
    found = re.search(rf'<canvas id="{canvas}"[^>]*\bdata-{name}="([^"]*)"', document)
    assert found is not None, f"the canvas {canvas} has no data-{name}"
    return found[1]


def test_the_page_in_a_browser(server: Server, tmp_path: Path) -> None:
    """It draws the curve of every resource, the map of nodes and the queue, and finds no error."""
    document = browse(server.url, tmp_path)
    assert re.search(r'<div id="error" role="alert" hidden="">\s*</div>', document)
    assert '<h1 id="policy">fcfs</h1>' in document
    assert "0 of 4 jobs done (0 %)" in document
    assert "<dt>of 8 core</dt><dd>62.5 %</dd>" in document
    utilisation = re.search(r'<svg id="utilisation".*?</svg>', document, re.DOTALL)
    assert utilisation is not None
    curves = re.findall(r'<path d="(M[^"]+)"[^>]*class="curve"', utilisation[0])
    assert len(curves) == 3
    assert all(curve.count("H") == 2 for curve in curves)
    drawn = {name: attribute(document, name) for name in ("nodes", "busy", "jobs", "resource")}
    assert drawn == {"nodes": "2", "busy": "2", "jobs": "2", "resource": "core"}
    assert "2 of 2 nodes have core in use · 2 jobs" in document
    button = r'<button type="button" class="job">{}</button>'
    assert re.search(rf"<td>{button.format(13)}</td><td>4</td><td>0 s</td><td>30 s</td>", document)
    running = r"</span></td><td>1</td><td>5 s</td><td>40 s</td>"
    assert re.search(rf"</span>{button.format(12)}{running}", document)


def test_many_points_are_means_in_a_browser(
    exchange: SnapshotExchange, control: PaceControl, simulation: bl.Simulation, tmp_path: Path
) -> None:
    """Points that are closer than pixels become means over windows, in a band of their values."""
    history, gauges = History(simulation.system.resources), simulation.gauges()
    for second in range(3000):
        history.add(replace(gauges, now=float(second), queued=4 * (second % 2)))
    with Server(exchange, history, Serving(), control) as server:
        document = browse(server.url, tmp_path)
    assert re.search(r'<div id="error" role="alert" hidden="">\s*</div>', document)
    waiting = re.search(r'<svg id="waiting".*?</svg>', document, re.DOTALL)
    assert waiting is not None
    band, curve = (
        re.findall(rf'<path d="(M[^"]+)"[^>]*class="{kind}"', waiting[0]) for kind in ("band", "curve")
    )
    heights = {float(height) for height in re.findall(r",(\d+\.\d)H", band[0])}
    means = [float(height) for height in re.findall(r",(\d+\.\d)H", curve[0])]
    assert len(heights) == 2
    assert len(means) > 100
    # A window has some ten points.
    assert all(abs(mean - sum(heights) / 2) < 0.1 * (max(heights) - min(heights)) for mean in means)
    assert re.search(r'id="range">means over [\d.]+ s, from least to greatest', document)


USE = """<script>
const press = id => element(id).click();
const drag = (type, x) => element("waiting").dispatchEvent(new PointerEvent(type,
  { pointerId: 1, clientX: element("waiting").getBoundingClientRect().left + x }));
Element.prototype.setPointerCapture = () => {};
const use = () => {
  if (!run) return setTimeout(use, 20);
  press("pause");
  setTimeout(() => { press("slower"); drag("pointerdown", 400); drag("pointerup", 800); }, 300);
  setTimeout(() => press("slower"), 400);
};
use();
</script></body>"""


def test_the_controls_in_a_browser(
    exchange: SnapshotExchange,
    history: History,
    control: PaceControl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Buttons pause the run and slow it down; a part of the curves that is drawn over is enlarged."""
    page = server_module._page().replace("</body>", USE)  # noqa: SLF001  # with a user in it
    monkeypatch.setattr(server_module, "_page", lambda: page)
    with Server(exchange, history, Serving(), control) as server:
        document = browse(server.url, tmp_path)
    assert re.search(r'<div id="error" role="alert" hidden="">\s*</div>', document)
    assert control.pace.is_paused
    # The run had 5 simulated seconds per second.
    assert control.pace.rate in {2.5, 1.25}
    assert '<button id="whole" type="button">' in document
    assert '<span class="note" id="range">2 points</span>' in document


def chart_of(snapshot: Snapshot, history: History, folder: Path) -> tuple[str, dict[str, str]]:
    """Look at a run in a browser: the page, and what its chart of the schedule shows."""
    exchange = SnapshotExchange(snapshot)
    exchange.close(snapshot)
    with Server(exchange, history, Serving(), PaceControl(Pace())) as server:
        document = browse(server.url, folder)
    assert re.search(r'<div id="error" role="alert" hidden="">\s*</div>', document)
    names = ("nodes", "begin", "end", "now", "running", "ended", "late", "pieces")
    return document, {name: attribute(document, name, "schedule") for name in names}


def test_the_schedule_in_a_browser(later: Snapshot, history: History, tmp_path: Path) -> None:
    """Bars of the running jobs up to their expected ends and of those that ended, and where now is."""
    document, chart = chart_of(later, history, tmp_path)
    assert (chart["nodes"], chart["running"], chart["ended"], chart["late"]) == ("2", "1", "1", "0")
    # 95 s are expected: five minutes are shown, a third of them past. Job 11 has a rectangle on each node.
    assert (chart["begin"], chart["end"], chart["now"]) == ("-75", "225", "0.3333")
    assert chart["pieces"] == "3"
    assert "1 running until their expected ends · 1 ended</span>" in document


def test_late_jobs_and_a_past_that_is_not_known(
    later: Snapshot, history: History, simulation: bl.Simulation, tmp_path: Path
) -> None:
    """A job that has used up its requested time is late; the page says from when on it knows all."""
    simulation.run_until(125)
    asked = later.facts.requested_time.copy()
    asked[2] = 0.0
    facts = replace(later.facts)
    vars(facts)["requested_time"] = asked
    late = replace(later, facts=facts, status=simulation.status(latest=1))
    document, chart = chart_of(late, history, tmp_path)
    assert (chart["running"], chart["ended"], chart["late"]) == ("1", "1", "1")
    assert "1 late · pale: before 00:01:40 not all are known" in document


def test_drained_nodes_are_crossed_out(snapshot: Snapshot, history: History, tmp_path: Path) -> None:
    """And counted."""
    exchange = SnapshotExchange(snapshot)
    exchange.close(replace(snapshot, status=replace(snapshot.status, drained=np.array([True, False]))))
    with Server(exchange, history, Serving(), PaceControl(Pace())) as server:
        document = browse(server.url, tmp_path)
    assert re.search(r'<div id="error" role="alert" hidden="">', document)
    assert attribute(document, "drained") == "1"
    assert "<dt>nodes drained</dt><dd>1</dd>" in document


def test_a_browser_without_the_token_is_refused(server: Server, tmp_path: Path) -> None:
    """It sees nothing of the run."""
    document = browse(server.url.partition("?")[0], tmp_path)
    assert "The token is missing" in document
    assert "fcfs" not in document


def test_names_cannot_become_markup(snapshot: Snapshot, history: History, tmp_path: Path) -> None:
    """A log's name is text, whatever is in it."""
    facts = replace(snapshot.facts, title="<img src=x onerror=document.title='broken'>.swf")
    exchange = SnapshotExchange(snapshot)
    exchange.close(replace(snapshot, facts=facts))
    with Server(exchange, history, Serving(), PaceControl(Pace())) as server:
        document = browse(server.url, tmp_path)
    assert "<title>0 % · fcfs · batchlab</title>" in document
    assert re.search(r'<p id="subject">[^<]*<img src=x[^/]*\.swf · pair · 2 nodes</p>', document)
