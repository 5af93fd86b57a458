"""Runs pepper from PyPI in every mode: `every_pepper_mode.py URL USER PASSWORD`, with the Python that has it."""
import json
import os
import subprocess
import sys
import tempfile
import threading

import pepper
from pepper.retcode import PepperRetcode

URL, USER, PASSWORD = sys.argv[1:4]
PEPPER = os.path.join(os.path.dirname(sys.executable), "pepper")
HOME = tempfile.mkdtemp()
LOGIN = ["-u", URL, "-a", "file", "--username", USER, "--password", PASSWORD, "--non-interactive"]
EVERYBODY = {"h1", "h2"}


def run(*arguments, login=LOGIN, code=0, **environment):
    """Runs pepper and returns its output as data; the test fails if the exit code differs."""
    command = [PEPPER, *login, *arguments]
    environment = {"HOME": HOME, "PATH": os.environ["PATH"], **environment}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    if ended.returncode != code:
        sys.exit(f"{arguments}: exit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    print("fine:", *arguments, flush=True)
    if code:
        return ended.stdout + ended.stderr
    return ended.stdout if "-v" in arguments or "-H" in arguments else documents(ended.stdout)


def documents(text):
    """Parses the JSON documents that pepper prints one after another."""
    found, decoder, text = [], json.JSONDecoder(), text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].strip()
    return found[0] if len(found) == 1 else found


def only(output):
    [result] = output["return"]
    return result


def check(what, good):
    if not good:
        sys.exit(f"not as it should be: {what}")


