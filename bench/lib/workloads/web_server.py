"""Applies `examples/webserver` to empty machines, in each of our modes. It needs hosts with systemd and apt."""
import json
import os
import shutil
import subprocess
import time

import places
from peers import Failure, Peer
from workloads import Workload

TESTBED = os.path.join(os.environ.get("TARGET") or os.path.join(places.REPOSITORY, "target"), "debug", "rocksalt-testbed")
EXAMPLE = os.path.join(places.REPOSITORY, "examples", "webserver")
HOSTS = 5
PACKAGES = ("cron", "logrotate", "nftables", "nginx", "procps")  # all packages that the example installs


class WebServer(Workload):
    name = "web-server"
    title = f"`examples/webserver` on {HOSTS} empty hosts with systemd"
    phases = ("ansible", "justdoit", "genius")
    host_counts = (0,)

    def __init__(self):
        self.bed = None

    def prepare(self, peer, hosts, phase):
        self.finish()
        if type(peer).web_server is not Peer.web_server:  # don't start five machines for no tool
            self.bed = Bed()

    def command(self, peer, hosts, phase):
        return peer.web_server(self.bed, phase)

    def prove(self, peer, hosts, phase, measurement):
        for number in range(1, HOSTS + 1):
            for path, text in (("/", f"From h{number}, for example.test."), ("/status.json", f'"name": "h{number}"')):
                answer = self._answer(number, path, text)
                if text not in answer:
                    raise Failure(f"h{number} serves {answer!r} at {path}")

    def _answer(self, number, path, text):
        """nginx loads new settings a moment after `systemctl reload` has finished."""
        for _ in range(30):
            answer = self.bed.get(number, path)
            if text in answer:
                break
            time.sleep(0.1)
        return answer

    def target_roots(self):
        return self.bed.pids() if self.bed else []

    def finish(self):
        if self.bed:
            self.bed.down()
            self.bed = None


class Bed:
    """Hosts in their own network, with a repository in it."""

    name = f"bench-{os.getpid()}"

    def __init__(self):
        self.directory = self._ask("repository", *PACKAGES).strip()
        self.server = None
        self._ask("down")
        try:
            self._ask("up", str(HOSTS), "--kind", "systemd")
            serve = ["busybox", "httpd", "-f", "-p", "10.77.0.1:80", "-h", self.directory]
            self.server = subprocess.Popen([*self.inside(), *serve], stdin=subprocess.DEVNULL)
        except (Failure, OSError):
            self.down()
            raise

    def down(self):
        if self.server:
            self.server.kill()
            self.server.wait()
        self._ask("down")

    def inside(self):
        """The prefix of a command on the controller's side of the network."""
        return ["nsenter", f"--net=/run/netns/rocksalt-{self.name}-lab", "--"]

    def pids(self):
        return [*map(int, self._ask("pids").split()), self.server.pid]

    def pillar(self):
        with open(os.path.join(self.directory, "key.asc")) as file:
            key = file.read()
        keyring = "/usr/share/keyrings/testbed.asc"
        return json.dumps({"repository": {"url": "http://10.77.0.1/", "keyring": keyring, "key": key}})

    def project(self, folder):
        """Copies the example, with these hosts in its roster."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(EXAMPLE, folder)
        places.write(os.path.join(folder, "roster"), self._ask("roster"))
        return folder

    def get(self, number, path):
        url = f"http://{self._ask('ip', str(number)).strip()}{path}"
        # The example's own service may have started only a moment ago.
        words = ["curl", "--silent", "--show-error", "--fail", "--max-time", "5", "--retry", "20", "--retry-delay", "1"]
        answer = subprocess.run([*self.inside(), *words, "--retry-all-errors", url], capture_output=True, text=True)
        return answer.stdout + answer.stderr

    def _ask(self, *arguments):
        answer = subprocess.run([TESTBED, "--bed", self.name, *arguments], capture_output=True, text=True)
        if answer.returncode:
            raise Failure(places.scrub(answer.stderr.strip()))
        return answer.stdout
