// What the processor does during an iteration: by this process, by all programs, by others' guests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/iteration_load.h"
#include "report/telemetry/pseudo_file.h"

namespace reprise {

// Of a file of /proc/pressure the first total, "some avg10=0.00 … total=5677744": time in which
// some task waited. Nothing if it has none.
[[nodiscard]] std::optional<std::int64_t> PressureNs(std::string_view pressure);

// Not thread-safe.
class LoadMeter {
 public:
  // `root`: what comes before "/proc". What cannot be read stays unknown in the loads. `cores`:
  // those of this process. The first one of a process counts its CPU time, until it is destroyed.
  LoadMeter(const std::string& root, std::vector<int> cores);
  ~LoadMeter();
  LoadMeter(const LoadMeter&) = delete;
  LoadMeter& operator=(const LoadMeter&) = delete;

  void Begin();
  // What has passed since Begin.
  [[nodiscard]] IterationLoad End(std::int64_t iteration);

 private:
  // Totals since the machine or the process began; wall_ns is a clock's.
  [[nodiscard]] IterationLoad Totals();

  std::vector<int> cores_;
  bool counts_process_;
  std::optional<PseudoFile> stat_, pressure_, load_average_;
  IterationLoad begin_;
};

}  // namespace reprise
