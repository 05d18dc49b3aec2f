#include "predict/machine/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "core/nearest.h"

namespace reprise {
namespace {

struct KnownUnit {
  std::string_view name;
  Dimension dimension;
  double factor;
};
// Prefixes are decimal; KiB and its like are binary. b: bits, B: bytes.
constexpr KnownUnit kUnits[] = {
    {"FLOP/s", Dimension::kRate, 1},
    {"GFLOP/s", Dimension::kRate, 1e9},
    {"TFLOP/s", Dimension::kRate, 1e12},
    {"PFLOP/s", Dimension::kRate, 1e15},
    {"B", Dimension::kBytes, 1},
    {"kB", Dimension::kBytes, 1e3},
    {"MB", Dimension::kBytes, 1e6},
    {"GB", Dimension::kBytes, 1e9},
    {"TB", Dimension::kBytes, 1e12},
    {"KiB", Dimension::kBytes, 1024.0},
    {"MiB", Dimension::kBytes, 1048576.0},
    {"GiB", Dimension::kBytes, 1073741824.0},
    {"B/s", Dimension::kBandwidth, 1},
    {"MB/s", Dimension::kBandwidth, 1e6},
    {"GB/s", Dimension::kBandwidth, 1e9},
    {"TB/s", Dimension::kBandwidth, 1e12},
    {"Mb/s", Dimension::kBandwidth, 1.25e5},
    {"Gb/s", Dimension::kBandwidth, 1.25e8},
    {"Tb/s", Dimension::kBandwidth, 1.25e11},
    {"ns", Dimension::kTime, 1},
    {"us", Dimension::kTime, 1e3},
    {"ms", Dimension::kTime, 1e6},
    {"s", Dimension::kTime, 1e9},
    {"W", Dimension::kPower, 1},
    {"kW", Dimension::kPower, 1e3},
    {"1", Dimension::kRatio, 1},
    {"%", Dimension::kRatio, 0.01},
    {"1", Dimension::kCount, 1},
    {"J/FLOP", Dimension::kFlopEnergy, 1},
    {"pJ/FLOP", Dimension::kFlopEnergy, 1e-12},
    {"J/B", Dimension::kByteEnergy, 1},
    {"nJ/B", Dimension::kByteEnergy, 1e-9},
    {"pJ/B", Dimension::kByteEnergy, 1e-12},
    {"pJ/bit", Dimension::kByteEnergy, 8e-12},
    {"Hz", Dimension::kClock, 1},
    {"MHz", Dimension::kClock, 1e6},
    {"GHz", Dimension::kClock, 1e9},
    {"C", Dimension::kTemperature, 1},
    {"K/W", Dimension::kThermalResistance, 1},
    {"J/K", Dimension::kThermalCapacity, 1},
    {"kJ/K", Dimension::kThermalCapacity, 1e3},
};

}  // namespace

Result<double> UnitFactor(std::string_view unit, Dimension dimension) {
  std::vector<std::string_view> names;
  for (const KnownUnit& known : kUnits) {
    if (known.dimension != dimension) {
      continue;
    }
    if (known.name == unit) {
      return known.factor;
    }
    names.push_back(known.name);
  }
  // Case matters in units (Gb/s, GB/s), so that the list says more than the nearest name.
  return BadInput(fmt::format("'{}' is no unit of {}; expected {}", unit, Name(dimension),
                              fmt::join(names, ", ")));
}

std::string_view BaseUnit(Dimension dimension) {
  for (const KnownUnit& known : kUnits) {
    if (known.dimension == dimension && known.factor == 1) {
      return known.name;
    }
  }
  return "1";
}

Result<Amount> ParseAmount(std::string_view text, std::string_view unit) {
  Amount amount;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, amount.value);
  if (error != std::errc() || !std::isfinite(amount.value)) {
    return BadInput(fmt::format("'{}' is no number; expected one, with or without a unit: {}{}",
                                text, 1.5, unit == "1" ? "" : unit));
  }
  const char* at = after;
  while (at != end && *at == ' ') {
    ++at;
  }
  amount.unit = at == end ? std::string(unit) : std::string(at, end);
  return amount;
}

}  // namespace reprise
