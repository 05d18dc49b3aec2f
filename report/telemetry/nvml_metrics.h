// What is read of each NVIDIA GPU, and how.
#pragma once

#include <cstdint>
#include <span>

#include "core/metrics.h"
#include "report/telemetry/nvml_api.h"

namespace reprise::nvml {

// One metric. It is read as a field where the GPU has that, since many fields take one call, else
// by the call.
struct MetricSpec {
  const char* name;
  const char* unit;
  MetricKind kind;
  double scale;  // unit per raw count
  Field field;
  unsigned scope;
  Return (*call)(const Api&, Device, double* raw);  // null: only the field
  const char* help;
  const char* states = "";
  std::uint64_t range = 0;  // at which a counter wraps, where that is known
};
[[nodiscard]] std::span<const MetricSpec> MetricSpecs();

// The number in a field that was read successfully, whatever its type.
[[nodiscard]] double RawValue(const FieldValue& field);
// The GPU will not have it later either: to be left out rather than to fail at each reading.
[[nodiscard]] bool IsUnsupported(Return result);

}  // namespace reprise::nvml
