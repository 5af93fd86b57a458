#!/usr/bin/env python3
"""Records what real Salt answers to the cases, in the files themselves.

    python record.py [FILE...]        with Salt's own Python; all `as-salt.yml` of states if none is named

A case of a state (cases/state) says what to call (`name`, `args`), what is there (`before`, `tree`, `pillar`,
`grains`), and gets what Salt answers: `test` (a dry run), `apply`, `again`, and what is there `after`.
A case of a function (cases/FUNCTION) gets its `result`, or the `problem` if Salt raises one. Its scripts `prepare`
and `check` are run around the call. It runs for real, confined to a directory of its own; a case with `commands`,
which are answers of a machine in memory, or with a path that leads elsewhere is not recorded.
`@TMP@` stands for a directory of the case's own. What follows `#` at the top of a file stays.
"""

import contextlib
import ctypes
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "@TMP@"


def bound(data, old, new):
    if isinstance(data, dict):
        return {bound(key, old, new): bound(value, old, new) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [bound(value, old, new) for value in data]
    if isinstance(data, (set, frozenset)):
        return sorted(bound(value, old, new) for value in data)
    if isinstance(data, bytes):
        return data.decode("utf-8", "backslashreplace")
    if isinstance(data, str):
        return str(data).replace(old, new)
    if data is None or isinstance(data, (bool, int, float)):
        return data
    return str(data)


def prepare(root, case):
    os.umask(0o022)
    tmp = os.path.join(root, "tmp")
    for name in ("tmp", "states", "cache", "pillar", "etc"):
        os.makedirs(os.path.join(root, name))
    for path, what in bound(case.get("before") or {}, MARK, tmp).items():
        what = {} if what is None else what
        what = what if isinstance(what, dict) else {"content": what}
        bare = path.rstrip("/")
        os.makedirs(os.path.dirname(bare), exist_ok=True)
        if path.endswith("/"):
            os.makedirs(bare, exist_ok=True)
        elif "link" in what:
            os.symlink(what["link"], bare)
        elif "hardlink" in what:
            os.link(what["hardlink"], bare)
        else:
            with open(bare, "wb") as out:
                out.write(bytes.fromhex(what["hex"]) if "hex" in what else str(what.get("content", "")).encode())
        if "uid" in what or "gid" in what:
            os.lchown(bare, what.get("uid", 0), what.get("gid", 0))
        if "mode" in what:
            os.chmod(bare, int(str(what["mode"]), 8))
        if "mtime" in what:
            os.utime(bare, (what["mtime"], what["mtime"]))
    for path, what in (case.get("tree") or {}).items():
        what = what if isinstance(what, dict) else {"content": what or ""}
        place = os.path.join(root, "states", path.rstrip("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if path.endswith("/"):
            os.makedirs(place, exist_ok=True)
        elif "link" in what:
            os.symlink(what["link"], place)
        else:
            with open(place, "wb") as out:
                out.write(bytes.fromhex(what["hex"]) if "hex" in what else what["content"].encode())
            os.chmod(place, int(str(what.get("mode", "0644")), 8))
    return tmp


def listing(tmp):
    found = {}
    for directory, directories, files in os.walk(tmp):
        for name in sorted(directories + files):
            path = os.path.join(directory, name)
            stat = os.lstat(path)
            shown = MARK + path[len(tmp):]
            if os.path.islink(path):
                found[shown] = {"link": os.readlink(path).replace(tmp, MARK)}
            elif os.path.isdir(path):
                found[shown + "/"] = {"mode": "%04o" % (stat.st_mode & 0o7777)}
            elif not os.path.isfile(path):
                found[shown] = {"mode": "%04o" % (stat.st_mode & 0o7777)}
            else:
                with open(path, "rb") as file:
                    content = file.read()
                entry = {"mode": "%04o" % (stat.st_mode & 0o7777)}
                try:
                    entry["content"] = content.decode().replace(tmp, MARK)
                except UnicodeDecodeError:
                    entry["hex"] = content.hex()
                found[shown] = entry
            if stat.st_uid:
                found.get(shown, found.get(shown + "/"))["uid"] = stat.st_uid
            if stat.st_gid:
                found.get(shown, found.get(shown + "/"))["gid"] = stat.st_gid
    return dict(sorted(found.items()))


def options(case, root, tmp, test=False):
    import salt.config

    opts = salt.config.apply_minion_config(
        {
            "id": "minion",
            "file_client": "local",
            "file_roots": {"base": [os.path.join(root, "states")]},
            "pillar_roots": {"base": [os.path.join(root, "pillar")]},
            "root_dir": root,
            "cachedir": os.path.join(root, "cache"),
            "pki_dir": os.path.join(root, "etc", "pki"),
            "sock_dir": os.path.join(root, "sock"),
            "log_file": os.path.join(root, "log"),
            "conf_file": os.path.join(root, "etc", "minion"),
        },
        minion_id="minion",
    )
    opts["grains"] = dict(case.get("grains") or {}, id="minion", os="Debian", os_family="Debian", kernel="Linux", shell="/bin/sh")
    opts["local"] = True
    opts["config_dir"] = os.path.join(root, "etc")
    opts["test"] = test
    with open(os.path.join(root, "pillar", "top.sls"), "w", encoding="utf-8") as top:
        top.write("base: {'*': [all]}\n")
    with open(os.path.join(root, "pillar", "all.sls"), "w", encoding="utf-8") as pillar:
        json.dump(case.get("pillar") or {}, pillar)
    opts["pillar"] = case.get("pillar") or {}
    opts.update(bound(case.get("options") or {}, MARK, tmp))
    return opts


def call(function, case, root, tmp, test):
    import salt.loader

    opts = options(case, root, tmp, test)
    functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts), context={})
    arguments = bound(case.get("args") or {}, MARK, tmp)
    name = bound(case["name"], MARK, tmp)
    answer = functions["state.single"](function, name, test=test, **arguments)
    if isinstance(answer, list):
        return {"errors": answer}
    (result,) = answer.values()
    if "An exception occurred in this state" in str(result.get("comment")):
        raise RuntimeError(result["comment"])
    kept = {key: result.get(key) for key in ("result", "comment", "changes")}
    for key in ("warnings", "skip_watch", "skip_req"):
        if result.get(key):
            kept[key] = result[key]
    kept = bound(kept, tmp, MARK)
    if isinstance(kept["changes"], dict) and "pid" in kept["changes"]:
        kept["changes"]["pid"] = 0
    removed = kept["changes"].get("removed") if isinstance(kept["changes"], dict) else None
    # Mostly made of sets; but here the order tells that directories go last.
    if isinstance(removed, list) and function != "file.tidied":
        removed.sort()
    if function == "file.recurse" and kept["comment"].startswith("####"):
        kept["comment"] = in_order(kept["comment"])
    return kept


def call_function(function, case):
    """What a function gives or raises, and whether the case's check holds after it."""
    import salt.loader

    root = tempfile.mkdtemp(prefix="rs-record-")
    try:
        check_paths(case)
        confine(root)
        tmp = prepare(root, case)
        os.environ.update({key: str(value) for key, value in (case.get("env") or {}).items()})
        script(case, "prepare", tmp)
        opts = options(case, root, tmp)
        functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts), context={})
        args = bound(case.get("args") or [], MARK, tmp)
        kwargs = bound(case.get("kwargs") or {}, MARK, tmp)
        try:
            answer = {"result": bound(functions[function](*args, **kwargs), tmp, MARK)}
        except Exception as problem:  # pylint: disable=broad-except
            return {"problem": bound(str(problem), tmp, MARK)}
        script(case, "check", tmp)
        return answer
    finally:
        shutil.rmtree(root, ignore_errors=True)


