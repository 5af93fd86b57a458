#!/usr/bin/env python3
"""Records anew what a real Salt says of the distributions in `os/`.

    sudo record_os.py --python /path/to/salts/python

Each case's files are put over a copy of /etc in a mount namespace of its own; only root can do that.
A new distribution is a new file there: its files, and an empty `=== expected`.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ASK = """
import json, platform, salt.config, salt.grains.core as core
platform._os_release_candidates = ("/etc/os-release",)
core.__opts__ = salt.config.DEFAULT_MINION_OPTS
grains = core._linux_distribution_data()
if grains.get("osrelease"):
    grains.update(core._osrelease_data(grains["os"], grains["osfullname"], grains["osrelease"]))
print(json.dumps({name: value for name, value in grains.items() if value is not None}))
"""


def sections(text):
    files, name = {}, None
    for line in text.splitlines(keepends=True):
        if line.startswith("=== "):
            name = line[4:].strip()
            files[name] = ""
        else:
            files[name] += line
    return files


def ask(python, files):
    with tempfile.TemporaryDirectory() as folder:
        etc = pathlib.Path(folder) / "etc"
        shutil.copytree("/etc", etc, symlinks=True)
        for path in [*etc.glob("*release*"), *etc.glob("debian_version")]:
            path.unlink()
        for name, content in files.items():
            (etc / name.removeprefix("/etc/")).write_text(content)
        script = f"mount --bind {etc} /etc; exec {python} -"
        for hidden in ("/usr/lib/os-release", "/usr/bin/lsb_release"):
            if pathlib.Path(hidden).exists():
                script = f"mount --bind /dev/null {hidden}; {script}"
        run = subprocess.run(["unshare", "-m", "sh", "-c", script], input=ASK, text=True, capture_output=True)
        if run.returncode:
            raise SystemExit(run.stderr)
        return json.loads(run.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="a Python that has Salt")
    python = parser.parse_args().python
    for case in sorted((pathlib.Path(__file__).parent / "os").glob("*.txt")):
        files = sections(case.read_text())
        before = files.pop("expected", "")
        expected = json.dumps(ask(python, files), indent=2, sort_keys=True) + "\n"
        parts = [f"=== {name}\n{content}" for name, content in files.items()]
        case.write_text("".join(parts) + "=== expected\n" + expected)
        print(case.stem, "unchanged" if before == expected else "recorded")


if __name__ == "__main__":
    sys.exit(main())
