#include "core/host_clock.h"

#include <fmt/format.h>
#include <sys/timex.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/clock.h"

namespace reprise {
namespace {

double Slope(const ClockReading& a, const ClockReading& b) {
  return b.at_ns == a.at_ns ? 0
                            : static_cast<double>(b.offset_ns - a.offset_ns) /
                                  static_cast<double>(b.at_ns - a.at_ns);
}

std::int64_t Extend(const ClockReading& from, double slope, std::int64_t time_ns) {
  return from.offset_ns + std::llround(slope * static_cast<double>(time_ns - from.at_ns));
}

}  // namespace

HostClock::HostClock(std::vector<ClockReading> readings) : readings_(std::move(readings)) {
  std::sort(readings_.begin(), readings_.end(),
            [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  if (!readings_.empty()) {
    drift_ = Slope(readings_.front(), readings_.back());
  }
}

std::int64_t HostClock::OffsetNs(std::int64_t time_ns) const {
  if (readings_.empty()) {
    return 0;
  }
  const auto after = std::find_if(readings_.begin(), readings_.end(),
                                  [&](const ClockReading& r) { return r.at_ns >= time_ns; });
  if (after == readings_.begin() || after == readings_.end()) {
    return Extend(after == readings_.end() ? readings_.back() : *after,
                  std::clamp(drift_, -kMaxDrift, kMaxDrift), time_ns);
  }
  return Extend(*(after - 1), Slope(*(after - 1), *after), time_ns);
}

std::int64_t HostClock::ToReference(std::int64_t time_ns) const {
  return time_ns - OffsetNs(time_ns);
}

std::int64_t HostClock::UncertaintyNs(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::int64_t worst_ns = 0;
  for (const ClockReading& reading : readings_) {
    worst_ns = std::max(worst_ns, reading.uncertainty_ns);
  }
  if (worst_ns == 0) {
    return 0;  // the reference itself does not drift
  }
  const std::int64_t outside_ns = std::max(
      {std::int64_t{0}, readings_.front().at_ns - begin_ns, end_ns - readings_.back().at_ns});
  return worst_ns + std::llround(kMaxDrift * static_cast<double>(outside_ns));
}

std::string ReadingsText(std::span<const ClockReading> readings) {
  std::string text;
  for (const ClockReading& reading : readings) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", reading.at_ns, reading.offset_ns,
                        reading.uncertainty_ns);
  }
  return text;
}

std::optional<std::vector<ClockReading>> ParseReadings(std::string_view text) {
  std::vector<ClockReading> readings;
  std::istringstream rows{std::string(text)};
  for (std::string row; std::getline(rows, row, ';');) {
    std::istringstream fields(row);
    ClockReading reading;
    std::string rest;
    if (!(fields >> reading.at_ns >> reading.offset_ns >> reading.uncertainty_ns) ||
        (fields >> rest)) {
      return std::nullopt;
    }
    readings.push_back(reading);
  }
  return readings;
}

ClockReading ReadWallClock() {
  constexpr std::int64_t kUnsynchronisedUs = 16'000'000;  // the kernel's NTP_PHASE_LIMIT
  timex state{};  // modes 0: reads only, which needs no rights
  const std::int64_t error_us = adjtimex(&state) < 0 ? kUnsynchronisedUs : state.maxerror;
  ClockReading best{.uncertainty_ns = INT64_MAX};
  for (int i = 0; i < 5; ++i) {  // repeats a reading that was interrupted
    const std::int64_t before_ns = MonotonicNs();
    const std::int64_t wall_ns = WallClockNs();
    const std::int64_t after_ns = MonotonicNs();
    if ((after_ns - before_ns) / 2 < best.uncertainty_ns) {
      const std::int64_t at_ns = before_ns + (after_ns - before_ns) / 2;
      best = {at_ns, at_ns - wall_ns, (after_ns - before_ns) / 2};
    }
  }
  best.uncertainty_ns += error_us * 1'000;
  return best;
}

}  // namespace reprise
