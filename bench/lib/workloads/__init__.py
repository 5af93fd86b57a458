"""The workloads: their interface, and their list. Each workload has a file."""


class Workload:
    """A job that every tool does in the same way, in one or more phases that follow each other in one turn."""

    name = ""
    title = ""
    phases = ("",)
    phases_without_connections = ("cold", "reconnect")  # verified: they start with no session on any host
    host_counts = None  # None: all requested numbers; else only these (0: needs no hosts)
    rounds = 1  # measurements in each turn; more for what takes milliseconds
    references = {}  # phase: the tool that the others are compared with

    def prepare(self, peer, hosts, phase):
        """Prepares the state in which the phase starts; not measured."""

    def command(self, peer, hosts, phase):
        """Returns the command to measure, or None if the tool doesn't support it."""
        raise NotImplementedError

    def prove(self, peer, hosts, phase, measurement):
        """Raises Failure unless the command did its job on every host. The exit code was already checked."""

    def target_roots(self):
        """Returns processes whose descendants belong to the targets, for a workload with its own hosts."""
        return []

    def finish(self):
        """Called after a tool's turn, even a failed one."""

    def seconds(self, phase, measurement):
        """Returns the time that counts, for a run that was proved."""
        return measurement.wall


def all_workloads():
    """All workloads, in the order of the report."""
    from workloads import apply_states, command_output, compile_states, copy_file, local_no_op, overlap, ping, print_version
    from workloads import web_server

    return [
        ping.Ping(),
        command_output.CommandOutput(),
        copy_file.CopyFile(),
        print_version.PrintVersion(),
        local_no_op.LocalNoOp(),
        compile_states.CompileStates(),
        compile_states.CompileInProcess(),
        apply_states.ApplyStates(),
        overlap.Overlap(),
        web_server.WebServer(),
    ]
