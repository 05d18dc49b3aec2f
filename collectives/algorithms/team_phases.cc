#include "collectives/algorithms/team_phases.h"

#include <numeric>

namespace reprise {
namespace {

const Part& Around(std::span<const Part> parts, int i) {
  const auto n = static_cast<int>(parts.size());
  return parts[static_cast<std::size_t>((i % n + n) % n)];
}

Part Touching(const Part& part) {
  Part merged;
  for (const ByteRange& range : part) {
    if (!merged.empty() && merged.back().end() == range.offset) {
      merged.back().bytes += range.bytes;
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

Team Everyone(const LaneShape& shape) {
  Team team{.members = std::vector<int>(static_cast<std::size_t>(shape.size)), .me = shape.rank};
  std::iota(team.members.begin(), team.members.end(), 0);
  return team;
}

std::int64_t BytesOf(const Part& part) {
  return std::accumulate(
      part.begin(), part.end(), std::int64_t{0},
      [](std::int64_t sum, const ByteRange& range) { return sum + range.bytes; });
}

std::vector<ByteRange> Cut(ByteRange whole, int count, std::int64_t unit_bytes) {
  const std::int64_t units = whole.bytes / unit_bytes;
  std::vector<ByteRange> parts;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = units * i / count * unit_bytes;
    const std::int64_t end = units * (i + 1) / count * unit_bytes;
    parts.push_back({whole.offset + begin, end - begin});
  }
  return parts;
}

std::vector<Part> Singly(std::span<const ByteRange> ranges) {
  std::vector<Part> parts;
  for (const ByteRange& range : ranges) {
    parts.push_back({range});
  }
  return parts;
}

void SendPart(Lane& lane, int peer, Area area, const Part& part) {
  for (const ByteRange& range : Touching(part)) {
    lane.Send(peer, {area, range.offset}, range.bytes);
  }
}

void RecvPart(Lane& lane, int peer, Area area, const Part& part) {
  for (const ByteRange& range : Touching(part)) {
    lane.Recv(peer, {area, range.offset}, range.bytes);
  }
}

// A part starts with its right neighbour and grows on its way around, until it reaches its owner.
void RingReduceScatter(Lane& lane, const Team& team, Area own, Area data,
                       std::span<const Part> parts) {
  std::int64_t longest = 0;
  for (const Part& part : parts) {
    longest = std::max(longest, BytesOf(part));
  }
  const bool apart = own != data;
  const Ref scratch = lane.Scratch(apart ? 0 : longest);
  for (int step = 0; step + 1 < team.size(); ++step) {
    lane.NextRound();
    SendPart(lane, team.At(team.me + 1), step == 0 ? own : data, Around(parts, team.me - step - 1));
    const Part mine = Touching(Around(parts, team.me - step - 2));
    std::int64_t at = 0;
    for (const ByteRange& range : mine) {
      const Ref place{data, range.offset};
      const Ref arrived = apart ? place : scratch.At(at);
      lane.Recv(team.At(team.me - 1), arrived, range.bytes);
      lane.Reduce(apart ? Ref{own, range.offset} : arrived, place, range.bytes);
      at += range.bytes;
    }
  }
  lane.NextRound();
}

void RingAllGather(Lane& lane, const Team& team, Area data, std::span<const Part> parts) {
  for (int step = 0; step + 1 < team.size(); ++step) {
    lane.NextRound();
    SendPart(lane, team.At(team.me + 1), data, Around(parts, team.me - step));
    RecvPart(lane, team.At(team.me - 1), data, Around(parts, team.me - step - 1));
  }
  lane.NextRound();
}

void TreeReduce(Lane& lane, const Team& team, int root, Ref data, std::int64_t bytes) {
  const int n = team.size();
  const int place = (team.me - root + n) % n;
  for (int mask = 1; mask < n; mask <<= 1) {
    lane.NextRound();
    if ((place & mask) != 0) {
      lane.Send(team.At(place - mask + root), data, bytes);
      break;
    }
    if (place + mask < n) {
      const Ref arrived = lane.Scratch(bytes);
      lane.Recv(team.At(place + mask + root), arrived, bytes);
      lane.Reduce(arrived, data, bytes);
    }
  }
  lane.NextRound();
}

void TreeBroadcast(Lane& lane, const Team& team, int root, Area data, const Part& part) {
  const int n = team.size();
  const int place = (team.me - root + n) % n;
  int mask = 1;
  while (mask < n && (place & mask) == 0) {
    mask <<= 1;
  }
  lane.NextRound();
  if (place != 0) {
    RecvPart(lane, team.At(place - mask + root), data, part);
    lane.NextRound();
  }
  // The farthest first: it has the most to pass on.
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (place + mask < n) {
      SendPart(lane, team.At(place + mask + root), data, part);
    }
  }
  lane.NextRound();
}

}  // namespace reprise
