"""Installs unmodified third-party clients from PyPI: `install.py FOLDER`."""
import fcntl
import glob
import os
import shutil
import subprocess
import sys
import tarfile

REQUIREMENTS = ["salt-pepper==0.7.6", "requests", "setuptools<81"]
HALITE = "halite==0.1.17"


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Two tests may want them at once.
    lock = open(folder + ".lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists(os.path.join(folder, "ready")):
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    python = os.environ.get("CLIENTS_PYTHON", "/usr/bin/python3")
    subprocess.run([python, "-m", "venv", os.path.join(folder, "venv")], check=True)
    pip = [os.path.join(folder, "venv", "bin", "pip"), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *REQUIREMENTS], check=True)
    # Only its page is of use: its server is Python 2.
    subprocess.run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", folder, HALITE], check=True)
    [archive] = glob.glob(os.path.join(folder, "halite-*.tar.gz"))
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    [page] = glob.glob(os.path.join(folder, "halite-*", "halite", "lattice"))
    shutil.move(page, os.path.join(folder, "lattice"))
    open(os.path.join(folder, "ready"), "w").close()


main()
