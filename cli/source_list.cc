#include "cli/source_list.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/json_fields.h"
#include "telemetry/sampler.h"

namespace reprise {
namespace {

// One row for a metric of many devices.
Json MetricsOf(const Sampler& sampler, std::string_view source) {
  Json rows = Json::array();
  for (const Metric& metric : sampler.metrics()) {
    if (metric.source != source) {
      continue;
    }
    Json* same = nullptr;
    for (Json& row : rows) {
      if (row["name"] == metric.name && row["unit"] == metric.unit && row["help"] == metric.help) {
        same = &row;
      }
    }
    if (same == nullptr) {
      same = &rows.emplace_back();
      REPRISE_ADD_FIELDS(*same, metric, name, unit, kind)
      (*same)["devices"] = Json::array();
      REPRISE_ADD_FIELDS(*same, metric, modelled, states, help)
    }
    (*same)["devices"].push_back(metric.device);
  }
  return rows;
}

Json DevicesOf(const Sampler& sampler, std::string_view source) {
  Json rows = Json::array();
  for (const MeteredDevice& device : sampler.devices()) {
    if (device.source == source) {
      REPRISE_ADD_FIELDS(rows.emplace_back(), device, device, name, uuid, pci_bus_id)
    }
  }
  return rows;
}

// "cpu-0 … cpu-15 (16)" where they are many.
std::string DevicesText(const Json& devices) {
  if (devices.size() > 2) {
    return fmt::format("{} … {} ({})", devices.front().get<std::string>(),
                       devices.back().get<std::string>(), devices.size());
  }
  std::string text;
  for (const Json& device : devices) {
    text += (text.empty() ? "" : " ") + device.get<std::string>();
  }
  return text;
}

}  // namespace

nlohmann::ordered_json ListSources(const SourceOptions& options) {
  const auto sampler = Sampler::Open({.sources = options});
  Json rows = Json::array();
  for (const SourceKind& kind : BuiltinSources()) {
    std::string here = "available";
    for (const auto& [name, why] : sampler->unavailable()) {
      here = name == kind.name ? why : here;
    }
    rows.push_back({{"name", kind.name},
                    {"help", kind.help},
                    {"here", here},
                    {"devices", DevicesOf(*sampler, kind.name)},
                    {"metrics", MetricsOf(*sampler, kind.name)}});
  }
  return rows;
}

void PrintSources(const nlohmann::ordered_json& rows) {
  for (const Json& row : rows) {
    fmt::print("{:<12} {}\n{:<12} {}\n", row["name"].get<std::string>(),
               row["help"].get<std::string>(), "", row["here"].get<std::string>());
    for (const Json& device : row["devices"]) {
      fmt::print("    {}  {}  {}\n", device["device"].get<std::string>(),
                 device["name"].get<std::string>(), device["uuid"].get<std::string>());
    }
    for (const Json& metric : row["metrics"]) {
      const auto states = metric["states"].get<std::string>();
      fmt::print("    {:<22} {:<9} {:<8} {:<16} {}{}\n", metric["name"].get<std::string>(),
                 metric["unit"].get<std::string>(), metric["kind"].get<std::string>(),
                 DevicesText(metric["devices"]), metric["help"].get<std::string>(),
                 states.empty() ? "" : " (" + states + ")");
    }
  }
}

}  // namespace reprise
