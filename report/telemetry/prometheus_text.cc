#include "report/telemetry/prometheus_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "core/shown_text.h"

namespace reprise {
namespace {

std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : ShownLines(text)) {
    if (c == '\n') {  // the format's own escape
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string FamilyName(const Metric& metric) {
  std::string unit = metric.unit == "count" ? "" : metric.unit;
  if (unit == "fraction") {
    unit = "ratio";
  }
  std::string name = "reprise_" + metric.name;
  if (!unit.empty() && !name.ends_with("_" + unit)) {
    name += "_" + unit;
  }
  for (char& c : name) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    c = legal ? c : '_';
  }
  return name + (IsTotal(metric.kind) ? "_total" : "");
}

std::string Labels(const Metric& metric, const std::string& host, std::string_view state) {
  std::string labels =
      fmt::format("device=\"{}\",host=\"{}\",source=\"{}\"", Escaped(metric.device, true),
                  Escaped(host, true), Escaped(metric.source, true));
  if (metric.modelled) {
    labels += ",modelled=\"true\"";
  }
  return state.empty() ? labels : labels + fmt::format(",state=\"{}\"", Escaped(state, true));
}

std::string Lines(const std::string& family, const Metric& metric, double value,
                  const std::string& host) {
  if (metric.kind != MetricKind::kState) {
    return fmt::format("{}{{{}}} {}\n", family, Labels(metric, host, {}), value);
  }
  std::string text;
  auto bits = static_cast<std::uint64_t>(value);
  for (const std::string_view state : StateNames(metric.states)) {
    if (!state.empty()) {
      text += fmt::format("{}{{{}}} {}\n", family, Labels(metric, host, state), bits & 1);
    }
    bits >>= 1;
  }
  return text;
}

}  // namespace

std::string PrometheusText(std::span<const Metric> metrics, const RecentSamples& recent,
                           const std::string& host) {
  // All lines of a family stand together below its help and type.
  std::map<std::string, std::string> families;
  for (const Metric& metric : metrics) {
    const auto last = recent.Last(metric.id);
    if (!last) {
      continue;
    }
    const std::string name = FamilyName(metric);
    std::string& text = families[name];
    if (text.empty()) {
      text = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, Escaped(metric.help, false),
                         IsTotal(metric.kind) ? "counter" : "gauge");
    }
    text += Lines(name, metric, last->value, host);
  }
  std::string text;
  for (const auto& [unused, family] : families) {
    text += family;
  }
  return text;
}

}  // namespace reprise
