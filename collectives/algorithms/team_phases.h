// Phases that several algorithms are made of, on a team: some or all members of a group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/lane.h"

namespace reprise {

struct Team {
  std::vector<int> members;  // positions in the group
  int me = 0;                // members[me] is this rank
  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  // Member i, counted around.
  [[nodiscard]] int At(int i) const {
    return members[static_cast<std::size_t>((i % size() + size()) % size())];
  }
};
[[nodiscard]] Team Everyone(const LaneShape& shape);

// Ranges that travel together; the same offsets on every member.
using Part = std::vector<ByteRange>;
[[nodiscard]] std::int64_t BytesOf(const Part& part);
// `whole` in `count` parts of whole units that differ by one unit at most.
[[nodiscard]] std::vector<ByteRange> Cut(ByteRange whole, int count, std::int64_t unit_bytes);
[[nodiscard]] std::vector<Part> Singly(std::span<const ByteRange> ranges);

// A message for each range; ranges that touch share one.
void SendPart(Lane& lane, int peer, Area area, const Part& part);
void RecvPart(Lane& lane, int peer, Area area, const Part& part);

// `own` holds each member's contribution to every part; then parts[i], reduced, is in `data` of
// member i. What else `data` holds is overwritten. Where both are one area, what arrives takes
// scratch.
void RingReduceScatter(Lane& lane, const Team& team, Area own, Area data,
                       std::span<const Part> parts);
// parts[i] lies on member i; then everywhere.
void RingAllGather(Lane& lane, const Team& team, Area data, std::span<const Part> parts);

// Binomial trees. `data` on every member; the root (its index in the team) ends with the reduction,
// the others' `data` is overwritten.
void TreeReduce(Lane& lane, const Team& team, int root, Ref data, std::int64_t bytes);
// `data` may be another area on each member.
void TreeBroadcast(Lane& lane, const Team& team, int root, Area data, const Part& part);

}  // namespace reprise
