// The numbers of a machine file: one table, which the reader, the writer and --set go by.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/machine/machine.h"
#include "predict/machine/units.h"

namespace reprise {

// What a machine file that lacks the number gets, and why that.
struct DefaultNumber {
  double value = 0;  // in `unit`
  std::string_view unit;
  std::string_view reason;
};

// One number of one machine. Exactly one of `number` and `optional` is set, and points into the
// machine that FieldsOf was asked about.
struct MachineField {
  std::string path;  // "device.memory.bandwidth", "links.nvlink.latency"
  Dimension dimension = Dimension::kRatio;
  SourcedNumber* number = nullptr;     // must be there, or has a default
  OptionalNumber* optional = nullptr;  // may be absent
  std::optional<DefaultNumber> fallback;
  LinkLevel* counted = nullptr;  // a bandwidth that is per device or node, one way or both
  double largest_ratio = 1;      // of a ratio: what it may be at most

  // The number that is there; nullptr: none.
  [[nodiscard]] const SourcedNumber* Present() const {
    return number != nullptr ? number : optional->has_value() ? &**optional : nullptr;
  }
  void Set(SourcedNumber to) {
    (number != nullptr ? *number : optional->emplace()) = std::move(to);
  }
};

// All that the machine may have; those of links, classes and types for every one that it has. In
// the order of the format's page.
[[nodiscard]] std::vector<MachineField> FieldsOf(MachineModel& machine);

// What holds for one number alone, whatever the others: a ratio is above 0 and at most the field's
// largest, a count is whole and at least 1, the rest is positive, times may be 0.
[[nodiscard]] Status CheckNumber(const MachineField& field, double value);

// Whether all numbers have the same values, wherever they come from.
[[nodiscard]] bool SameNumbers(const MachineModel& a, const MachineModel& b);

}  // namespace reprise
