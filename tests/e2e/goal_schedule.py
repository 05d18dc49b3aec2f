"""GOAL's schedules: their text, the binary form that txt2bin makes of it, and what they take by the LogGP model."""
import collections
import heapq
import re
import struct

Operation = collections.namedtuple("Operation", "kind size peer tag cpu")
Rank = collections.namedtuple("Rank", "operations edges")  # an edge: what waits, what for
KINDS = {"send": 1, "recv": 2, "calc": 3}


def parse(text):
    lines = iter(text.splitlines())
    ranks, count = [], int(re.fullmatch(r"num_ranks (\d+)", next(lines))[1])
    for line in lines:
        if match := re.fullmatch(r"rank (\d+) \{", line):
            assert int(match[1]) == len(ranks), line
            ranks.append(Rank([], []))
        elif match := re.fullmatch(r"l(\d+): calc (\d+) cpu (\d+)", line):
            assert int(match[1]) == len(ranks[-1].operations), line
            ranks[-1].operations.append(Operation("calc", int(match[2]), 0, 0, int(match[3])))
        elif match := re.fullmatch(r"l(\d+): (send \d+b to|recv \d+b from) (\d+) tag (\d+) cpu (\d+)", line):
            assert int(match[1]) == len(ranks[-1].operations), line
            ranks[-1].operations.append(Operation(match[2][:4], int(match[2].split()[1][:-1]), *map(int, match.groups()[2:])))
        elif match := re.fullmatch(r"l(\d+) requires l(\d+)", line):
            edge = tuple(map(int, match.groups()))
            assert max(edge) < len(ranks[-1].operations), line
            ranks[-1].edges.append(edge)
        else:
            assert line in ("", "}"), line
    assert len(ranks) == count
    return ranks


def binary(ranks):
    """What LogGOPSim's Parser.hpp reads, in the order in which txt2bin writes it."""
    parts = []
    for rank in ranks:
        waits = collections.Counter(edge[0] for edge in rank.edges)
        successors = collections.defaultdict(list)
        for waiting, on in rank.edges:
            successors[on].append(waiting)
        roots = [i for i in range(len(rank.operations)) if i not in waits]
        part = struct.pack(f"<{2 + len(roots)}I", len(rank.operations), len(roots), *roots)
        appendix = []
        for i, of in enumerate(rank.operations):
            begin = len(appendix)
            appendix += successors[i]
            part += struct.pack("<IBIQIBBIIII", waits[i], KINDS[of.kind], of.peer, of.size, of.tag, of.cpu, 0, len(appendix) - begin,
                                begin, 0, len(appendix))
        parts.append(part + struct.pack(f"<{len(appendix)}I", *appendix))
    cpus = max((of.cpu for rank in ranks for of in rank.operations), default=0)
    head = struct.pack("<QIBB", 4223, len(ranks), cpus, 0)
    at = 6 + 16 * len(ranks)
    for part in parts:
        head += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    return head + b"".join(parts)


def unpaired(ranks):
    """Messages whose sends and receives are not the same, in order."""
    sends, recvs = collections.defaultdict(list), collections.defaultdict(list)
    for number, rank in enumerate(ranks):
        for of in rank.operations:
            if of.kind == "send":
                sends[number, of.peer, of.tag].append(of.size)
            elif of.kind == "recv":
                recvs[of.peer, number, of.tag].append(of.size)
    return [key for key in sends.keys() | recvs.keys() if sends[key] != recvs[key]]


def times(ranks, L=0, o=0, g=0, G=0, rendezvous=False):
    """When each operation ends, by rank. A cpu does one thing at a time; the network interface sends and receives one message every g,
    and sends a byte every G. A message of s bytes is there o + L + (s−1)G after its send began. `rendezvous`: a send ends with its
    receive. Fails where something never ends."""
    ends = [[None] * len(rank.operations) for rank in ranks]
    missing = [collections.Counter(edge[0] for edge in rank.edges) for rank in ranks]
    successors = [collections.defaultdict(list) for _ in ranks]
    for number, rank in enumerate(ranks):
        for waiting, on in rank.edges:
            successors[number][on].append(waiting)
    ready_at = [[0] * len(rank.operations) for rank in ranks]
    cpu_free, sends_free, recvs_free = collections.Counter(), collections.Counter(), collections.Counter()
    arrived, posted = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
    # Time, rank, of a receive whose message is there the send as (number,), the operation.
    events = [(0, number, (), i) for number, rank in enumerate(ranks) for i in range(len(rank.operations)) if not missing[number][i]]
    heapq.heapify(events)

    def end(number, i, at):
        ends[number][i] = at
        for waiting in successors[number][i]:
            ready_at[number][waiting] = max(ready_at[number][waiting], at)
            missing[number][waiting] -= 1
            if missing[number][waiting] == 0:
                heapq.heappush(events, (ready_at[number][waiting], number, (), waiting))

    while events:
        now, number, matched, i = heapq.heappop(events)
        of = ranks[number].operations[i]
        cpu = (number, of.cpu)
        if of.kind == "recv" and not matched:
            key = (of.peer, number, of.tag)
            posted[key].append(i)
            if arrived[key]:
                at, sent = arrived[key].popleft()
                heapq.heappush(events, (max(now, at), number, sent, posted[key].popleft()))
            continue
        free = max(cpu_free[cpu], {"calc": now, "send": sends_free[number], "recv": recvs_free[number]}[of.kind])
        if free > now:
            heapq.heappush(events, (free, number, matched, i))
        elif of.kind == "calc":
            cpu_free[cpu] = now + of.size
            end(number, i, now + of.size)
        elif of.kind == "send":
            cpu_free[cpu] = now + o
            sends_free[number] = now + g + (of.size - 1) * G
            at, key = now + o + L + (of.size - 1) * G, (number, of.peer, of.tag)
            if posted[key]:
                heapq.heappush(events, (at, of.peer, (i,), posted[key].popleft()))
            else:
                arrived[key].append((at, (i,)))
            if not rendezvous:
                end(number, i, now + o)
        else:
            cpu_free[cpu] = now + o
            recvs_free[number] = now + g
            end(number, i, now + o)
            if rendezvous:
                end(of.peer, matched[0], now + o)
    left = [(number, i) for number, of_rank in enumerate(ends) for i, at in enumerate(of_rank) if at is None]
    assert not left, f"{len(left)} operations never end, rank {left[0][0]}'s {left[0][1]} among them"
    return ends


def makespan(ranks, **parameters):
    return max((max(of_rank) for of_rank in times(ranks, **parameters) if of_rank), default=0)
