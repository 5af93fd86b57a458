"""Records what Salt's outputters print, for the runner in src/output/cases.rs.

A developer's tool: run it with the Python of a virtual environment that has salt==3008.3.
It rewrites tests/cases/output/*.json; in differences.json only what Salt prints is rewritten, what
we print instead ("ours") is kept.
"""

import copy
import json
import logging
import pathlib
import tempfile

import salt.config
import salt.output

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "output"
SCRATCH = tempfile.mkdtemp()
logging.disable(logging.CRITICAL)


def printed(outputter, data, options, colours):
    opts = copy.deepcopy(dict(salt.config.DEFAULT_MASTER_OPTS))
    for name in ("cachedir", "root_dir", "extension_modules", "pki_dir"):
        opts[name] = SCRATCH
    opts.pop("output", None)
    opts.pop("color", None)
    opts.pop("output_indent", None)
    options = dict(options)
    arguments = {"_retcode": options.pop("retcode")} if "retcode" in options else {}
    opts.update(options)
    opts["color"] = colours
    text = salt.output.out_format(copy.deepcopy(data), outputter, opts, **arguments)
    return (text + "\n" if text else "").split("\n")


def state(result=True, changes=None, comment="All is well", run=0, **more):
    entry = {
        "name": "x",
        "result": result,
        "changes": changes or {},
        "comment": comment,
        "start_time": "10:20:30.123456",
        "duration": 12.345,
        "__run_num__": run,
    }
    entry.update(more)
    return {key: value for key, value in entry.items() if value != "absent"}


GOOD = state(name="/etc/motd", comment="File /etc/motd is in the correct state")
CHANGED = state(
    name="/etc/motd",
    comment="File /etc/motd updated",
    changes={"diff": "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n", "mode": "0644"},
    run=1,
)
FAILED = state(False, name="nope", comment="The following packages failed to install: nope", run=2, duration=1500.5)
WOULD = state(None, name="nginx", comment="Package nginx would be installed", changes={"nginx": {"new": "1.2", "old": ""}}, run=3)
RUN = {
    "file_|-motd_|-/etc/motd_|-managed": CHANGED,
    "file_|-issue_|-issue_|-managed": dict(GOOD, __run_num__=0, name="issue"),
    "pkg_|-nope_|-nope_|-installed": FAILED,
    "pkg_|-web_|-nginx_|-installed": WOULD,
}
GRAINS = {
    "os": "Debian",
    "osmajorrelease": 12,
    "cpus": 2.5,
    "virtual": False,
    "selinux": {"enabled": True, "enforced": None},
    "ip": ["10.0.0.1", "::1"],
    "disks": [],
    "empty": {},
    "motd": "Welcome\nto this\n\nmachine\n",
}
TABLE = [
    {"interface": "eth0", "mac_address": "52:54:00:12:34:56", "up": True, "mtu": 1500},
    {"interface": "lo", "mac_address": "", "up": False, "mtu": 65536},
]

VALUES = {
    "a text": "hello",
    "a text of lines": "one\ntwo\n\n  three\n",
    "text with odd line ends": "one\r\ntwo\rthree",
    "an empty text": "",
    "true": True,
    "false": False,
    "null": None,
    "a number": 42,
    "a negative number": -7,
    "a big number": 123456789012345678901234567890,
    "a float": 1.0,
    "a small float": 1e-7,
    "a big float": 1.5e22,
    "a list": ["a", "b", 3, True, None],
    "a list of lines": ["a\nb", "c"],
    "lists in lists": [["a", ["b", "c"]], ["d"], "e"],
    "maps in a list": [{"a": 1, "b": [1, 2]}, {"c": {"d": "e"}}],
    "an empty list": [],
    "an empty map": {},
    "a map": {"b": 1, "a": "x", "C": None},
    "grains": GRAINS,
    "letters of the world": {"naïve": "Grüße, 世界 ✓", "emoji": "🧂"},
    "quotes": ["it's", 'say "hi"', "both ' and \"", "back\\slash"],
    "deep": {"a": {"b": {"c": {"d": [{"e": {"f": "g"}}]}}}},
}


def simple():
    for name in ("json", "nested", "pprint", "raw", "txt", "yaml"):
        cases = []
        for title, value in VALUES.items():
            # Ours are block texts, and letters beyond the first 65,536 (see DIFFERENCES).
            if name == "yaml" and title in ("a text of lines", "a list of lines", "grains", "letters of the world"):
                continue
            cases.append({"name": title, "data": {"web1": value}})
        cases.append({"name": "several targets", "data": {"db1": True, "web1": "x", "web2": {"a": [1]}}})
        yield name, cases


def nested_more():
    return [
        {"name": "a failed map", "options": {"retcode": 1}, "data": {"web1": {"a": ["b", [1]], "c": None}}},
        {"name": "a failed text", "options": {"retcode": 2}, "data": {"web1": "no such file"}},
    ]


def json_more():
    cases = []
    for indent in (-1, 0, 1, 2, 8):
        cases.append({"name": f"indent {indent}", "options": {"output_indent": indent}, "data": {"web1": GRAINS}})
    cases.append({"name": "control characters", "data": {"web1": "a\u0000\b\f\u001b[31m\u001f"}})
    return cases


