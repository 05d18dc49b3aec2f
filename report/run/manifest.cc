#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/temporary_output.h"
#include "report/run/run.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

// One list of keys serves writing and reading: Visit(key, member) for each.
template <typename Manifest, typename Visitor>
void VisitFields(Manifest& manifest, const Visitor& visit) {
#define REPRISE_VISIT(field) visit(#field, manifest.field);
  NLOHMANN_JSON_EXPAND(
      NLOHMANN_JSON_PASTE(REPRISE_VISIT, format, reprise_version, command, trace_path, trace_name,
                          trace_hash, started_at, world_size, iterations, warmup, options, versions,
                          hosts, devices, oversubscribed, complete, provenance, recorded_step_ns))
#undef REPRISE_VISIT
}

// What Provenance::kNone makes of the values of the keys that kProvenanceFields lists.
void LeaveOut(const std::string& key, std::string& value) {
  if (const ProvenanceField* field = FindProvenanceField("manifest.json", key)) {
    value = WithoutProvenance(field->rule, value, "");
  }
}
void LeaveOut(const std::string& key, std::vector<std::string>& by_rank) {
  if (FindProvenanceField("manifest.json", key) != nullptr) {
    std::map<std::string, int> numbers;
    for (std::string& host : by_rank) {
      const int next = static_cast<int>(numbers.size());
      host = NumberedHostName(numbers.try_emplace(host, next).first->second);
    }
  }
}
void LeaveOut(const std::string& key, std::map<std::string, std::string>& values) {
  for (auto& [name, value] : values) {
    LeaveOut(fmt::format("{}.{}", key, name), value);
  }
}
template <typename Number>
void LeaveOut(const std::string& /*key*/, Number& /*value*/) {}

}  // namespace

Status WriteManifest(const std::string& directory, const RunManifest& full) {
  RunManifest manifest = full;
  if (manifest.provenance == Name(Provenance::kNone)) {
    VisitFields(manifest, [](const char* key, auto& value) { LeaveOut(key, value); });
  }
  Json json;
  VisitFields(manifest, [&json](const char* key, const auto& value) { json[key] = value; });
  // Unknown is null in JSON, -1 in memory.
  json["untraced_step_ns"] = nullptr;
  if (manifest.untraced_step_ns >= 0) {
    json["untraced_step_ns"] = manifest.untraced_step_ns;
  }
  // Names of hosts or files need not be UTF-8; replacing beats refusing to write the run.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::string path = ManifestPath(directory);
  REPRISE_ASSIGN(TemporaryOutput draft, TemporaryOutput::File(path));
  std::FILE* file = fdopen(draft.TakeDescriptor().Release(), "w");
  if (file == nullptr) {
    return EnvironmentError(path +
                            ": cannot be written: " + std::generic_category().message(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (std::fclose(file) != 0 || !written) {
    return EnvironmentError(path + ": could not be written completely (disk full?)");
  }
  return draft.Publish();
}

Result<RunManifest> ReadManifest(const std::string& directory) {
  const std::string path = ManifestPath(directory);
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path));
  const Json json = ParseJson<Json>(text, /*throws=*/false);
  if (!json.is_object()) {
    return BadInput(path + ": not a JSON object; the manifest is damaged");
  }
  RunManifest manifest;
  const char* current = "";
  try {
    VisitFields(manifest, [&](const char* key, auto& value) {
      current = key;
      if (json.contains(key)) {
        json.at(key).get_to(value);
      }
    });
    current = "untraced_step_ns";
    if (json.contains(current) && !json.at(current).is_null()) {
      json.at(current).get_to(manifest.untraced_step_ns);
    }
  } catch (const nlohmann::json::exception&) {
    return BadInput(path + ": key '" + current + "' has the wrong type");
  }
  if (manifest.format != RunManifest().format) {
    return BadInput(path + ": format is '" + manifest.format + "', this program reads '" +
                    RunManifest().format + "'");
  }
  if (manifest.world_size < 1 || manifest.world_size > kMaxRanks) {
    return BadInput(path + ": world_size is out of range");
  }
  return manifest;
}

}  // namespace reprise
