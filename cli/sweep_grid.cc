#include "cli/sweep_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxConfigurations = 1'000'000;

// Names and values as they stand, no key and no value twice.
Result<std::vector<SweepKey>> SplitSweepKeys(const std::vector<std::string>& texts) {
  std::vector<SweepKey> keys;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    SweepKey key{.name = text.substr(0, equals)};
    std::ranges::replace(key.name, '_', '-');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return UsageError(
          fmt::format("--sweep {}: expected KEY=VALUE,VALUE, as in tp=1,2,4,8", ShownText(text)));
    }
    if (std::ranges::any_of(keys, [&](const SweepKey& other) { return other.name == key.name; })) {
      return UsageError(fmt::format("--sweep: {} is given twice", ShownText(key.name)));
    }
    key.values = CLI::detail::split(text.substr(equals + 1), ',');
    std::vector<std::string> sorted = key.values;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      return UsageError(fmt::format("--sweep {}: a value is given twice", ShownText(text)));
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Configuration ValuesOf(const GridRow& row) {
  return {row.model, row.layout, row.setting, std::to_string(row.workload.micro_batch)};
}

std::size_t IndexOf(const std::vector<std::string>& texts, const std::string& text) {
  return static_cast<std::size_t>(std::ranges::find(texts, text) - texts.begin());
}

}  // namespace

Result<std::vector<SweepKey>> ParseSweepKeys(const std::vector<std::string>& texts) {
  REPRISE_ASSIGN(std::vector<SweepKey> keys, SplitSweepKeys(texts));
  for (const SweepKey& key : keys) {
    WorkloadFlags tried;
    for (const std::string& value : key.values) {
      if (const Status set = SetWorkloadOption(key.name, value, tried); !set) {
        return UsageError("--sweep: " + set.error().message);
      }
    }
  }
  return keys;
}

Result<GridSweep> RowsOfGrid(const Grid& grid, const std::vector<std::string>& chosen) {
  GridSweep sweep;
  const std::vector<std::string> names(kGridKeys.begin(), kGridKeys.end());
  for (const std::string& name : names) {
    sweep.keys.push_back({.name = name});
  }
  for (const GridRow& row : grid.rows) {
    const Configuration values = ValuesOf(row);
    for (std::size_t k = 0; k < names.size(); ++k) {
      std::vector<std::string>& known = sweep.keys[k].values;
      if (IndexOf(known, values[k]) == known.size()) {
        known.push_back(values[k]);
      }
    }
  }
  REPRISE_ASSIGN(const std::vector<SweepKey> wanted, SplitSweepKeys(chosen));
  for (const SweepKey& key : wanted) {
    const std::size_t k = IndexOf(names, key.name);
    if (k == names.size()) {
      return UsageError(fmt::format("--sweep: the grid has no key '{}'{}; it has {}",
                                    ShownText(key.name), DidYouMean(key.name, names),
                                    fmt::join(names, ", ")));
    }
    for (const std::string& value : key.values) {
      const std::vector<std::string>& known = sweep.keys[k].values;
      if (IndexOf(known, value) == known.size()) {
        return UsageError(fmt::format("--sweep {}: the grid has no '{}'{}; it has {}", key.name,
                                      ShownText(value), DidYouMean(value, known),
                                      fmt::join(known, ", ")));
      }
    }
    sweep.keys[k].values = key.values;
  }
  for (const GridRow& row : grid.rows) {
    Configuration values = ValuesOf(row);
    bool taken = true;
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::vector<std::string>& known = sweep.keys[k].values;
      taken = taken && IndexOf(known, values[k]) < known.size();
    }
    if (taken) {
      sweep.configurations.push_back(std::move(values));
      sweep.rows.push_back(&row);
    }
  }
  if (sweep.rows.empty()) {
    return UsageError("--sweep: no row of the grid has all of these values");
  }
  return sweep;
}

Result<std::vector<Configuration>> AllConfigurations(const std::vector<SweepKey>& keys) {
  std::size_t count = 1;
  for (const SweepKey& key : keys) {
    count *= key.values.size();
    if (count > kMaxConfigurations) {
      return UsageError(fmt::format("--sweep: more than {} configurations", kMaxConfigurations));
    }
  }
  std::vector<Configuration> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    all[i].resize(keys.size());
    for (std::size_t k = keys.size(); k-- > 0;) {
      all[i][k] = keys[k].values[rest % keys[k].values.size()];
      rest /= keys[k].values.size();
    }
  }
  return all;
}

std::string ConfigurationText(const std::vector<SweepKey>& keys,
                              const Configuration& configuration) {
  std::string text;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    text += fmt::format("{}{}={}", k > 0 ? " " : "", keys[k].name, configuration[k]);
  }
  return text;
}

}  // namespace reprise
