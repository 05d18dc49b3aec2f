// The first lines of /proc/stat: time that CPUs spent, by state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace reprise {

// Busy is all but idle and iowait; guest time is part of user time already.
struct CpuTimes {
  std::int64_t busy = 0;  // ticks
  std::int64_t total = 0;
  std::int64_t steal = 0;  // of busy: the hypervisor ran another guest
};

// Takes the next "cpu<N>" line off `proc_stat`, which afterwards begins behind it. Nothing if there
// is none.
struct CoreTimes {
  int core = 0;
  CpuTimes times;
};
[[nodiscard]] std::optional<CoreTimes> NextCore(std::string_view& proc_stat);
// How many "cpu<N>" lines there are: logical CPUs online.
[[nodiscard]] int CountCpus(std::string_view proc_stat);

// Busy fraction between one call and the next.
class UtilizationMeter {
 public:
  // The fraction since the last call; where no tick (10 ms) has passed since then, the last
  // fraction again. NaN if the text cannot be parsed, and until a first tick has passed.
  [[nodiscard]] double Update(std::string_view proc_stat);
  // The same for times that are parsed already.
  [[nodiscard]] double Update(const std::optional<CpuTimes>& now);

 private:
  std::optional<CpuTimes> last_;
  double fraction_ = 0;
  bool known_ = false;
};

}  // namespace reprise
