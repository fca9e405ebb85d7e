"""The command `raydb ui`: what it prints, TLS, and how it ends."""

import http.client
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import raydb

CERTIFICATE, KEY = (
    Path(__file__).parents[2] / "serve" / f"{n}.pem" for n in ("certificate", "key")
)


@contextmanager
def showing(*arguments):
    """Run the command on a free port; yield the process and the address."""
    command = [sys.executable, "-m", "raydb", "ui", *map(str, arguments), "--no-browser"]
    process = subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        told = process.stdout.readline()
        assert told.startswith("RayDB shows "), told + process.stderr.read()
        yield process, told.split(" at ")[1].strip()
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_it(tmp_path):
    with showing(tmp_path / "shop.raydb") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert "/#token=" in url
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
    raydb.connect(tmp_path / "shop.raydb").close()


@pytest.mark.long
def test_tls(tmp_path):
    options = ("--tls-cert", CERTIFICATE, "--tls-key", KEY, "--readonly")
    raydb.connect(tmp_path / "shop.raydb").close()
    with showing(tmp_path / "shop.raydb", *options) as (process, url):
        assert url.startswith("https://127.0.0.1:")
        port = int(url.split(":")[2].partition("/")[0])
        trusting = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=trusting)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_without_the_packages(tmp_path):
    program = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from raydb.engine.shell import cli\n"
        "sys.exit(cli.main(['ui', '--no-browser']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr == "error: the page needs the package uvicorn: pip install 'raydb[ui]'\n"