def check_paths(case):
    """A function runs for real: no path of a case may lead out of its own directory."""
    if "commands" in case or "programs" in case:
        raise RuntimeError("it has answers of programs, which Salt would run for real: the case is not recorded")
    words = [case.get("args"), case.get("kwargs"), case.get("before")]
    while words:
        word = words.pop()
        if isinstance(word, dict):
            words += [*word.keys(), *word.values()]
        elif isinstance(word, list):
            words += word
        elif isinstance(word, str) and (word.startswith(("/", "~")) or ".." in word):
            raise RuntimeError("%r is not below %s: the case is not recorded" % (word, MARK))


def confine(root):
    """Leaves this process nothing that it can write but `root`: mounts of its own, all others read-only."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, read_only, remount, bind, recursive, private = 0x20000, 0x1, 0x20, 0x1000, 0x4000, 0x40000

    def done(code):
        if code:
            raise OSError(ctypes.get_errno(), "the machine could not be protected; run it as root")

    def mount(source, target, flags):
        done(libc.mount(source and os.fsencode(source), os.fsencode(target), None, flags, None))

    done(libc.unshare(new_mounts))
    mount(None, "/", private | recursive)
    mount(root, root, bind)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        places = [line.split(" ")[1].encode().decode("unicode_escape") for line in mounts]
    for place in dict.fromkeys(places):
        if place != root and not place.startswith(("/proc", "/dev")):
            mount(None, place, remount | bind | read_only)


def script(case, key, tmp):
    if key in case:
        subprocess.run(["sh", "-e", "-c", bound(case[key], MARK, tmp)], cwd=tmp, check=True, capture_output=True)


def in_order(comment):
    """Salt goes through a set, in no order: directories, then files, then what is removed."""
    sections = ("\n" + comment + "\n").split("\n#### ")[1:]
    sections = [section.rstrip("\n") + "\n" for section in sections]

    def place(section):
        head, _, rest = section.partition(" ####")
        return (head == "removed", not rest.startswith("\nThe following files"), head)

    shown = []
    for section in sorted(sections, key=place):
        head, _, rest = section.partition(" ####\n")
        lines = sorted(rest.splitlines()) if head == "removed" else rest.splitlines()
        blank = "\n\n" if rest.startswith("The following files") else "\n"
        shown.append("#### " + head + " ####\n" + "\n".join(lines) + blank)
    return "\n".join(shown).strip()


def run(function, case):
    root = tempfile.mkdtemp(prefix="rs-record-")
    try:
        tmp = prepare(root, case)
        answers = {}
        for step in ("test", "apply", "again"):
            answers[step] = call(function, case, root, tmp, step == "test")
        answers["after"] = listing(tmp)
        return answers
    finally:
        shutil.rmtree(root, ignore_errors=True)


def forked(function, case, of_state):
    """In a process of its own: Salt keeps things in memory between calls."""
    read, write = os.pipe()
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            try:
                answers = (run if of_state else call_function)(function, case)
            except BaseException:  # pylint: disable=broad-except
                answers = {"crash": traceback.format_exc()}
            with os.fdopen(write, "w") as out:
                json.dump(answers, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.wait()
    return json.loads(text)


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def text(dumper, data):
    plain = "\n" not in data
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


Dumper.add_representer(str, text)


def record(path):
    function = os.path.basename(os.path.dirname(path))
    of_state = os.path.basename(os.path.dirname(os.path.dirname(path))) == "state"
    with open(path, encoding="utf-8") as file:
        source = file.read()
    head = "".join(line for line in source.splitlines(True) if line.startswith("#"))
    cases = yaml.safe_load(source)
    for case in cases:
        answers = forked(function, case, of_state)
        if "crash" in answers:
            sys.stderr.write("%s: %s: %s\n" % (path, case.get("what"), answers["crash"]))
            continue
        for key in ("test", "apply", "again", "after") if of_state else ("result", "problem"):
            case.pop(key, None)
        case.update(answers)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head)
        yaml.dump(cases, file, Dumper, sort_keys=False, width=10**6, allow_unicode=True)


def main():
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    logging.disable(logging.CRITICAL)
    import salt.config  # noqa: F401  imported before the forks
    import salt.loader  # noqa: F401
    import salt.modules.file  # noqa: F401
    import salt.state  # noqa: F401
    import salt.states.file  # noqa: F401

    paths = sys.argv[1:]
    if not paths:
        for directory, _, files in sorted(os.walk(os.path.join(HERE, "cases", "state"))):
            paths += [os.path.join(directory, name) for name in sorted(files) if name == "as-salt.yml"]
    for path in paths:
        record(os.path.abspath(path))


if __name__ == "__main__":
    main()
