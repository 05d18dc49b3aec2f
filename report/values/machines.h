// What a run's ranks were recorded on and replayed on, as their facts have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

struct RunData;

// Empty: not known. Where ranks differ, their values are joined by ", ".
struct Machine {
  std::string processor;
  std::string device;   // "cpu", or the accelerator's name
  std::string threads;  // of one rank, that compute at a time
};
[[nodiscard]] Machine RecordingMachine(const RunData& run);
[[nodiscard]] Machine ReplayingMachine(const RunData& run);

// The compute threads that a host's ranks run at a time, and the cores that these may use.
struct HostLoad {
  std::string host;
  std::int32_t ranks = 0, threads = 0, cores = 0;
};
[[nodiscard]] std::vector<HostLoad> HostLoads(const RunData& run);

// Each recorded step's time, of the rank that took longest; empty where a rank does not have it.
[[nodiscard]] std::vector<std::int64_t> RecordedStepsNs(const RunData& run);

}  // namespace reprise
