// How one host's clock relates to another: compared now and then, interpolated in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// One comparison of this host's MonotonicNs with a reference (rank 0's, or Unix time).
struct ClockReading {
  std::int64_t at_ns = 0;           // of this host
  std::int64_t offset_ns = 0;       // this host's clock minus the reference
  std::int64_t uncertainty_ns = 0;  // how far the offset may be off
  bool operator==(const ClockReading&) const = default;
};

// Offset and drift from readings: a line between neighbours; outside of them, the slope from the
// first to the last, as far as clocks drift. Immutable.
class HostClock {
 public:
  // Bound of the drift between the clocks of two hosts (two crystals of 50 ppm each).
  static constexpr double kMaxDrift = 100e-6;

  // Sorted by time here; none: the reference itself.
  explicit HostClock(std::vector<ClockReading> readings);

  // This host's time as the reference has it.
  [[nodiscard]] std::int64_t ToReference(std::int64_t time_ns) const;
  // Of ToReference for times in [begin_ns, end_ns]: the readings' own, and kMaxDrift for what lies
  // before the first and after the last.
  [[nodiscard]] std::int64_t UncertaintyNs(std::int64_t begin_ns, std::int64_t end_ns) const;
  // From the first reading to the last, nanoseconds per nanosecond; 0 with one reading.
  [[nodiscard]] double drift() const { return drift_; }

 private:
  [[nodiscard]] std::int64_t OffsetNs(std::int64_t time_ns) const;

  std::vector<ClockReading> readings_;
  double drift_ = 0;
};

// "at offset uncertainty; at offset uncertainty", as runs keep them.
[[nodiscard]] std::string ReadingsText(std::span<const ClockReading> readings);
// Nothing if it is no such text.
[[nodiscard]] std::optional<std::vector<ClockReading>> ParseReadings(std::string_view text);

// Compares MonotonicNs with Unix time (CLOCK_REALTIME). The uncertainty is what the kernel says of
// its synchronisation (adjtimex(2), maxerror); 16 s, its largest, where nothing synchronises it.
[[nodiscard]] ClockReading ReadWallClock();

}  // namespace reprise
