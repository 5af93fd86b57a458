#!/usr/bin/env python3
"""Records how the real Jinja2, and Salt on top of it, render the templates in templates/.

    python3 generate.py            # all topics
    python3 generate.py filters    # some

Needs Salt 3008.3 and Jinja2 3.1 (pip install salt==3008.3 jinja2==3.1.6 jmespath) and is run by
hand: the tests only read what it writes to cases/, one JSON object a line, one file a topic.

A file in templates/ is a Python module with a list CASES. A case is a template, or a tuple of a
template and its context, or a dict with the keys
    template, context   as above
    files               {name: text} that can be included, imported and extended
    options             of the environment: trim_blocks, undefined ("strict", "chainable"), ...
    note                why the case is there, where it isn't plain
OPTIONS in the module are the options of all its cases, SALT = True has Salt render them.
"""

import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
os.environ["TZ"] = "UTC"

import jinja2  # noqa: E402

UNDEFINED = {
    "lenient": jinja2.Undefined,
    "strict": jinja2.StrictUndefined,
    "chainable": jinja2.ChainableUndefined,
}


def main(wanted):
    total = 0
    for path in sorted((HERE / "templates").glob("*.py")):
        topic = path.stem
        if wanted and topic not in wanted:
            continue
        module = load(path)
        lines = []
        seen = set()
        for number, entry in enumerate(module.CASES, 1):
            case = normal(entry, getattr(module, "OPTIONS", {}), getattr(module, "SALT", False))
            key = json.dumps(case, sort_keys=True)
            if key in seen:
                sys.exit(f"{topic}:{number}: this case is there twice: {case['template']!r}")
            seen.add(key)
            case.update(record(case))
            lines.append(json.dumps({"name": f"{topic}:{number}", **case}, ensure_ascii=False))
        (HERE / "cases" / f"{topic}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        failing = sum('"error": ' in line for line in lines)
        print(f"{topic}: {len(lines)} templates, {failing} of them errors")
        total += len(lines)
    print(f"{total} in all")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(entry, options, salt):
    """The dict form of a case, without empty values."""
    if isinstance(entry, str):
        entry = {"template": entry}
    elif isinstance(entry, tuple):
        entry = {"template": entry[0], "context": entry[1]}
    case = {"template": entry["template"]}
    for key in ("context", "files", "note"):
        if entry.get(key):
            case[key] = entry[key]
    merged = {**options, **entry.get("options", {})}
    if merged:
        case["options"] = merged
    if salt:
        case["salt"] = True
    unknown = set(entry) - {"template", "context", "files", "options", "note"}
    if unknown:
        sys.exit(f"unknown keys {unknown} in the case {entry['template']!r}")
    return case


def record(case):
    context = json.loads(json.dumps(case.get("context", {})))
    render = salt_render if case.get("salt") else jinja_render
    try:
        output = render(case["template"], context, case.get("files", {}), dict(case.get("options", {})))
    except Exception as error:  # any error is what the user would see
        return {"error": described(error)}
    if re.search(r" at 0x[0-9a-f]+>", output):
        sys.exit(f"an address is in the output of {case['template']!r}: {output!r}")
    return {"output": output}


def described(error):
    line = getattr(error, "lineno", None) or template_line(error)
    found = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, jinja2.TemplateSyntaxError):
        found["message"] = error.message
    if line:
        found["line"] = line
    return found


def template_line(error):
    """The line of the innermost frame of template code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith((".jinja", "<template>")) or frame.name in (
            "top-level template code",
            "template",
        ):
            return frame.lineno
    return None


def jinja_render(template, context, files, options):
    undefined = UNDEFINED[options.pop("undefined", "lenient")]
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(files),
        undefined=undefined,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
        **options,
    )
    return environment.from_string(template).render(**context)


def salt_render(template, context, files, options):
    load_salt()
    from salt.exceptions import SaltRenderError
    from salt.utils.templates import render_jinja_tmpl

    with tempfile.TemporaryDirectory() as folder:
        roots = pathlib.Path(folder, "roots")
        for name, text in files.items():
            path = roots / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        opts = {
            "cachedir": str(pathlib.Path(folder, "cache")),
            "file_client": "local",
            "file_roots": {"base": [str(roots)]},
            "pillar_roots": {"base": []},
            "fileserver_backend": ["roots"],
            "hash_type": "sha256",
            "jinja_sls_env": options,
            "__role": "minion",
        }
        import salt.config

        full = salt.config.minion_config(None)
        full.update(opts)
        pathlib.Path(opts["cachedir"]).mkdir()
        given = {"opts": full, "saltenv": "base", "sls": "here", "tpldir": ".", **context}
        try:
            return render_jinja_tmpl(template, given)
        except SaltRenderError as error:
            raise error.__context__ or error


def load_salt():
    """Salt's filters register themselves when their modules are imported."""
    import salt.modules.match  # noqa: F401
    import salt.utils.data  # noqa: F401
    import salt.utils.dateutils  # noqa: F401
    import salt.utils.dictupdate  # noqa: F401
    import salt.utils.files  # noqa: F401
    import salt.utils.hashutils  # noqa: F401
    import salt.utils.http  # noqa: F401
    import salt.utils.jinja  # noqa: F401
    import salt.utils.network  # noqa: F401
    import salt.utils.path  # noqa: F401
    import salt.utils.stringutils  # noqa: F401
    import salt.utils.user  # noqa: F401
    import salt.utils.yamlencoding  # noqa: F401


if __name__ == "__main__":
    main(sys.argv[1:])
