"""The report of `bench/http`: Markdown, with our aims judged by the numbers of the same run."""
import statistics

LEGEND = """Requests a second, and the times of single requests in milliseconds: the best round and the median of all.
The servers took turns on the same machine, asked by the same program over loopback; ours reaches its two targets by SSH,
salt-api its two minions by ZeroMQ. CPU is that of all processes of the server, per request. Compare within a run only."""

OURS, THEIRS = "rocksalt", "salt-api"


def render(facts, records):
    lines = ["# HTTP API", "", f"{facts['rounds']} rounds of {facts['seconds']} s each.", ""]
    lines += [f"- {name}: {value}" for name, value in facts["machine"].items()]
    lines += [f"- {name}: {value}" for name, value in facts["versions"].items()]
    lines += ["", LEGEND, "", "## Aims", "", "| aim | limit | here | |", "|---|---|---|---|"]
    lines += [f"| {title} | {limit} | {here} | {verdict} |" for title, limit, here, verdict in aims(records)]
    lines += ["", "## Requests", "", "| what | connections | server | best/s | median/s | p50 | p99 | CPU ms | errors |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for (what, size, server), cell in cells(records).items():
        lines.append(
            f"| {what} | {size} | {server} | {cell['best']:.1f} | {cell['median']:.1f} | {shown(cell['p50'])} "
            f"| {shown(cell['p99'])} | {shown(cell['cpu'])} | {cell['errors']} |"
        )
    lines += ["", "## Events", "", "Fifty events, ten a second, to all listeners at once.", ""]
    lines += ["| server | listeners | connected | heard | missing | twice | p50 | p99 | slowest |", "|---|---|---|---|---|---|---|---|---|"]
    for one in records:
        if one["what"] == "events":
            times = " | ".join(shown(one[key]) for key in ("p50_ms", "p99_ms", "max_ms"))
            lines.append(
                f"| {one['server']} | {one['size']} | {one['connected']} | {one['heard']} | {one['missing']} | {one['doubles']} | {times} |"
            )
    for one in records:
        if one["what"] == "memory":
            lines += ["", "## Memory", ""]
            lines.append(
                f"Over {one['size']:,} jobs by 16 connections: {one['first'] / 1e6:.1f} MB after a tenth of them, "
                f"{one['last'] / 1e6:.1f} MB at the end."
            )
    return "\n".join(lines) + "\n"


def cells(records):
    """Groups the records by measurement, connections and server."""
    found = {}
    for one in records:
        if "rate" in one:
            found.setdefault((one["what"], one["size"], one["server"]), []).append(one)
    return {key: cell(all) for key, all in found.items()}


def cell(rounds):
    good = [one for one in rounds if one["requests"]]
    middle = lambda key: statistics.median(one[key] for one in good) if good else None
    requests = sum(one["requests"] for one in good)
    return {
        "best": max(one["rate"] for one in rounds),
        "median": statistics.median(one["rate"] for one in rounds),
        "p50": middle("p50_ms"),
        "p99": middle("p99_ms"),
        "cpu": 1000 * sum(one["cpu"] for one in good) / requests if requests else None,
        "errors": sum(one["errors"] for one in rounds),
    }


def aims(records):
    """Returns (aim, limit, measured value, verdict) for each aim."""
    table = cells(records)
    for what in ("run test.ping", "jobs.list_jobs", "login"):
        for size in (1, 16):
            ours, theirs = table.get((what, size, OURS)), table.get((what, size, THEIRS))
            if ours and theirs and what != "login":
                ratio = ours["median"] / theirs["median"] if theirs["median"] else float("inf")
                yield f"{what}, {size} connections", "≥ 100 × salt-api", f"{ratio:.0f} ×", verdict(ratio >= 100)
            if ours and size == 16 and what != "login":
                worst = ours["p99"]
                yield f"{what}, 16 connections, p99", "< 20 ms", f"{shown(worst)} ms", verdict(worst is not None and worst < 20)
            if ours and ours["errors"]:
                yield f"{what}, {size} connections, errors", "none", str(ours["errors"]), verdict(False)
    for one in records:
        if one["server"] == OURS and one["what"] == "events":
            slowest, whole = one["max_ms"], one["missing"] == one["doubles"] == 0
            here = f"{one['missing']} missing, {one['doubles']} twice, slowest {shown(slowest)} ms"
            good = whole and slowest is not None and slowest < 1000
            yield f"{one['size']} listeners hear every event once", "within 1 s", here, verdict(good)
        if one["server"] == OURS and one["what"] == "memory":
            growth = one["last"] / one["first"]
            yield f"memory over {one['size']:,} jobs", "≤ 1.25 × that of the first tenth", f"{growth:.2f} ×", verdict(growth <= 1.25)


def verdict(good):
    return "pass" if good else "FAIL"


def shown(value):
    return "–" if value is None else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
