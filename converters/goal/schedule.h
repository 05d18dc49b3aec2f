// A schedule in GOAL (Group Operation Assembly Language), which LogGOPSim and ATLAHS run: for each
// rank calculations and messages, and which of them wait for which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace reprise::goal {

// As the binary form numbers them.
enum class OperationKind : std::uint8_t { kSend = 1, kRecv = 2, kCalc = 3 };

struct Operation {
  OperationKind kind = OperationKind::kCalc;
  std::uint8_t cpu = 0;             // of its rank; it does one operation at a time
  std::uint32_t peer = 0, tag = 0;  // of messages
  std::uint64_t size = 0;           // bytes of a message, nanoseconds of a calculation
  bool operator==(const Operation&) const = default;
};

// `waits` starts when `on` has ended: "requires". Both are numbers of operations of one rank.
struct Edge {
  std::uint32_t waits = 0, on = 0;
  bool operator==(const Edge&) const = default;
};

struct RankSchedule {
  std::vector<Operation> operations;
  std::vector<Edge> edges;
};

// By rank.
using RankSchedules = std::vector<RankSchedule>;

inline constexpr std::size_t kMostCpus = 256;  // of a rank: the binary form has a byte for it

// What txt2bin reads.
void WriteText(const RankSchedules& ranks, std::ostream& out);
// What LogGOPSim reads: the bytes that txt2bin makes of the text.
void WriteBinary(const RankSchedules& ranks, std::ostream& out);

}  // namespace reprise::goal
