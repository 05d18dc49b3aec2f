#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/byte_stream.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// 100,000 ranks in 1,000 groups.
constexpr std::uint64_t kMaxGroupsBytes = std::uint64_t{1} << 30;

// An empty object if there is no such file.
Result<json> ReadJson(const std::string& path) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(path, code))) {
    return json::object();
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxGroupsBytes));
  try {
    return ParseJson<json>(text);
  } catch (const json::exception& error) {
    return BadInput(fmt::format("{}: {}", path, error.what()));
  }
}

Status WriteJsonFile(const std::string& path, const json& value) {
  constexpr int kIndent = 1;
  REPRISE_ASSIGN(const auto sink, ByteSink::Create(path));
  REPRISE_TRY(sink->Write(value.dump(kIndent, ' ', false, json::error_handler_t::replace) + "\n"));
  return sink->Commit();
}

// ASTRA-sim reads ids with stoi and insists on numbers above 0.
bool SimulatorTakes(const std::string& id) { return ParseNumber<std::int32_t>(id).value_or(0) > 0; }

}  // namespace

Result<std::map<std::string, ProcessGroup>> ReadGroups(const std::string& directory,
                                                       const std::string& file) {
  std::map<std::string, ProcessGroup> groups;
  const std::string path = (fs::path(directory) / file).string();
  const std::string info_path = (fs::path(directory) / kGroupsInfoFile).string();
  REPRISE_ASSIGN(const json ranks, ReadJson(path));
  REPRISE_ASSIGN(const json info, ReadJson(info_path));
  try {
    for (const auto& [id, list] : ranks.items()) {
      groups[id] = {.id = id, .ranks = list.get<std::vector<std::int32_t>>()};
    }
  } catch (const json::exception& error) {
    return BadInput(fmt::format("{}: expected {{\"<group>\": [ranks…]}}: {}", path, error.what()));
  }
  try {
    for (const auto& [id, facts] : info.items()) {
      if (facts.contains("ranks")) {
        groups[id] = {.id = id, .ranks = facts.at("ranks").get<std::vector<std::int32_t>>()};
      }
      if (const auto known = groups.find(id); known != groups.end()) {
        known->second.description = facts.value("description", "");
      }
    }
  } catch (const json::exception& error) {
    return BadInput(fmt::format("{}: expected {{\"<group>\": {{\"description\": …}}}}: {}",
                                info_path, error.what()));
  }
  return groups;
}

Status WriteGroups(const std::string& directory,
                   const std::map<std::string, ProcessGroup>& groups) {
  json ranks = json::object();
  json info = json::object();
  for (const auto& [id, group] : groups) {
    info[id] = {{"description", group.description}};
    (SimulatorTakes(id) ? ranks[id] : info[id]["ranks"]) = group.ranks;
  }
  REPRISE_TRY(WriteJsonFile((fs::path(directory) / kGroupsFile).string(), ranks));
  return WriteJsonFile((fs::path(directory) / kGroupsInfoFile).string(), info);
}

}  // namespace reprise
