"""Installs the peers: Debian packages by name, and a Python environment for each tool from PyPI."""
import os
import shutil
import subprocess
import sys

import places


def install(peers):
    _packages(sorted({package for peer in peers for package in peer.packages}))
    environments = {peer.venv: peer.requirements for peer in peers if peer.venv}
    for name, requirements in environments.items():
        _environment(name, requirements)


def _packages(names):
    missing = [name for name in names if not _installed(name)]
    if not missing:
        return
    if os.getuid() != 0 or not shutil.which("apt-get"):
        print(f"bench/peers: not installed, and only root on Debian can do it here: {' '.join(missing)}", file=sys.stderr)
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], env=environment, check=True
    )


def _installed(package):
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    try:
        return subprocess.run(query, capture_output=True, text=True).stdout == "installed"
    except FileNotFoundError:
        return False


def _environment(name, requirements):
    folder = os.path.join(places.VENVS, name)
    print(f"{name}: {' '.join(requirements)}", flush=True)
    if not os.path.exists(os.path.join(folder, "bin", "pip")):
        python = os.environ.get("BENCH_PYTHON", "python3")
        made = subprocess.run([python, "-m", "venv", folder])
        if made.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            sys.exit(f"bench/peers: {python} can't make an environment; on Debian it needs the package python3-venv")
    pip = [os.path.join(folder, "bin", "pip"), "install", "-q", "--disable-pip-version-check", "--upgrade"]
    if subprocess.run([*pip, *requirements]).returncode != 0:
        sys.exit(f"bench/peers: pip could not install {' '.join(requirements)}; the text above says why")
    # Otherwise the first measured start would compile the sources.
    compiled = [os.path.join(folder, "bin", "python"), "-m", "compileall", "-q", os.path.join(folder, "lib")]
    subprocess.run(compiled, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
