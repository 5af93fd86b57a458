"""The directories of the bench: a scratch folder for hosts and runs, a cache for the peers' environments."""
import os

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(REPOSITORY, "bench", "results")

# The path is short, since it contains unix sockets, whose paths are limited to 107 bytes.
SCRATCH = os.environ.get("BENCH_DIR") or os.path.join(os.environ.get("TMPDIR") or "/tmp", f"rocksalt-bench-{os.getuid()}")

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rocksalt-bench")
VENVS = os.path.join(CACHE, "venvs")


def write(path, text, mode=0o644):
    """Writes a file unless it has this content, so that tools that watch their files see no change."""
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def scrub(text):
    """Removes paths of this machine from a text, so that it can be committed."""
    named = [(SCRATCH, "$BENCH_DIR"), (VENVS, "$VENVS"), (REPOSITORY, "$REPOSITORY"), (os.path.expanduser("~"), "~")]
    for path, name in sorted(named, key=lambda pair: -len(pair[0])):
        text = text.replace(path, name)
    return text
