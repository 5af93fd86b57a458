#!/usr/bin/env python3
"""Records real Salt's answers to the cases: cases/<family>/<case>.yml -> <case>.json.

    python record.py                  every case that has no answers yet
    python record.py --all            every case anew
    python record.py PATH...          these cases
    python record.py --random N DIR   N random state trees, written to DIR as cases and recorded

Needs a Python in which Salt 3008 is installed. Each case runs in its own child process, so that
no state in Salt's memory affects the next one.
"""

import json
import logging
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases")


def plain(value):
    """The data with types that JSON has."""
    if isinstance(value, dict):
        return {key_text(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    # The paths of Salt and of the case are irrelevant.
    text = re.sub(r"\nTraceback \(most recent call last\).*", "\n<traceback>", str(value), flags=re.S)
    return re.sub(r"\S*/sls-record\.[a-z0-9_]{8}", "@ROOT@", text)


def key_text(key):
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return str(key)


def stage(case):
    root = tempfile.mkdtemp(prefix="sls-record.")
    for name in ("etc", "cache", "states", "pillar"):
        os.makedirs(os.path.join(root, name))
    for path, text in (case.get("files") or {}).items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as out:
            out.write(text)
    with open(os.path.join(CASES, "grains.json"), encoding="utf-8") as file:
        grains = json.load(file)
    for key, value in (case.get("grains") or {}).items():
        if value is None:
            grains.pop(key, None)
        else:
            grains[key] = value
    config = {
        "id": case.get("id") or grains["id"],
        "file_client": "local",
        "file_roots": {"base": [os.path.join(root, "states")]},
        "pillar_roots": {"base": [os.path.join(root, "pillar")]},
        "root_dir": root,
        "cachedir": os.path.join(root, "cache"),
        "pki_dir": os.path.join(root, "pki"),
        "sock_dir": os.path.join(root, "sock"),
        "log_file": os.path.join(root, "log"),
    }
    for key in ("file_roots", "pillar_roots"):
        if key in case:
            config[key] = {env: [os.path.join(root, d) for d in dirs] for env, dirs in case[key].items()}
    config.update(case.get("config") or {})
    grains["id"] = config["id"]
    with open(os.path.join(root, "etc", "minion"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return root, grains


def options(root, grains):
    import salt.config

    opts = salt.config.minion_config(os.path.join(root, "etc", "minion"))
    opts["grains"] = grains
    opts["file_client"] = "local"
    opts["local"] = True
    opts["__cli"] = "salt-call"
    return opts


def compiled(case, root, grains, step):
    import salt.state

    opts = options(root, grains)
    saltenv = case.get("saltenv")
    if saltenv is None and case.get("sls"):
        saltenv = "base"
    if saltenv is not None:
        opts["saltenv"] = saltenv
    with salt.state.HighState(opts, pillar_override=case.get("pillar_override")) as high_state:
        high_state.push_active()
        failed = high_state.state.opts["pillar"].get("_errors")
        if failed and step != "top":
            return {"errors": ["Pillar failed to render with the following messages:"] + list(failed)}
        if case.get("sls") and step != "top":
            matches = {saltenv: list(case["sls"])}
        else:
            top = high_state.get_top()
            errors = high_state.verify_tops(top)
            if errors:
                return {"errors": errors}
            matches = high_state.top_matches(top)
            if step == "top":
                return {"top": matches}
            if not matches:
                return {"errors": ["No Top file or master_tops data matches found. Please see master log for details."]}
        high, errors = high_state.render_highstate(matches)
        if errors:
            return {"errors": errors}
        if step == "high":
            return {"high": high}
        state = high_state.state
        high, errors = state.reconcile_extend(high)
        errors = list(errors) + list(state.verify_high(high))
        if errors:
            return {"errors": errors}
        high, errors = state.requisite_in(high)
        high = state.apply_exclude(high)
        if errors:
            return {"errors": errors}
        chunks, errors = state.compile_high_data(high)
        return {"errors": errors} if errors else {"low": chunks}


def answer(case, step):
    import salt.pillar

    root, grains = stage(case)
    try:
        if step == "pillar":
            opts = options(root, grains)
            pillar = salt.pillar.get_pillar(
                opts, grains, opts["id"], opts["saltenv"],
                pillar_override=case.get("pillar_override"), pillarenv=case.get("pillarenv"),
            )
            data = dict(pillar.compile_pillar())
            errors = data.pop("_errors", None)
            out = {"pillar": data}
            if errors:
                out["errors"] = errors
        elif step == "render":
            import salt.loader

            opts = options(root, grains)
            opts["pillar"] = {}
            functions = salt.loader.minion_mods(opts)
            out = {"render": {}}
            for path in case["render"]:
                text = functions["slsutil.renderer"](
                    path=os.path.join(root, path), default_renderer=case.get("renderer", "jinja")
                )
                out["render"][path] = text.read() if hasattr(text, "read") else text
        else:
            out = compiled(case, root, grains, step)
        return {"step": step, **plain(out)}
    except Exception as error:  # Salt failed as a whole, which is an answer too.
        return {"step": step, "errors": [f"{type(error).__name__}: {error}"], "exception": True}
    finally:
        shutil.rmtree(root, ignore_errors=True)


def record(path):
    with open(path, encoding="utf-8") as file:
        case = yaml.safe_load(file)
    answers = [answer(case, step) for step in case.get("do") or ["low"]]
    with open(os.path.splitext(path)[0] + ".json", "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1, ensure_ascii=False)
        file.write("\n")
    for one in answers:
        if one.get("exception"):
            print(f"{path}: {one['errors'][0]}")


def quiet():
    logging.disable(logging.CRITICAL)


REQUISITES = [
    "require", "require", "require", "watch", "onchanges", "onfail", "prereq", "listen", "require_in", "watch_in",
    "onchanges_in", "onfail_in", "prereq_in", "require_any", "watch_any", "onchanges_any", "onfail_any", "onfail_all",
    "use", "use_in",
]


def random_case(seed):
    """A few sls that include each other, with requisites that mostly, but not always, make sense."""
    pick = random.Random(seed)
    files, declared = {}, []
    names = [f"s{number}" for number in range(pick.randint(1, 4))]
    acyclic = pick.random() < 0.7
    for position, sls in enumerate(names):
        lines = []
        included = [other for other in names[position + 1:] if pick.random() < 0.5]
        if included:
            lines += ["include:"] + [f"  - {other}" for other in included]
        for number in range(pick.randint(1, 6)):
            identifier = f"{sls}-{number}"
            module, function = pick.choice(
                [("test", "nop"), ("test", "nop"), ("cmd", "run"), ("file", "touch"), ("pkg", "installed")]
            )
            form = pick.random()
            if form < 0.1:
                lines += [f"{identifier}:", f"  {module}:", f"    - {function}"]
            else:
                lines += [f"{identifier}:", f"  {module}.{function}:"]
                lines.append(f"    - arg: {number}")
            if pick.random() < 0.2:
                lines += ["    - names:"] + [f"      - {identifier}-n{k}" for k in range(pick.randint(1, 3))]
            elif pick.random() < 0.2:
                lines.append(f"    - name: name-{identifier}")
            if pick.random() < 0.25:
                order = pick.choice(["first", "last", 1, 5, -1, -3, 10001, 20000, 1.5, "'7'"])
                lines.append(f"    - order: {order}")
            for _ in range(pick.choice([0, 0, 1, 1, 2])):
                if not declared:
                    break
                requisite = pick.choice(REQUISITES)
                pool = declared if acyclic else declared + [(identifier, module)]
                target, target_module = pick.choice(pool)
                if acyclic and requisite.endswith("_in") and requisite != "use_in":
                    # An `_in` requisite points the other way, so it could form a cycle with the others.
                    requisite = requisite[: -len("_in")]
                reference = pick.choice([f"{target_module}: {target}"] * 4 + [target, f"id: {target}", "test: nobody", f"sls: {pick.choice(names)}"] + [f"{target_module}: {target[:2]}*"])
                if acyclic and ("sls:" in reference or "*" in reference or "nobody" in reference) and pick.random() < 0.9:
                    reference = f"{target_module}: {target}"
                lines += [f"    - {requisite}:", f"      - {reference}"]
            declared.append((identifier, module))
        if pick.random() < 0.15 and declared:
            target, module = pick.choice(declared)
            lines += ["extend:", f"  {target}:", f"    {module}:", "      - arg: extended"]
        if pick.random() < 0.08 and declared:
            lines += ["exclude:", f"  - id: {pick.choice(declared)[0]}"]
        files[f"states/{sls}.sls"] = "\n".join(lines) + "\n"
    return {"title": f"random tree {seed}", "sls": names, "do": ["low"], "cycles": "any", "files": files}


class Block(yaml.SafeDumper):
    pass


def block_text(dumper, text):
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Block.add_representer(str, block_text)


def write_random(count, folder):
    os.makedirs(folder, exist_ok=True)
    for seed in range(count):
        path = os.path.join(folder, f"tree-{seed:03}.yml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.dump(random_case(seed), file, Dumper=Block, sort_keys=False)
        yield path


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--random"]:
        paths = list(write_random(int(arguments[1]), arguments[2]))
    elif arguments and arguments[0] != "--all":
        paths = arguments
    else:
        paths = []
        for folder, _, names in sorted(os.walk(CASES)):
            paths += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".yml")]
        if not arguments:
            paths = [path for path in paths if not os.path.exists(os.path.splitext(path)[0] + ".json")]
    with multiprocessing.get_context("fork").Pool(2, initializer=quiet, maxtasksperchild=1) as pool:
        pool.map(record, paths, chunksize=1)
    print(f"{len(paths)} recorded")


if __name__ == "__main__":
    import salt.config  # noqa: F401  Imported once, before the children.
    import salt.pillar  # noqa: F401
    import salt.state  # noqa: F401

    main()
