// Times and sizes made less exact, so that what fitted together still does.
#pragma once

#include <cstdint>

#include "converters/share/anonymize/keyed_hash.h"
#include "converters/share/anonymize/policy.h"
#include "core/comm.h"
#include "core/value.h"

namespace reprise {

// Points in time, not durations, are mapped: monotone, 0 stays 0. What ended before another began
// still does, and start = latest end + delay holds to the nanosecond.
class TimeMap {
 public:
  TimeMap(const Rounding& rounding, const KeyedHash& hash);
  [[nodiscard]] std::int64_t At(std::int64_t ns) const;
  // How far a point may have moved: two clocks agree by so much less.
  [[nodiscard]] std::int64_t UncertaintyNs() const;

 private:
  Rounding rounding_;
  double factor_;
};

// Dimensions and counts of elements. Below kSmall (a grid: below it) they stay: 0, 1, the number of
// channels of an image, of a group's members are structure.
class SizeMap {
 public:
  SizeMap(const Rounding& rounding, const KeyedHash& hash);
  [[nodiscard]] bool Exact() const { return rounding_.kind == Rounding::Kind::kKeep; }
  [[nodiscard]] std::int64_t At(std::int64_t size) const;
  // Dense in the order of the old strides (expanded dimensions stay expanded), from offset 0.
  void Apply(TensorDesc& tensor) const;
  // Bytes and splits, alike on all members: where one side is a multiple of the other, it stays so.
  void Apply(CommSpec& spec) const;

 private:
  static constexpr std::int64_t kSmall = 16;
  Rounding rounding_;
  double factor_;
};

// The middle of its octave, 1.5 × 2ⁿ; 0, ±0.5, ±1, ±2 and what is not finite stay, since kernels
// differ there.
[[nodiscard]] double CoarseNumber(double value);

}  // namespace reprise
