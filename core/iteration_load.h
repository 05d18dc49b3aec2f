// What the processor did during one iteration, as one rank saw it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

struct IterationLoad {
  std::int64_t iteration = 0;  // as in StepRecord: warm-up counts
  std::int64_t wall_ns = 0;
  // CPU time of all threads of the rank's process. Of ranks that share a process, one has it, and
  // the others have 0.
  std::int64_t own_cpu_ns = 0;
  // Of the cores that the rank may use, added up; -1: unknown. /proc/stat counts them for all that
  // runs there, also outside of a container.
  std::int64_t busy_ns = -1;      // all programs
  std::int64_t stolen_ns = -1;    // the hypervisor ran another guest
  std::int64_t pressure_ns = -1;  // in which some task of the host waited for a core; -1: unknown
  std::int64_t involuntary_switches = 0;  // of the process: it had to leave a core
  std::int64_t load_hundredths = -1;      // 100 times the host's load average of a minute
  bool operator==(const IterationLoad&) const = default;
};

// The members in this order, "0 1000 …; 1 1010 …", as runs keep them.
[[nodiscard]] std::string LoadsText(std::span<const IterationLoad> loads);
// Nothing if it is no such text.
[[nodiscard]] std::optional<std::vector<IterationLoad>> ParseLoads(std::string_view text);

}  // namespace reprise
