// How many values the enums of a report have that have no table of names (core/stored_values.h).
// Only what stores them sees this.
#pragma once

#include <cstddef>

#include "core/stored_values.h"
#include "report/values/report.h"

namespace reprise {

template <>
inline constexpr std::size_t kValuesOf<CoverageBasis> = kCoverageBases;
template <>
inline constexpr std::size_t kValuesOf<TransferClock> = 3;
template <>
inline constexpr std::size_t kValuesOf<DifferenceRow::Kind> = 6;

}  // namespace reprise
