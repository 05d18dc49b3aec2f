// One source by name, and its values by name.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "report/telemetry/source.h"

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

// A source that reads one library.
inline SourceKind::Opened OpenLibrarySource(std::string_view source, const std::string& library) {
  return OpenSource(source, {.libraries = {{std::string(source), library}}});
}

// The values of its only device, by metric.
inline std::map<std::string, double> ReadOne(Source& source) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : ReadAll(source)) {
    values[name.substr(0, name.find(' '))] = value;
  }
  return values;
}

// Null if there is none of that name.
inline const Metric* FindMetric(const Source& source, const std::string& name) {
  for (const Metric& metric : source.metrics()) {
    if (metric.name == name) {
      return &metric;
    }
  }
  return nullptr;
}

inline void ExpectValues(const std::map<std::string, double>& values,
                         const std::map<std::string, double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(values.contains(name)) << name;
    EXPECT_DOUBLE_EQ(values.at(name), value) << name;
  }
}

}  // namespace reprise
