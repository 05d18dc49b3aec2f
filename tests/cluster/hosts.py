"""Several hosts on this machine: network, host name, shared memory of their own, joined by a switch.

Each host is a set of namespaces held by a process, with processes of its own that no other host sees; all of it is within namespaces of the test's own
(namespaces.enter() first), so that nothing is left behind. `mpirun` runs beside the switch and enters a host instead of logging in to it. Every host's
link to the switch can be slowed (tc's token bucket).
"""
import pathlib
import subprocess

import namespaces
import program

NETWORK = "10.213.7"
# Hosts share what cores there are: whoever waits has to let others run.
MPIRUN = ["mpirun", "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24",
          "--mca", "mpi_yield_when_idle", "1"]
TRANSPORTS = {
    "tcp": ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self,vader",
            "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24"],
    # Open MPI takes UCX by itself only where it finds a fast network.
    "ucx": ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
            "--mca", "osc", "^ucx", "-x", "UCX_TLS=tcp,self", "-x", "UCX_NET_DEVICES=eth0"],
}
AGENT = """#!/bin/bash
# mpirun's remote shell: agent [options] HOST COMMAND…
while [[ $1 == -* ]]; do shift; done
pid=$(cat "$(dirname "$0")/host${1##*.}")
shift
exec nsenter -t "$pid" -m -u -i -n --pid="/proc/$pid/ns/pid_for_children" --time="/proc/$pid/ns/time_for_children" -- /bin/bash -c "$*"
"""


class Unavailable(Exception):
    """Why this machine allows no such hosts."""


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Hosts:
    def __init__(self, directory, count, rate=None, clock_step_s=0):
        """`rate`: of each host's link, both ways, as tc writes it ("40mbit"); None: as it is.

        `clock_step_s`: how far each host's monotonic clock is ahead of the host's before it.
        """
        lacking = program.missing("unshare", "nsenter", "ip", "tc", "mpirun")
        if lacking:
            raise Unavailable(f"{', '.join(lacking)} not installed (scripts/packages.txt, group [cluster])")
        if not namespaces.inside():
            raise Unavailable("no PID or network namespace may be created here")
        self.directory = pathlib.Path(directory)
        self.count = count
        self.clock_step_s = clock_step_s
        self._holders = []
        try:
            self._start(rate)
        except Unavailable:
            self.close()
            raise

    def _start(self, rate):
        self.switch = self._hold("switch")
        self._in_switch("ip", "link", "add", "br0", "type", "bridge")
        self._in_switch("ip", "addr", "add", f"{NETWORK}.254/24", "dev", "br0")
        self._in_switch("ip", "link", "set", "br0", "up")
        for i in range(1, self.count + 1):
            pid = self._hold(f"node{i}", "--pid", "--fork", "--kill-child", "--mount-proc", clock_ahead_s=i * self.clock_step_s)
            (self.directory / f"host{i}").write_text(str(pid))
            self._in_switch("ip", "link", "add", f"port{i}", "type", "veth",
                            "peer", "name", "eth0", "netns", str(pid))
            self._in_switch("ip", "link", "set", f"port{i}", "master", "br0", "up")
            enter = ("nsenter", "-t", str(pid), "-n")
            call(*enter, "ip", "addr", "add", f"{NETWORK}.{i}/24", "dev", "eth0")
            call(*enter, "ip", "link", "set", "eth0", "up")
            if rate:
                bucket = ("root", "tbf", "rate", rate, "burst", "64kb", "latency", "500ms")
                call(*enter, "tc", "qdisc", "add", "dev", "eth0", *bucket)
                self._in_switch("tc", "qdisc", "add", "dev", f"port{i}", *bucket)
        self.agent = self.directory / "agent"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)

    def _hold(self, name, *options, clock_ahead_s=0):
        """A process that keeps the namespaces of one host."""
        clock = ["--time", "--monotonic", str(clock_ahead_s)] if clock_ahead_s else []
        holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--mount", *options, *clock, "sh", "-c",
             f"hostname {name} && mount -t tmpfs tmpfs /dev/shm && ip link set lo up "
             "&& echo ready && exec sleep 100000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._holders.append(holder)
        if holder.stdout.readline() != "ready\n":
            raise Unavailable(f"no namespaces: {holder.stderr.read().strip()}")
        return holder.pid

    def _in_switch(self, *command):
        return call("nsenter", "-t", str(self.switch), "-n", *command)

    def mpirun(self, ranks_per_host, transport, *options):
        """A command line that starts `ranks_per_host` ranks on every host."""
        hosts = ",".join(f"{NETWORK}.{i}:{ranks_per_host}" for i in range(1, self.count + 1))
        return ["nsenter", "-t", str(self.switch), "-n", "-u", "-i", "-m", "--", *MPIRUN,
                "--mca", "plm_rsh_agent", str(self.agent), *TRANSPORTS[transport], *options,
                "--host", hosts, "-n", str(ranks_per_host * self.count)]

    def bytes_sent(self, host):
        """By a host into its link, so far."""
        text = call("nsenter", "-t", (self.directory / f"host{host}").read_text(), "-n", "cat",
                    "/proc/net/dev")
        line = next(line for line in text.splitlines() if line.strip().startswith("eth0:"))
        return int(line.split()[9])

    def close(self):
        for holder in self._holders:
            holder.kill()
            holder.wait()
            holder.stdout.close()
            holder.stderr.close()
        self._holders = []
