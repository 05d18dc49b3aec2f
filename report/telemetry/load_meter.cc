#include "report/telemetry/load_meter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>

#include "core/clock.h"
#include "report/telemetry/cpu_times.h"

namespace reprise {
namespace {

std::atomic<bool> process_is_counted = false;

std::optional<PseudoFile> OpenedOrNothing(const std::string& path) {
  auto file = PseudoFile::Open(path);
  return file ? std::optional(std::move(*file)) : std::nullopt;
}

std::int64_t Nanoseconds(const timeval& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000;
}

void AddOwn(IterationLoad& totals) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  totals.own_cpu_ns = Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime);
  totals.involuntary_switches = usage.ru_nivcsw;
}

// Leaves the totals unknown where a core of the process is not listed.
void AddCores(std::string_view stat, const std::vector<int>& cores, IterationLoad& totals) {
  const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  std::int64_t busy = 0, stolen = 0;
  std::size_t found = 0;
  while (const auto core = NextCore(stat)) {
    if (std::ranges::find(cores, core->core) != cores.end()) {
      busy += core->times.busy - core->times.steal;
      stolen += core->times.steal;
      ++found;
    }
  }
  if (found == cores.size() && found > 0) {
    totals.busy_ns = busy * tick_ns;
    totals.stolen_ns = stolen * tick_ns;
  }
}

std::int64_t Passed(std::int64_t begin, std::int64_t end) {
  return begin < 0 || end < 0 ? -1 : std::max<std::int64_t>(end - begin, 0);
}

}  // namespace

std::optional<std::int64_t> PressureNs(std::string_view pressure) {
  constexpr std::string_view kKey = "total=";
  const std::size_t at = pressure.find(kKey);
  const auto microseconds =
      at == std::string_view::npos ? std::nullopt : ParseNumber(pressure.substr(at + kKey.size()));
  return microseconds ? std::optional(*microseconds * 1'000) : std::nullopt;
}

LoadMeter::LoadMeter(const std::string& root, std::vector<int> cores)
    : cores_(std::move(cores)),
      counts_process_(!process_is_counted.exchange(true)),
      stat_(OpenedOrNothing(root + "/proc/stat")),
      pressure_(OpenedOrNothing(root + "/proc/pressure/cpu")),
      load_average_(OpenedOrNothing(root + "/proc/loadavg")) {}

LoadMeter::~LoadMeter() {
  if (counts_process_) {
    process_is_counted = false;
  }
}

IterationLoad LoadMeter::Totals() {
  IterationLoad totals{.wall_ns = MonotonicNs()};
  if (counts_process_) {
    AddOwn(totals);
  }
  if (stat_) {
    AddCores(stat_->Text().value_or(""), cores_, totals);
  }
  if (pressure_) {
    totals.pressure_ns = PressureNs(pressure_->Text().value_or("")).value_or(-1);
  }
  const std::string_view load = load_average_ ? load_average_->Text().value_or("") : "";
  double average = 0;
  if (std::from_chars(load.data(), load.data() + load.size(), average).ec == std::errc()) {
    totals.load_hundredths = static_cast<std::int64_t>(100 * average + 0.5);
  }
  return totals;
}

void LoadMeter::Begin() { begin_ = Totals(); }

IterationLoad LoadMeter::End(std::int64_t iteration) {
  const IterationLoad end = Totals();
  return {.iteration = iteration,
          .wall_ns = end.wall_ns - begin_.wall_ns,
          .own_cpu_ns = end.own_cpu_ns - begin_.own_cpu_ns,
          .busy_ns = Passed(begin_.busy_ns, end.busy_ns),
          .stolen_ns = Passed(begin_.stolen_ns, end.stolen_ns),
          .pressure_ns = Passed(begin_.pressure_ns, end.pressure_ns),
          .involuntary_switches = end.involuntary_switches - begin_.involuntary_switches,
          .load_hundredths = end.load_hundredths};
}

}  // namespace reprise