LONG = "The quick brown fox jumps over the lazy dog, and then it does so again and again until the line is full. "


def pprint_more():
    return [
        {"name": "a long text", "data": {"web1": LONG * 3}},
        {"name": "a long text of lines", "data": {"web1": {"out": (LONG + "\n") * 2, "n": 1}}},
        {"name": "a word without end", "data": {"web1": "x" * 200}},
        {"name": "long lists", "data": {"web1": {"numbers": list(range(60)), "names": [LONG, "b"]}}},
        {"name": "indent 4", "options": {"output_indent": 4}, "data": {"web1": dict(GRAINS, deep=[[1, {"a": LONG}], []])}},
        {"name": "a state run", "data": {"web1": RUN}},
    ]


def highstate():
    cases = [{"name": "a run", "data": {"web1": RUN}}]
    modes = ["terse", "mixed", "changes", "filter", "full_id", "terse_id", "mixed_id", "changes_id", "Terse"]
    cases += [{"name": mode, "options": {"state_output": mode}, "data": {"web1": RUN}} for mode in modes]
    for title, options in {
        "not verbose": {"state_verbose": False},
        "not verbose, terse": {"state_verbose": False, "state_output": "terse"},
        "only differences": {"state_output_diff": True},
        "no profile": {"state_output_profile": False},
        "no profile, terse": {"state_output_profile": False, "state_output": "terse"},
        "percentages": {"state_output_pct": True},
        "tabular": {"state_tabular": True, "state_output": "terse"},
        "tabular, no profile": {"state_tabular": True, "state_output": "terse", "state_output_profile": False},
        "exclude true": {"state_output": "filter", "state_output_exclude": ["True"]},
        "terse true and none": {"state_output": "filter", "state_output_terse": "True,None"},
    }.items():
        cases.append({"name": title, "options": options, "data": {"web1": RUN}})
    one = lambda entry, key="cmd_|-id_|-id_|-run": {"web1": {key: entry}}
    for title, data in {
        "nothing ran": {"web1": {}},
        "one good": one(state()),
        "one with a name": one(state(), "cmd_|-id_|-echo hello_|-run"),
        "a comment of lines": one(state(comment="\nfirst\nsecond\n\nfourth\n")),
        "a comment that is a list": one(state(comment=["one", "two"])),
        "no start": one(state(start_time="absent", duration="absent")),
        "no duration": one(state(duration="absent")),
        "long runs": one(state(duration=61234.5678)),
        "whole duration": one(state(duration=1000)),
        "in parallel": {"web1": {
            "cmd_|-a_|-a_|-run": state(__parallel__=True, duration=100.5),
            "cmd_|-b_|-b_|-run": state(__parallel__=True, duration=300.25, run=1),
            "cmd_|-c_|-c_|-run": state(duration=50.0, run=2)}},
        "warnings": one(state(warnings=["This argument is deprecated and will be removed in the next release of the "
                                        "program, use the other one instead", "And one more"])),
        "warnings of a failure": one(state(False, warnings=["Short"])),
        "data in a list": one(state(data=["a", 1])),
        "data in a map": one(state(data={"a": 1, "b": "c"})),
        "data as text": one(state(data="more")),
        "changes in depth": one(state(changes={"a": {"b": [1, {"c": None}]}, "pid": 12, "stdout": "x\ny", "stderr": ""})),
        "changes that are no map": one(state(changes="changed a lot")),
        "many states": {"web1": {f"test_|-s{n}_|-s{n}_|-nop": state(n % 7 != 0, run=n, duration=0.1 * n, changes={"n": n} if n % 5 == 0 else {}) for n in range(12)}},
        "failed to compile": {"web1": ["Rendering SLS 'base:web' failed: mapping values are not allowed here; line 3", "No matching sls found for 'x' in env 'base'"]},
        "a text": {"web1": "one\ntwo"},
        "a boolean": {"web1": True},
        "a number": {"web1": 3},
        "several targets": {"db1": RUN, "web1": {"test_|-a_|-a_|-nop": state()}},
        "no such function": {"web1": "'state.aply' is not available."},
        "an orchestration": {"master": {"salt_|-web_|-web_|-state": state(
            name="web", comment="States ran successfully. Updating web1.", changes={"out": "highstate", "ret": {"web1": RUN, "web2": {"test_|-a_|-a_|-nop": state()}}})}},
        "an orchestration without change": {"master": {"salt_|-web_|-web_|-state": state(
            name="web", changes={"out": "highstate", "ret": {"web2": {"test_|-a_|-a_|-nop": state()}}})}},
        "an orchestrated function": {"master": {"salt_|-ping_|-test.ping_|-function": state(
            name="test.ping", changes={"out": "highstate", "ret": {"web1": True, "web2": "a\nb"}})}},
        "orchestration in orchestration": {"master": {"salt_|-inner_|-state.orchestrate_|-runner": state(
            name="state.orchestrate", changes={"return": {"data": {"master": {"test_|-a_|-a_|-nop": state()}}, "outputter": "highstate", "retcode": 0}})}},
        "changes that end in blanks": one(state(changes={"a": "b  "})),
        "letters of the world": one(state(comment="Größe: 世界"), "file_|-größe_|-/srv/世界_|-managed"),
    }.items():
        cases.append({"name": title, "data": data})
    return cases


