"""The configuration that `apply` creates on each host: 100 files with different contents, 10 commands that run once."""
import os

import hosts as testbed
from peers import Failure

FILES, COMMANDS = 100, 10
FOLDER = os.path.join(testbed.FOLDERS, "{id}", "apply")


def folder(host):
    return FOLDER.replace("{id}", host.id)


def file_name(number):
    return f"file{number:03}"


def contents(id, number):
    """Contains the host's name, so that no two hosts have the same file."""
    return f"host = {id}\nfile = {number}\nvalue = {number * number}\n"


def mode(number):
    return 0o640 if number % 2 else 0o600


def command_name(number):
    return f"command{number}"


def prove(host):
    """Raises Failure unless the host is configured completely; returns what a run without changes must not touch."""
    stamps = {}
    for number in range(1, FILES + 1):
        name = file_name(number)
        text, status = _read(host, name)
        if text != contents(host.id, number):
            raise Failure(f"{host.id}: {name} has other contents")
        if status.st_mode & 0o7777 != mode(number):
            raise Failure(f"{host.id}: {name} has the mode {status.st_mode & 0o7777:04o}, not {mode(number):04o}")
        stamps[name] = (status.st_ino, status.st_mtime_ns)
    for number in range(1, COMMANDS + 1):
        text, _ = _read(host, command_name(number))
        if text != f"{number}\n":
            raise Failure(f"{host.id}: command {number} ran {text.count(chr(10))} times, not once")
    return stamps


def _read(host, name):
    try:
        with open(os.path.join(folder(host), name)) as file:
            return file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        raise Failure(f"{host.id}: no {name}") from None
