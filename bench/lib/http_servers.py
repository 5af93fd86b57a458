"""The servers that `bench/http` measures: ours with two targets over SSH, salt-api with a master and two minions."""
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import hosts as testbed
import places

USER, PASSWORD = "bench", "bench-password"
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
RIGHTS = [".*", "@runner", "@wheel", "@jobs"]


class ServerError(Exception):
    """A server can't be started, or doesn't answer as expected."""


class Server:
    """The requests are the same for both servers: Salt's API."""

    name = ""
    most_listeners = 1000

    def __init__(self, scratch):
        self.folder = os.path.join(scratch, self.name)
        os.makedirs(self.folder, mode=0o700)
        self.started = []
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = None

    def pids(self):
        return [process.pid for process in self.started]

    def start_process(self, words, environment=None):
        out = open(os.path.join(self.folder, "out"), "a")
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        self.started.append(process)
        return process

    def stop(self):
        for process in reversed(self.started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.started = []

    def wait_until(self, works, seconds, what):
        end = time.time() + seconds
        while time.time() < end:
            for process in self.started:
                if process.poll() is not None:
                    raise ServerError(f"{self.name}: a process ended by itself:\n{self.said()}")
            try:
                if works():
                    return
            except (OSError, urllib.error.URLError, ValueError, KeyError, IndexError):
                pass
            time.sleep(0.5)
        raise ServerError(f"{self.name}: {what} takes longer than {seconds} s:\n{self.said()}")

    def said(self):
        with open(os.path.join(self.folder, "out"), errors="replace") as file:
            return file.read()[-4000:]

    def ask(self, path, body=None, headers=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, {**JSON, **(headers or {})})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def credentials(self):
        return {"username": USER, "password": PASSWORD, "eauth": self.eauth}

    def login(self):
        # Two logins are needed: salt-api's sessions aren't tokens of Salt.
        self.session = self.ask("/login", self.credentials())["return"][0]["token"]
        self.token = self.ask("/token", self.credentials())[0]["token"]

    def chunk(self, **fields):
        return {"path": "/run", "method": "POST", "headers": JSON, "body": json.dumps([{"token": self.token, **fields}])}

    def ping(self):
        # Each target must have answered.
        return {**self.chunk(client="local", tgt="*", fun="test.ping"), "expect": "true"}

    def start_job(self):
        return {**self.chunk(client="local_async", tgt="*", fun="test.ping"), "expect": "jid"}

    def list_jobs(self):
        return {**self.chunk(client="runner", fun="jobs.list_jobs"), "expect": "test.ping"}

    def count_jobs(self):
        request = self.list_jobs()
        return len(self.ask(request["path"], json.loads(request["body"]))["return"][0])

    def login_request(self):
        return {"path": "/login", "method": "POST", "headers": JSON, "body": json.dumps(self.credentials()), "expect": "token"}

    def fire(self):
        return {"path": "/hook/load", "headers": {**JSON, "X-Auth-Token": self.session}, "body": json.dumps({"mark": "@"})}

    def restart_if_stuck(self):
        pass


class Rocksalt(Server):
    name = "rocksalt"
    eauth = "sharedsecret"

    def __init__(self, scratch, path):
        super().__init__(scratch)
        self.path = os.path.abspath(path)
        self.hosts_are_ours = False

    def version(self):
        return subprocess.run([self.path, "--version"], capture_output=True, text=True).stdout.splitlines()[0]

    def start(self):
        hosts = testbed.fleet()
        if not hosts:
            hosts, self.hosts_are_ours = testbed.up(2), True
        config = os.path.join(self.folder, "config")
        os.makedirs(config)
        settings = {
            "state_dir": os.path.join(self.folder, "state"),
            "external_auth": {"sharedsecret": {USER: RIGHTS}},
            "sharedsecret": PASSWORD,
            "log_level": "warning",
        }
        places.write(os.path.join(config, "rocksalt.yml"), json.dumps(settings))
        entries = {
            host.id: {
                "host": host.id, "port": testbed.PORT, "user": "root", "priv": testbed.KEY, "known_hosts": testbed.KNOWN_HOSTS,
                "thin_dir": os.path.join(host.folder, "agent"),
            }
            for host in hosts[:2]
        }  # fmt: skip
        places.write(os.path.join(config, "roster"), json.dumps(entries))
        home = os.path.join(self.folder, "home")
        os.makedirs(home)
        environment = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": self.folder}
        self.start_process([self.path, "-c", config, "serve", "--listen", f"127.0.0.1:{self.port}"], environment)

        def answers():
            self.login()
            return self.ask("/run", json.loads(self.ping()["body"]))["return"][0] == {host.id: True for host in hosts[:2]}

        self.wait_until(answers, 60, "the start")

    def stop(self):
        super().stop()
        if self.hosts_are_ours:
            testbed.down()
            self.hosts_are_ours = False


class SaltApi(Server):
    name = "salt-api"
    eauth = "auto"
    most_listeners = 90  # it has 100 threads, and each listener takes one
    # These attributes are for `install.install`.
    packages = ("python3", "python3-venv")
    venv = "salt-api"
    requirements = ("salt", "cherrypy")

    def program(self, name):
        return os.path.join(places.VENVS, self.venv, "bin", name)

    def version(self):
        said = subprocess.run([self.program("salt-api"), "--version"], capture_output=True, text=True).stdout
        found = re.search(r"\d\S+", said)
        return f"salt-api {found.group(0) if found else said.strip()}, 100 threads (its default), two minions"

    def start(self):
        if not os.access(self.program("salt-api"), os.X_OK):
            raise ServerError("salt-api is not installed; give --install")
        ports = {"publish_port": free_port(), "ret_port": free_port()}
        master = {
            "root_dir": self.folder, "user": "root", "interface": "127.0.0.1", "auto_accept": True, **ports,
            "external_auth": {"auto": {USER: RIGHTS}}, "token_expire": 43200, "log_level": "error",
            "netapi_enable_clients": ["local", "local_async", "runner", "wheel"],
            "rest_cherrypy": {"port": self.port, "host": "127.0.0.1", "disable_ssl": True},
        }  # fmt: skip
        places.write(os.path.join(self.folder, "config", "master"), json.dumps(master))
        for minion in ("one", "two"):
            settings = {
                "root_dir": os.path.join(self.folder, minion), "user": "root", "id": minion, "master": "127.0.0.1",
                "master_port": ports["ret_port"], "publish_port": ports["publish_port"], "log_level": "error",
            }  # fmt: skip
            places.write(os.path.join(self.folder, minion, "config", "minion"), json.dumps(settings))
        config = os.path.join(self.folder, "config")
        self.start_process([self.program("salt-master"), "-c", config])
        for minion in ("one", "two"):
            self.start_process([self.program("salt-minion"), "-c", os.path.join(self.folder, minion, "config")])
        self.api = self.start_process([self.program("salt-api"), "-c", config])
        self.wait_until(self.answers, 180, "the start")

    def answers(self):
        self.login()
        return self.ask("/run", json.loads(self.ping()["body"]))["return"][0] == {"one": True, "two": True}

    def restart_if_stuck(self):
        """After more listeners than it has threads, the server doesn't answer for a long time."""
        os.killpg(self.api.pid, signal.SIGKILL)
        self.api.wait()
        self.started.remove(self.api)
        self.api = self.start_process([self.program("salt-api"), "-c", os.path.join(self.folder, "config")])
        self.wait_until(self.answers, 180, "the start")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
