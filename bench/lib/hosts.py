"""The throw-away hosts: real sshds on loopback addresses, with a folder for each host."""
import dataclasses
import os
import shutil
import signal
import subprocess
import time

import places
import processes

PORT = int(os.environ.get("BENCH_PORT", "2273"))
NETWORK = os.environ.get("BENCH_NETWORK", "127.73")  # host 1 is 127.73.0.1, host 251 is 127.73.1.1
HOSTS_PER_SSHD = 15  # an sshd takes at most 16 listen addresses

ROOT = os.path.join(places.SCRATCH, "hosts")
FOLDERS = os.path.join(ROOT, "folders")
HOMES = os.path.join(ROOT, "homes")
KEY = os.path.join(ROOT, "key")
HOST_KEY = os.path.join(ROOT, "host_key")
KNOWN_HOSTS = os.path.join(ROOT, "known_hosts")
SSH_CONFIG = os.path.join(ROOT, "ssh_config")


class HostsError(Exception):
    """The hosts can't be started or used; the text has the reason and a remedy."""


@dataclasses.dataclass(frozen=True)
class Host:
    id: str  # its address, which every tool accepts as a name

    @property
    def folder(self):
        """The only folder where a tool may leave files of this host: all hosts share the file system."""
        return os.path.join(FOLDERS, self.id)

    @property
    def home(self):
        """The home of this host's root. Tools keep per-machine files there, such as the lock of a run of states."""
        return os.path.join(HOMES, self.id)


def host(number):
    return Host(f"{NETWORK}.{(number - 1) // 250}.{(number - 1) % 250 + 1}")


def fleet():
    """Returns the running hosts."""
    if not sshd_pids():
        return []
    return [host(number + 1) for number in range(len(os.listdir(FOLDERS)))]


def sshd_pids():
    found = []
    for name in sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []:
        if name.endswith(".pid"):
            with open(os.path.join(ROOT, name)) as file:
                pid = int(file.read())
            if processes.command_name(pid) == "sshd":
                found.append(pid)
    return found


def up(count):
    if os.getuid() != 0:
        raise HostsError("starting the hosts needs root: each is an sshd that lets root in")
    sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not sshd:
        raise HostsError("no sshd on this machine: run `bench/peers openssh`, or install openssh-server")
    if count < 1:
        raise HostsError("at least one host is needed")
    if sshd_pids():
        raise HostsError(f"{len(fleet())} hosts are up already: run `bench/hosts down` first")
    shutil.rmtree(ROOT, ignore_errors=True)
    for folder in (places.SCRATCH, ROOT, HOMES):
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)
    hosts = [host(number + 1) for number in range(count)]
    for one in hosts:
        os.makedirs(one.folder)
        os.makedirs(one.home, mode=0o700)
    _write_keys(hosts)
    _write_ssh_config()
    _write_passwd()
    os.makedirs("/run/sshd", exist_ok=True)
    for start in range(0, count, HOSTS_PER_SSHD):
        _start_sshd(sshd, start // HOSTS_PER_SSHD, hosts[start : start + HOSTS_PER_SSHD])
    _wait_for(hosts[-1])
    return hosts


def down():
    """Kills the sshds and their sessions, each by its id, and removes all files of the hosts."""
    pids = processes.tree(sshd_pids())
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                pass
        for _ in range(20):
            if not any(processes.command_name(pid) for pid in pids):
                break
            time.sleep(0.05)
    shutil.rmtree(ROOT, ignore_errors=True)


def _write_keys(hosts):
    for path in (KEY, HOST_KEY):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", path], check=True)
    shutil.copy(KEY + ".pub", os.path.join(ROOT, "authorized_keys"))
    with open(HOST_KEY + ".pub") as file:
        public = " ".join(file.read().split()[:2])
    places.write(KNOWN_HOSTS, "".join(f"[{one.id}]:{PORT} {public}\n" for one in hosts))


def _write_ssh_config():
    places.write(
        SSH_CONFIG,
        f"""Host *
  User root
  Port {PORT}
  IdentityFile {KEY}
  IdentitiesOnly yes
  UserKnownHostsFile {KNOWN_HOSTS}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  PreferredAuthentications publickey
  BatchMode yes
  LogLevel ERROR
  ConnectTimeout 60
""",
    )


def _write_passwd():
    """Gives root an empty home, so that no start-up file slows the logins. Each host's HOME is set by `_homes`."""
    lines = []
    with open("/etc/passwd") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if fields[0] == "root":
                fields[5:7] = [HOMES, "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"]
            lines.append(":".join(fields) + "\n")
    places.write(os.path.join(ROOT, "passwd"), "".join(lines))


def _homes(hosts):
    """Sets HOME for each address: one sshd serves several hosts and recognises them by the address that was called."""
    return "".join(f"Match LocalAddress {one.id}\n  SetEnv HOME={one.home}\n" for one in hosts)


def _start_sshd(sshd, number, hosts):
    listen = "".join(f"ListenAddress {one.id}:{PORT}\n" for one in hosts)
    config = places.write(
        os.path.join(ROOT, f"sshd{number}.conf"),
        f"""{listen}HostKey {HOST_KEY}
AuthorizedKeysFile {ROOT}/authorized_keys
PidFile {ROOT}/sshd{number}.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
MaxStartups 2000
MaxSessions 2000
LoginGraceTime 300
Subsystem sftp internal-sftp
LogLevel ERROR
{_homes(hosts)}""",
    )
    # The mount namespace isolates the other passwd, and the empty environment keeps our variables out.
    script = 'mount --bind "$1" /etc/passwd && exec "$2" -f "$3" -E "$4"'
    arguments = [os.path.join(ROOT, "passwd"), sshd, config, os.path.join(ROOT, f"sshd{number}.log")]
    subprocess.run(
        ["setsid", "unshare", "--mount", "sh", "-c", script, "sh", *arguments],
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
    )


def _wait_for(last):
    for _ in range(50):
        answer = subprocess.run(["ssh", "-F", SSH_CONFIG, last.id, "true"], stdin=subprocess.DEVNULL, capture_output=True)
        if answer.returncode == 0:
            return
        time.sleep(0.1)
    logs = ""
    for name in sorted(os.listdir(ROOT)):
        if name.endswith(".log"):
            with open(os.path.join(ROOT, name)) as file:
                logs += file.read()[-500:]
    reason = (logs or answer.stderr.decode(errors="replace")).strip()
    down()
    raise HostsError(f"the last host, {last.id} port {PORT}, does not let us in: {reason}")
