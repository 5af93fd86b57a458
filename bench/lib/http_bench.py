"""The program `bench/http`: `rocksalt serve` and salt-api with the same requests, in turns, by the same load generator."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import http_report
import install
import machine
import places
import processes
from http_servers import Rocksalt, SaltApi, ServerError

JOBS = 1300
LISTENERS = 1000
LOAD = "examples/load"  # beside our program, as `make bench` builds it


def main(arguments):
    # On SIGTERM, the processes that we started are stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(arguments)
    if options.install:
        install.install([SaltApi])
    load = os.path.join(os.path.dirname(options.ours), LOAD)
    if not os.access(load, os.X_OK):
        sys.exit(f"bench/http: no load generator at {places.scrub(load)}; `make bench` builds it")
    os.makedirs(places.SCRATCH, mode=0o700, exist_ok=True)
    scratch = tempfile.mkdtemp(dir=places.SCRATCH, prefix="h")
    servers = [Rocksalt(scratch, options.ours)] + ([] if options.without_salt else [SaltApi(scratch)])
    facts = {"machine": machine.facts(), "rounds": options.rounds, "seconds": options.seconds, "versions": {}}
    records = []
    try:
        for server in servers:
            server.start()
            facts["versions"][server.name] = server.version()
            say(f"{server.name}: {facts['versions'][server.name]}")
        measure(servers, load, options, records)
    except KeyboardInterrupt:
        say("stopped; the report is about what was measured until now")
    except ServerError as error:
        sys.exit(f"bench/http: {places.scrub(str(error))}")
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    text = http_report.render(facts, records)
    print(text)
    if options.write:
        places.write(os.path.join(places.RESULTS, options.write + ".md"), text)
        say(f"written: bench/results/{options.write}.md")
    return 3 if options.strict and "FAIL" in text else 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/http", description=__doc__)
    default = os.path.join(os.environ.get("TARGET") or os.path.join(places.REPOSITORY, "target"), "release", "rocksalt")
    parser.add_argument("--ours", default=os.environ.get("ROCKSALT_BIN") or default, help="our program")
    parser.add_argument("-r", "--rounds", type=int, default=5, help="turns of each (5)")
    parser.add_argument("-s", "--seconds", type=int, default=4, help="seconds of each turn (4)")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"jobs that jobs.list_jobs lists ({JOBS})")
    parser.add_argument("--listeners", type=int, default=LISTENERS, help=f"who hear each event ({LISTENERS})")
    parser.add_argument("--memory-jobs", type=int, default=10_000, help="jobs over which memory is watched (10000)")
    parser.add_argument("--without-salt", action="store_true", help="measure ours only")
    parser.add_argument("--install", action="store_true", help="install salt-api first, from PyPI")
    parser.add_argument("--write", nargs="?", const="http", metavar="NAME", help="also write bench/results/NAME.md (http)")
    parser.add_argument("--strict", action="store_true", help="fail when an aim is missed")
    return parser.parse_args(arguments)


def measure(servers, load, options, records):
    for server in servers:
        server.login()
    # The list is measured first, so that both servers have the same number of jobs.
    for server in servers:
        fill(server, load, options.jobs)
    for connections in (1, 16):
        turns(servers, load, options, records, "jobs.list_jobs", connections, lambda server: server.list_jobs())
    for connections in (1, 16):
        turns(servers, load, options, records, "run test.ping", connections, lambda server: server.ping())
        # A user may have at most 50,000 tokens.
        most = 20_000 // options.rounds // connections
        turns(servers, load, options, records, "login", connections, lambda server: server.login_request(), most)
    for server in servers:
        # salt-api hangs at its number of threads, so the largest number that it can serve is measured too.
        for listeners in sorted({min(server.most_listeners, options.listeners), options.listeners}):
            note(records, server, "events", listeners, listen(server, load, listeners))
            server.restart_if_stuck()
    memory(servers[0], load, options, records)


def turns(servers, load, options, records, what, connections, request, most=None):
    """Measures the servers in turn within each round; the order rotates."""
    for round in range(options.rounds):
        for server in servers[round % len(servers) :] + servers[: round % len(servers)]:
            result = requests(load, server, request(server), connections, options.seconds, most)
            note(records, server, what, connections, result)


def requests(load, server, request, connections, seconds, most=None):
    """Runs for this number of seconds, or until each connection has sent `most` requests."""
    words = [load, "requests", server.url, request["path"], "--connections", str(connections), "--seconds", str(seconds)]
    words += ["--most", str(most)] if most else []
    for name in ("method", "body", "expect"):
        words += [f"--{name}", request[name]] if request.get(name) else []
    return run(words, server, request.get("headers", {}))


def listen(server, load, listeners):
    request = server.fire()
    words = [load, "listen", server.url, "/events", "--listeners", str(listeners), "--events", "50", "--pause-ms", "100"]
    words += ["--fire-path", request["path"], "--fire-body", request["body"]]
    return run(words, server, request["headers"])


def run(words, server, headers):
    for name, value in headers.items():
        words += ["--header", f"{name}: {value}"]
    before = processes.cpu_seconds(processes.tree(server.pids()))
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        raise ServerError(f"the load generator failed: {done.stderr.strip()}")
    cpu = processes.cpu_seconds(processes.tree(server.pids())) - before
    return {**json.loads(done.stdout), "cpu": cpu, "memory": processes.resident_bytes(processes.tree(server.pids()))}


def note(records, server, what, size, result):
    records.append({"server": server.name, "what": what, "size": size, **result})
    shown = f"{result['rate']:10.1f}/s" if "rate" in result else f"{result['heard']} heard, {result['missing']} missing"
    error = f"  errors {result['errors']}: {result['error']}" if result.get("errors") else ""
    say(f"{what:16}{size:5}  {server.name:10}{shown}  p50 {result['p50_ms']} ms  p99 {result['p99_ms']} ms{error}")


def fill(server, load, count):
    """Starts jobs until the list has this many."""
    say(f"{server.name}: {count} jobs for the list")
    for _ in range(1000):
        there = server.count_jobs()
        if there >= count:
            return
        missing = count - there
        requests(load, server, server.start_job(), min(8, missing), 3, max(1, missing // 8))
    raise ServerError(f"{server.name} does not come to {count} jobs")


def memory(server, load, options, records):
    """Measures the resident size over many jobs: after the first tenth it must not grow with them."""
    done, sizes = 0, []
    while done < options.memory_jobs:
        result = requests(load, server, server.ping(), 16, 2)
        if result["requests"] == 0:
            raise ServerError(f"{server.name}: no jobs are done: {result['error']}")
        done += result["requests"]
        sizes.append((done, result["memory"]))
    # By then, the in-memory caches are full.
    first = next(size for count, size in sizes if count >= options.memory_jobs / 10)
    time.sleep(1)
    last = processes.resident_bytes(processes.tree(server.pids()))
    median = statistics.median(size for _, size in sizes)
    records.append({"server": server.name, "what": "memory", "size": done, "first": first, "last": last, "median": median})
    say(f"memory over {done} jobs: {first / 1e6:.1f} MB after a tenth, {last / 1e6:.1f} MB at the end")


def say(text):
    print(places.scrub(text), file=sys.stderr, flush=True)