def modes():
    ping = only(run("*", "test.ping"))
    check(ping, set(ping) == EVERYBODY and all(one["ret"] is True and one["retcode"] == 0 for one in ping.values()))
    shell = {"SALTAPI_URL": URL, "SALTAPI_USER": USER, "SALTAPI_PASS": PASSWORD, "SALTAPI_EAUTH": "file"}
    check("environment", set(only(run("*", "test.ping", login=[], **shell))) == EVERYBODY)
    rc = os.path.join(HOME, "rc")
    with open(rc, "w") as file:
        for profile in ("main", "other"):
            lines = (f"SALTAPI_{key}={value}" for key, value in
                     {"URL": URL, "USER": USER, "PASS": PASSWORD, "EAUTH": "file"}.items())
            file.write(f"[{profile}]\n" + "\n".join(lines) + "\n")
    check("a profile", set(only(run("-c", rc, "-p", "other", "*", "test.ping", login=[]))) == EVERYBODY)
    denied = run("*", "test.ping", login=[*LOGIN[:-2], "wrong", "--non-interactive"], code=1)
    check(denied, "Authentication denied" in denied)

    cache = os.path.join(HOME, "cache")
    run("-T", "-x", cache, "*", "test.ping")
    check("the token is kept", json.load(open(cache))["token"])
    # The second time, the password isn't checked: the kept token is used, so a wrong one does no harm.
    check("it is used", set(only(run("-T", "-x", cache, "*", "test.ping", login=[*LOGIN[:-2], "wrong"]))) == EVERYBODY)
    check("/run", set(only(run("-r", "*", "test.ping"))) == EVERYBODY)
    check("--token-expire", set(only(run("--token-expire", "60", "*", "test.ping"))) == EVERYBODY)

    targets = [
        ("-E", "h[1]"), ("-L", "h1,"), ("-G", "id:h1"), ("--grain-pcre", "id:h[1]$"), ("-I", "role:one"),
        ("--pillar-pcre", "role:o.e"), ("-R", "h1"), ("-C", "G@id:h1 and not L@h2"), ("-N", "first"),
    ]
    for flag, target in targets:
        found = only(run(flag, target, "test.ping"))
        check((flag, found), set(found) == {"h1"})
    check("nobody", only(run("-G", "os:Nope", "test.ping")) == {})
    unknown = only(run("h1", "no.such"))
    check(unknown, unknown["h1"]["ret"] == "'no.such' is not available." and unknown["h1"]["retcode"] == 1)

    check("arguments", only(run("h1", "cmd.run", "echo hi"))["h1"]["ret"] == "hi")
    told = only(run("h1", "test.arg", "1", "a=2"))["h1"]["ret"]
    check(told, told["kwargs"].get("a") == 2)
    started = only(run("--client=local_async", "*", "test.ping"))
    check(started, set(started["minions"]) == EVERYBODY and len(started["jid"]) == 20)
    for arguments in (["--client=local_batch", "--batch=1"], ["--batch=50%"]):
        batch = run(*arguments, "*", "test.ping")["return"]
        check(batch, sorted(batch, key=str) == [{"h1": True}, {"h2": True}])
    check("subset", len(only(run("--client=local_subset", "*", "test.ping"))) == 2)
    check("ssh", only(run("--client=ssh", "*", "test.ping"))["h1"]["return"] is True)

    jid = started["jid"]
    # A number of twenty digits, which doesn't fit into 64 bits.
    found = only(run("--client=runner", "jobs.lookup_jid", f"jid={jid}"))
    check(found, found["data"]["return"] == {"h1": True, "h2": True} and found["data"]["success"])
    listed = only(run("--client=runner", "jobs.list_job", f"jid={jid}"))["data"]["return"]
    check(listed, listed["Function"] == "test.ping" and set(listed["Minions"]) == EVERYBODY)
    check("list_jobs", jid in only(run("--client=runner", "jobs.list_jobs"))["data"]["return"])
    check("manage.up", only(run("--client=runner", "manage.up"))["data"]["return"] == ["h1", "h2"])
    check("runner_async", only(run("--client=runner_async", "manage.up"))["tag"].startswith("salt/run/"))
    keys = only(run("--client=wheel", "key.list_all"))["data"]["return"]
    check(keys, keys["minions"] == ["h1", "h2"])
    finger = only(run("--client=wheel", "key.finger", "match=h1"))["data"]["return"]["minions"]["h1"]
    check(finger, len(finger) == 95)
    check("wheel_async", only(run("--client=wheel_async", "key.list_all"))["tag"].startswith("salt/wheel/"))

    low = [{"client": "local", "tgt": "h1", "fun": "test.ping"}, {"client": "runner", "fun": "manage.status"}]
    both = run("--json", json.dumps(low))["return"]
    check(both, both[1]["data"]["return"]["up"] == ["h1", "h2"] if "data" in both[1] else both[1]["up"] == ["h1", "h2"])
    file = os.path.join(HOME, "low.json")
    with open(file, "w") as out:
        json.dump(low, out)
    check("--json-file", len(run("--json-file", file)["return"]) == 2)

    complete = run("--fail-if-incomplete", "-t", "30", "*", "test.ping")
    check(complete, all(f'"{id}"' in json.dumps(complete) for id in EVERYBODY))
    run("--fail-any", "*", "test.ping")
    run("--fail-all", "*", "test.ping")
    # Without Salt, pepper searches for these names in a text, so they are requested as pepper would with Salt.
    for command, code in ((["*", "test.ping"], 0), (["*", "cmd.run", "exit 3"], 3)):
        results = run(*command)["return"]
        for name in ("fail_any", "fail_any_none", "fail_all", "fail_all_none"):
            check((command, name), getattr(PepperRetcode, f"validate_{name}")(results) == code)
    run("-H", "*", "test.ping")
    check("-v", "h1" in run("-v", "*", "test.ping"))
    out = os.path.join(HOME, "out")
    run("-o", "json", "--output-file", out, "*", "test.ping")
    run("--ignore-ssl-errors", "*", "test.ping")
    dry = only(run("*", "state.apply", "test=True"))
    check(dry, all(one["retcode"] == 0 and one["out"] == "highstate" for one in dry.values()))
    step = next(iter(dry["h1"]["ret"].values()))
    check(step, step["result"] is None and step["__sls__"] == "demo")


def library():
    api = pepper.Pepper(URL)
    login = api.login(USER, PASSWORD, "file")
    check(login, login["perms"] and login["expire"] > login["start"] and login["user"] == USER)
    seen = []

    def listen():
        for line in api.req_stream("/events"):
            line = line.decode() if isinstance(line, bytes) else line
            seen.append(line)
            if "/ret/h1" in line:
                return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    listener.join(1)
    check("local", only(api.local("h1", "test.ping", expr_form="list")) == {"h1": True})
    listener.join(20)
    check("events", not listener.is_alive() and any("salt/job/" in line for line in seen))
    started = only(api.local_async("*", "test.ping"))
    check("local_async", set(started["minions"]) == EVERYBODY)
    check("local_batch", len(api.local_batch("*", "test.ping", batch="1")["return"]) == 2)
    check("runner", only(api.runner("manage.up")) == ["h1", "h2"])
    check("wheel", only(api.wheel("minions.connected"))["data"]["return"] == ["h1", "h2"])
    check("lookup_jid", set(only(api.lookup_jid(started["jid"]))) <= EVERYBODY)
    check("req_get", api.req_get("/keys")["return"]["minions"] == ["h1", "h2"])
    print("fine: the library", flush=True)


modes()
library()
print("all modes are fine")
