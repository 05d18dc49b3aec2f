// One source by name, and its values by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "telemetry/source.h"

namespace reprise {

inline SourceKind::Opened OpenSource(std::string_view name, const SourceOptions& options) {
  for (const SourceKind& kind : BuiltinSources()) {
    if (kind.name == name) {
      return kind.open(options);
    }
  }
  return {nullptr, "no such source"};
}

// "metric of device" → value.
inline std::map<std::string, double> ReadAll(Source& source) {
  std::vector<double> values(source.metrics().size());
  source.Read(values);
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    named[source.metrics()[i].name + " of " + source.metrics()[i].device] = values[i];
  }
  return named;
}

}  // namespace reprise
