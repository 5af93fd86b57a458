"""The program `bench/run`: command line, set-up, measuring, report."""
import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile

import aims
import driver
import hosts as testbed
import install
import machine
import measure
import places
import report
from cells import cells
from peers import all_peers
from peers.rocksalt import DEFAULT, Rocksalt
from workloads import all_workloads


def main(arguments):
    options = parse(arguments)
    if options.render:
        with open(options.render) as file:
            return finish(options, *read_records(file))
    # SIGTERM is handled like Ctrl-C: the hosts are stopped, and the report covers what was measured so far.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.makedirs(places.SCRATCH, mode=0o700, exist_ok=True)
    with open(os.path.join(places.SCRATCH, "lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("bench/run: another one is running, and they would disturb each other")
        try:
            return finish(options, *measure_all(options))
        except testbed.HostsError as error:
            sys.exit(f"bench/run: {error}")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    names = ", ".join(peer.name for peer in all_peers())
    jobs = ", ".join(workload.name for workload in all_workloads())
    parser.add_argument("-n", "--hosts", type=counts, default=[1, 10, 50, 100], help="numbers of hosts (1,10,50,100)")
    parser.add_argument("-r", "--repeats", type=int, default=5, help="turns of each tool (5)")
    parser.add_argument("-w", "--workloads", type=words, help=f"only these: {jobs}")
    parser.add_argument("-p", "--peers", type=words, help=f"only these, or `none`: {names}")
    parser.add_argument(
        "--ours", action="append", default=[], metavar="NAME=PATH", type=build,
        help="a build of ours to measure; more than one are also compared with the first ($ROCKSALT_BIN, else target/release/rocksalt)",
    )  # fmt: skip
    parser.add_argument("--without-ours", action="store_true", help="measure the peers only")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one command (300)")
    parser.add_argument("--seconds-per-cell", type=float, default=60, help="no more turns for a tool that took so long (60)")
    parser.add_argument("--calm", type=float, default=0.2, help="wait while more of the CPU is busy (0.2)")
    parser.add_argument("--patience", type=float, default=10, help="but not longer than so many seconds (10)")
    parser.add_argument("--install", action="store_true", help="install missing peers first, as bench/peers does")
    parser.add_argument("--records", metavar="FILE", help="keep every single measurement in this file, as JSON lines")
    parser.add_argument("--render", metavar="FILE", help="measure nothing; make the report of such a file")
    parser.add_argument("--write", nargs="?", const="latest", metavar="NAME", help="also write bench/results/NAME.md (latest)")
    parser.add_argument("--strict", action="store_true", help="fail when an aim is missed")
    options = parser.parse_args(arguments)
    options.workloads = chosen(parser, "workload", all_workloads(), options.workloads)
    if options.peers == ["none"]:
        options.peers = []
    elif options.peers is None:
        options.peers = [peer for peer in all_peers() if peer.by_default]
    else:
        options.peers = chosen(parser, "peer", all_peers(), options.peers)
    names = [name for name, _ in options.ours] + [peer.name for peer in options.peers]
    if len(set(names)) != len(names):
        parser.error("two tools have the same name")
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    for name, path in options.ours:
        if not os.access(path, os.X_OK) or not os.path.isfile(path):
            parser.error(f"--ours {name}: no program at {path}")
    if not options.ours and not options.without_ours:
        options.ours = [("rocksalt", os.environ.get("ROCKSALT_BIN") or DEFAULT)]
    return options


def counts(text):
    numbers = sorted({int(word) for word in text.split(",")})
    if numbers[0] < 1:
        raise ValueError(text)
    return numbers


def words(text):
    return text.split(",")


def build(text):
    name, _, path = text.partition("=")
    if not path or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, path


def chosen(parser, what, everything, names):
    known = {one.name: one for one in everything}
    for name in names or []:
        if name not in known:
            parser.error(f"unknown {what} {name}; there are: {', '.join(known)}")
    return [known[name] for name in names] if names else everything


def measure_all(options):
    """The facts and all records of one run."""
    if options.install:
        install.install(options.peers)
    with Hosts(max(options.hosts)) as hosts, Scratch() as scratch:
        tools = [Rocksalt(scratch, name, path) for name, path in options.ours] + [peer(scratch) for peer in options.peers]
        missing = {tool.name: tool.missing() for tool in tools if tool.missing()}
        tools = [tool for tool in tools if tool.name not in missing]
        for name, reason in missing.items():
            say(f"{name}: not measured, {reason}")
        if not tools:
            sys.exit("bench/run: nothing to measure")
        facts = {
            "machine": {**machine.facts(), "repeats": f"{options.repeats}, interleaved"},
            "versions": {tool.name: "; ".join(filter(None, [tool.version(), tool.settings()])) for tool in tools},
            "missing": missing,
            "ours": [tool.name for tool in tools if isinstance(tool, Rocksalt)],
            "workloads": [workload.name for workload in options.workloads],
        }
        meter = measure.Meter(scratch, testbed.sshd_pids(), options.timeout)
        for tool in tools:
            say(f"{tool.name}: {facts['versions'][tool.name]}")
            tool.prepare(hosts)
        plan = driver.Plan(
            workloads=options.workloads,
            peers=tools,
            hosts=hosts,
            host_counts=options.hosts,
            repeats=options.repeats,
            seconds_per_cell=options.seconds_per_cell,
            calm=options.calm,
            patience=options.patience,
        )
        with open(options.records or os.path.join(places.SCRATCH, "records.jsonl"), "w") as file:
            return facts, record_all(plan, meter, facts, file)


def record_all(plan, meter, facts, file):
    records = []

    def note(record):
        records.append(record)
        print(json.dumps(record), file=file, flush=True)
        result = f"FAILED {record['failure']}" if record["failure"] else (
            f"{record['wall']:8.3f} s  controller {record['controller_cpu']:7.3f}  targets {record['target_cpu']:7.3f}"
            f"  {record['memory'] / 1e6:6.1f} MB  others {record['others']:.2f}"
        )  # fmt: skip
        say(f"{record['workload']:19}{record['phase']:16}{record['hosts']:4}  {record['peer']:22}{result}")

    print(json.dumps(facts), file=file, flush=True)
    try:
        driver.run(plan, meter, note)
    except KeyboardInterrupt:
        say("stopped; the report is about what was measured until now")
    finally:
        meter.end_leftovers()
    return records


def read_records(file):
    facts, *records = [json.loads(line) for line in file]
    return facts, records


def finish(options, facts, records):
    """Prints and writes the report; returns the exit code."""
    text = report.render(facts, records, all_workloads())
    print(text)
    if options.write:
        path = os.path.join(places.RESULTS, options.write + ".md")
        places.write(path, text)
        say(f"written: {os.path.relpath(path)}")
    if any(record["failure"] and record["peer"] in facts["ours"] for record in records):
        return 1
    table = cells(records)
    verdicts = [aim.judge(table, ours)[0] for aim in aims.AIMS for ours in facts["ours"]]
    return 3 if options.strict and aims.FAIL in verdicts else 0


class Hosts:
    """Uses the running hosts; if there are none, starts them and also stops them at the end."""

    def __init__(self, count):
        self.count = count
        self.started = False

    def __enter__(self):
        found = testbed.fleet()
        if not found:
            found = testbed.up(self.count)
            self.started = True
        if len(found) < self.count:
            message = f"{len(found)} hosts are up, {self.count} are wanted: run `bench/hosts down` first"
            raise testbed.HostsError(message)
        return found[: self.count]

    def __exit__(self, *_):
        if self.started:
            testbed.down()


class Scratch:
    """Creates a folder for this run only, so that no setting or cache of an earlier one is used."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(dir=places.SCRATCH, prefix="r")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def say(text):
    print(places.scrub(text), file=sys.stderr, flush=True)
