// The configurations of a sweep: all combinations of the values of its keys.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cli/workload_flags.h"
#include "core/result.h"
#include "workload/job/grid.h"

namespace reprise {

struct SweepKey {
  std::string name;
  std::vector<std::string> values;
};
// "tp=1,2,4,8". Usage error: no such key, a key twice, a value that is none of its kind.
[[nodiscard]] Result<std::vector<SweepKey>> ParseSweepKeys(const std::vector<std::string>& texts);

// By key its value; the last key varies fastest. Usage error: too many.
using Configuration = std::vector<std::string>;
[[nodiscard]] Result<std::vector<Configuration>> AllConfigurations(
    const std::vector<SweepKey>& keys);

// A grid's rows as configurations of these.
inline constexpr std::array kGridKeys = {"model", "layout", "setting", "micro-batch"};
struct GridSweep {
  std::vector<SweepKey> keys;
  std::vector<Configuration> configurations;
  std::vector<const GridRow*> rows;  // of the grid, by configuration
};
// `chosen`: "setting=base,cc" leaves the rows with these values. Usage error: no such key or value
// (with the nearest), no row left. The grid must outlive the result.
[[nodiscard]] Result<GridSweep> RowsOfGrid(const Grid& grid,
                                           const std::vector<std::string>& chosen);

// "tp=1 pp=2".
[[nodiscard]] std::string ConfigurationText(const std::vector<SweepKey>& keys,
                                            const Configuration& configuration);

}  // namespace reprise
