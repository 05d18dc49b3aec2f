#include "predict/machine/rows_of_air.h"

#include <utility>

namespace reprise {
namespace {

// Consecutive devices of one row, and of all rows.
std::pair<std::int64_t, std::int64_t> Shape(const ThermalModel& thermal) {
  if (!thermal.rows || !thermal.row_devices) {
    return {1, 1};
  }
  const auto row = static_cast<std::int64_t>(thermal.row_devices->value);
  return {row, row * static_cast<std::int64_t>(thermal.rows->value)};
}

}  // namespace

std::int64_t RowOf(const ThermalModel& thermal, std::int64_t device) {
  const auto [row, all] = Shape(thermal);
  return device % all / row;
}

std::optional<std::int64_t> DeviceInFront(const ThermalModel& thermal, std::int64_t device) {
  return RowOf(thermal, device) == 0 ? std::nullopt : std::optional(device - Shape(thermal).first);
}

}  // namespace reprise
