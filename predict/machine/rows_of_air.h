// Where devices stand in the air that flows through their node.
#pragma once

#include <cstdint>
#include <optional>

#include "predict/machine/machine.h"

namespace reprise {

// The device right in front of another in the air of its node: its number is lower. Nothing: it is
// in the first row.
[[nodiscard]] std::optional<std::int64_t> DeviceInFront(const ThermalModel& thermal,
                                                        std::int64_t device);
// The row, from 0 at the inlet.
[[nodiscard]] std::int64_t RowOf(const ThermalModel& thermal, std::int64_t device);

}  // namespace reprise
