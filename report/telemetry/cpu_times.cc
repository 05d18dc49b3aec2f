#include "report/telemetry/cpu_times.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/metrics.h"

namespace reprise {
namespace {

// " user nice system idle iowait irq softirq steal guest guest_nice"
std::optional<CpuTimes> ParseTimes(std::string_view fields) {
  constexpr std::size_t kMin = 4;  // up to idle
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIoWait = 4;
  constexpr std::size_t kSteal = 7;
  std::array<std::int64_t, 8> field{};
  const char* at = fields.data();
  const char* const end = fields.data() + fields.size();
  std::size_t count = 0;
  for (; count < field.size(); ++count) {
    at = std::find_if(at, end, [](char c) { return c != ' '; });
    const auto [next, error] = std::from_chars(at, end, field[count]);
    if (error != std::errc()) {
      break;
    }
    at = next;
  }
  if (count < kMin) {
    return std::nullopt;
  }
  CpuTimes times;
  for (const std::int64_t value : field) {
    times.total += value;
  }
  times.busy = times.total - field[kIdle] - field[kIoWait];
  times.steal = field[kSteal];
  return times;
}

// Nothing if the text does not begin with a "cpu" line.
std::optional<CpuTimes> ParseCpuTimes(std::string_view proc_stat) {
  constexpr std::string_view kPrefix = "cpu ";
  if (!proc_stat.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  return ParseTimes(line.substr(kPrefix.size()));
}

}  // namespace

std::optional<CoreTimes> NextCore(std::string_view& proc_stat) {
  constexpr std::string_view kPrefix = "\ncpu";
  const std::size_t at = proc_stat.find(kPrefix);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  proc_stat.remove_prefix(at + kPrefix.size());
  const std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  CoreTimes core;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), core.core);
  const auto times = ParseTimes(line.substr(static_cast<std::size_t>(rest - line.data())));
  if (error != std::errc() || !times) {
    return std::nullopt;
  }
  core.times = *times;
  return core;
}

int CountCpus(std::string_view proc_stat) {
  int count = 0;
  for (std::size_t at = 0; (at = proc_stat.find("\ncpu", at)) != std::string_view::npos; ++at) {
    ++count;
  }
  return count;
}

double UtilizationMeter::Update(std::string_view proc_stat) {
  return Update(ParseCpuTimes(proc_stat));
}

double UtilizationMeter::Update(const std::optional<CpuTimes>& now) {
  if (!now) {
    return kNoReading;
  }
  // iowait may step back by a little; so may, then, the total.
  if (last_ && now->total > last_->total) {
    fraction_ = std::clamp(static_cast<double>(now->busy - last_->busy) /
                               static_cast<double>(now->total - last_->total),
                           0.0, 1.0);
    known_ = true;
    last_ = now;
  } else if (!last_) {
    last_ = now;
  }
  return known_ ? fraction_ : kNoReading;
}

}  // namespace reprise