def table():
    return [
        {"name": "maps", "data": {"web1": TABLE}},
        {"name": "maps deeper", "data": {"web1": {"out": TABLE, "more": {"rows": TABLE[:1]}}}},
        {"name": "texts", "data": {"web1": ["one", "two", "three and more"]}},
        {"name": "lists of texts", "data": {"web1": [["a", "b"], ["cc", "dddd"]]}},
        {"name": "one long cell", "data": {"web1": [[LONG]]}},
        {"name": "empty", "data": {"web1": []}},
        {"name": "odd and even", "data": {"web1": [["a", "bb", "ccc", "dddd"], ["xxxx", "xxxx", "xxxxx", "xxxxxx"]]}},
        {"name": "labels", "data": {"web1": [{"HTTP_port": 1, "is-up": "x", "it's": 2, "a1b": None}]}},
        {"name": "several targets", "data": {"db1": TABLE, "web1": ["x"]}},
    ]


def no_return():
    return [
        {"name": "one", "data": {"web1": "Minion did not return"}},
        {"name": "lines", "data": {"web1": "Minion did not return. [Not connected]\nThe command may still run"}},
        {"name": "a map", "data": {"web1": {"b": "x", "a": {"c": "y\nz"}}}},
        {"name": "several targets", "data": {"db1": "Minion did not return. [No response]", "web1": "Minion did not return"}},
    ]


DIFFERENCES = [
    ("nested", "an escape sequence in a pipe", {}, {"web1": "red: \u001b[31mx\u001b[0m"}),
    ("nested", "an empty text in a list", {}, {"web1": ["a", "", "b"]}),
    ("yaml", "a text of lines", {}, {"web1": {"motd": "one\ntwo\n"}}),
    ("yaml", "a list of lines", {}, {"web1": ["a\nb", "c"]}),
    ("yaml", "letters of the world", {}, {"web1": {"naïve": "Grüße, 世界 ✓", "emoji": "🧂"}}),
    ("highstate", "a duration as text", {}, {"web1": {"cmd_|-a_|-a_|-run": state(duration="123.4 ms")}}),
    ("yaml", "indent 4", {"output_indent": 4}, {"web1": {"a": {"b": 1}}}),
    ("yaml", "one line", {"output_indent": -1}, {"web1": {"b": [1, None], "a": "x"}}),
    ("highstate", "a map that is no run", {}, {"web1": {"a": 1}}),
    ("highstate", "a map of maps that is no run", {}, {"web1": {"a": {"b": "c"}}}),
    ("highstate", "null", {}, {"web1": None}),
    ("highstate", "a float", {}, {"web1": 1.5}),
    ("highstate", "a list of what are no texts", {}, {"web1": [1, None]}),
    ("highstate", "a hyphen in a warning", {}, {"web1": {"cmd_|-a_|-a_|-run": state(
        warnings=["This is a warning whose last words on the line are rather well-known to all"])}}),
    ("table", "scalars beside a table", {}, {"web1": {"comment": "fine", "result": True, "out": ["x"]}}),
    ("table", "a text alone", {}, {"web1": "hello"}),
    ("table", "numbers", {}, {"web1": [1, 22]}),
    ("table", "lists of numbers", {}, {"web1": [[1, "a"], [2, "b"]]}),
    ("table", "rows that lack a column", {}, {"web1": [{"a": 1, "b": 2}, {"b": 3}]}),
    ("table", "a long cell beside a short one", {}, {"web1": [["x", LONG]]}),
    ("table", "mixed rows", {}, {"web1": ["a", {"b": 1}]}),
    ("no_return", "what is neither text nor map", {}, {"web1": [1]}),
]


def write(path, content):
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def main():
    groups = dict(simple())
    groups["nested"] += nested_more()
    groups["json"] += json_more()
    groups["pprint"] += pprint_more()
    groups.update(highstate=highstate(), table=table(), no_return=no_return())
    for outputter, cases in groups.items():
        for case in cases:
            options = case.get("options", {})
            case["plain"] = printed(outputter, case["data"], options, False)
            coloured = printed(outputter, case["data"], options, True)
            if coloured != case["plain"]:
                case["coloured"] = coloured
        write(CASES / f"{outputter}.json", {"outputter": outputter, "cases": cases})
    path = CASES / "differences.json"
    before = json.loads(path.read_text())["cases"] if path.exists() else []
    kept = {(case["outputter"], case["name"]): case.get("ours") for case in before}
    write(path, {"cases": [
        {"outputter": outputter, "name": name, "options": options, "data": data,
         "salt": printed(outputter, data, options, False), "ours": kept.get((outputter, name))}
        for outputter, name, options, data in DIFFERENCES]})


if __name__ == "__main__":
    main()
