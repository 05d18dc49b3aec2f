// Units that a machine file may use, and the quantities that they measure (docs/machine_format.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/result.h"

namespace reprise {

// Each has a base unit, in which MachineModel holds it.
enum class Dimension : std::uint8_t {
  kRate,               // FLOP/s
  kBytes,              // B
  kBandwidth,          // B/s
  kTime,               // ns
  kPower,              // W
  kRatio,              // 1
  kCount,              // 1, whole
  kFlopEnergy,         // J/FLOP
  kByteEnergy,         // J/B
  kClock,              // Hz
  kTemperature,        // C
  kThermalResistance,  // K/W
  kThermalCapacity,    // J/K
};
REPRISE_NAMES(Dimension, "a rate of operations", "a size", "a bandwidth", "a time", "a power",
              "a ratio", "a count", "an energy for each operation", "an energy for each byte",
              "a clock", "a temperature", "a thermal resistance", "a heat capacity");

// How many base units one of `unit` is: ("Gb/s", kBandwidth) → 1.25e8. Bad input names the units
// that fit, and the nearest.
[[nodiscard]] Result<double> UnitFactor(std::string_view unit, Dimension dimension);
// The base unit: "FLOP/s", "B", "B/s", "ns", "W", "1", "J/FLOP", ….
[[nodiscard]] std::string_view BaseUnit(Dimension dimension);

// "400Gb/s", "3.35 TB/s", "0.8": a number and its unit. Without a unit, `unit` is it. Bad input for
// anything else.
struct Amount {
  double value = 0;  // in `unit`
  std::string unit;
};
[[nodiscard]] Result<Amount> ParseAmount(std::string_view text, std::string_view unit);

}  // namespace reprise
