"""The report: Markdown generated from the records and facts of a run."""
import aims
import places
from cells import CALM, cells

LEGEND = f"""Wall time in seconds; **ratio** is the tool's median over that of the reference tool (named in each heading).
CPU in seconds, median: controller is all that the command started here and left in the background, targets is the
sshds' process trees. Peak memory: largest sum of the resident sizes of the controller's processes, shared pages counted
in each; *background* is what stays after the command (ssh masters, our keeper), and is part of the peak.
A run is disturbed when everything else on the machine took {CALM:.0%} of the CPU or more: medians leave such runs out, and
`~` marks cells that have no others. The minimum is over all good runs. Failed runs are never timed."""


def render(facts, records, workloads):
    table = cells(records)
    parts = ["# Rocksalt and its peers, measured side by side", _facts(facts), "## Aims", _aims(facts, table)]
    if len(facts["ours"]) > 1:
        parts += ["## Our builds against each other", _builds(facts["ours"], table)]
    parts += ["## Numbers", LEGEND]
    for workload in workloads:
        for phase in workload.phases:
            keys = [key for key in table if key[:2] == (workload.name, phase)]
            if keys:
                reference = workload.references.get(phase)
                parts += [_heading(workload, phase, reference), _numbers(table, keys, reference)]
    failures = _failures(table)
    if failures:
        parts += ["## Failed runs", failures]
    return places.scrub("\n\n".join(parts)) + "\n"


def _facts(facts):
    lines = [f"- {name}: {value}" for name, value in facts["machine"].items()]
    lines += [f"- {name}: {value}" for name, value in facts["versions"].items()]
    lines += [f"- {name}: not measured, {reason}" for name, reason in facts["missing"].items()]
    return "\n".join(lines)


def _aims(facts, table):
    rows = []
    for ours in facts["ours"]:
        for aim in aims.AIMS:
            if aim.workload not in facts.get("workloads", [aim.workload]):
                continue
            verdict, median, minimum = aim.judge(table, ours)
            rows.append([ours, aim.title, aim.limit_text(), _number(median), _number(minimum), verdict])
    if not facts["ours"]:
        return "None of our builds was measured."
    if not rows:
        return "There are none about what was measured."
    return _table(["build", "aim", "limit", "by medians", "by minima", "verdict"], rows)


def _builds(ours, table):
    """Shows each build's median and minimum relative to the first build's."""
    rows = []
    for workload, phase, hosts, name in table:
        first = table.get((workload, phase, hosts, ours[0]))
        cell = table[workload, phase, hosts, name]
        if name not in ours[1:] or first is None or not (first.good and cell.good):
            continue
        rows.append(
            [f"{workload} {phase}".strip(), hosts or "", name]
            + [_number(cell.wall_median / first.wall_median), _number(cell.wall_min / first.wall_min)]
            + [_number(_quotient(cell.controller_cpu, first.controller_cpu))]
            + [_number(_quotient(cell.memory, first.memory))]
        )
    columns = ["workload", "hosts", "build", f"wall, medians, × {ours[0]}", "minima", "controller CPU", "peak memory"]
    return _table(columns, rows) if rows else "They have no good run in common."


def _heading(workload, phase, reference):
    title = f"{workload.title}, {phase}" if phase else workload.title
    return f"### {title[0].upper()}{title[1:]}" + (f" (reference: {reference})" if reference else "")


def _numbers(table, keys, reference):
    rows = []
    for workload, phase, hosts, name in sorted(keys, key=lambda key: key[2]):
        cell = table[workload, phase, hosts, name]
        tried = cell.runs + len(cell.failures)
        runs = f"{cell.runs} of {tried}, rest failed" if cell.failures else cell.runs
        if not cell.good:
            rows.append([hosts or "", name, "failed", "failed", "", "", "", "", "", f"0 of {tried}"])
            continue
        compared = table.get((workload, phase, hosts, reference))
        ratio = cell.wall_median / compared.wall_median if compared and compared.good else None
        background = f"{cell.left_memory / 1e6:.0f} ({cell.left_processes})" if cell.left_processes else ""
        rows.append(
            [hosts or "", name, _number(cell.wall_min), ("" if cell.calm else "~") + _number(cell.wall_median)]
            + [_number(ratio), _number(cell.controller_cpu), _number(cell.target_cpu), f"{cell.memory / 1e6:.1f}"]
            + [background, runs]
        )
    columns = ["hosts", "tool", "min", "median", "ratio", "controller CPU", "targets CPU"]
    return _table(columns + ["peak memory MB", "background MB (processes)", "runs"], rows)


def _failures(table):
    lines = []
    for (workload, phase, hosts, name), cell in table.items():
        for reason in sorted(set(cell.failures)):
            flat = " ".join(reason.split())[:300]
            lines.append(f"- {name}, {workload} {phase}".rstrip() + (f", {hosts} hosts" if hosts else "") + f": {flat}")
    return "\n".join(lines)


def _table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _number(value):
    """Formats a number with three significant digits."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _quotient(value, base):
    return value / base if base else None
