// Which cpu of its rank does what: threads and streams have cpus of their own, since a cpu does one
// operation at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

// What has cpus of its own.
struct CpuOwner {
  enum class Kind : std::uint8_t {
    kThread,
    kStream,
    kGroup,    // transfers that no stream does, of one group
    kGap,      // waits before transfers: messages arrive meanwhile
    kLatency,  // between a launch and what it launches
  } kind = Kind::kThread;
  std::int64_t id = 0;
  std::int32_t device = -1;
  auto operator<=>(const CpuOwner&) const = default;
};

// While it is under way by Reprise's own simulation.
struct CpuUse {
  CpuOwner owner;
  std::int64_t begin_ns = 0, end_ns = 0;
};

struct AssignedCpus {
  std::vector<std::uint8_t> cpu_of;  // parallel to the uses
  std::uint64_t crowded = 0;         // uses on a cpu that did something else at that time
};

// Uses of one owner that overlap get different cpus, as few as possible; owners share none. At most
// goal::kMostCpus: what is over them shares.
[[nodiscard]] AssignedCpus AssignCpus(std::span<const CpuUse> uses);

}  // namespace reprise
