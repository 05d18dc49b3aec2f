#include "cli/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest.h"
#include "core/shown_text.h"

namespace reprise {

Result<std::vector<SweepKey>> ParseSweepKeys(const std::vector<std::string>& texts) {
  std::vector<SweepKey> keys;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    SweepKey key{.name = text.substr(0, equals)};
    std::replace(key.name.begin(), key.name.end(), '_', '-');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return UsageError(
          fmt::format("--sweep {}: expected KEY=VALUE,VALUE, as in tp=1,2,4,8", ShownText(text)));
    }
    if (std::any_of(keys.begin(), keys.end(),
                    [&](const SweepKey& other) { return other.name == key.name; })) {
      return UsageError(fmt::format("--sweep: {} is given twice", ShownText(key.name)));
    }
    key.values = CLI::detail::split(text.substr(equals + 1), ',');
    WorkloadFlags tried;
    for (const std::string& value : key.values) {
      if (const Status set = SetWorkloadOption(key.name, value, tried); !set) {
        return UsageError("--sweep: " + set.error().message);
      }
    }
    std::vector<std::string> sorted = key.values;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return UsageError(fmt::format("--sweep {}: a value is given twice", ShownText(text)));
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::vector<Configuration>> AllConfigurations(const std::vector<SweepKey>& keys) {
  std::size_t count = 1;
  for (const SweepKey& key : keys) {
    count *= key.values.size();
    if (count > kMostConfigurations) {
      return UsageError(fmt::format("--sweep: more than {} configurations", kMostConfigurations));
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
