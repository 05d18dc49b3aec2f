#include "et_schema/groups.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "et_schema/byte_stream.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Nothing if there is no such file.
Result<std::optional<json>> ReadJson(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::error_code code;
    if (fs::exists(path, code)) {
      return BadInput(fmt::format("{}: cannot open", path));
    }
    return std::optional<json>();
  }
  try {
    return std::optional(json::parse(in));
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

}  // namespace

Result<std::map<std::string, ProcessGroup>> ReadGroups(const std::string& directory) {
  std::map<std::string, ProcessGroup> groups;
  const std::string path = (fs::path(directory) / kGroupsFile).string();
  REPRISE_ASSIGN(const std::optional<json> ranks, ReadJson(path));
  REPRISE_ASSIGN(const std::optional<json> info,
                 ReadJson((fs::path(directory) / kGroupsInfoFile).string()));
  if (!ranks) {
    return groups;
  }
  try {
    for (const auto& [id, list] : ranks->items()) {
      ProcessGroup& group = groups[id];
      group.id = id;
      group.ranks = list.get<std::vector<std::int32_t>>();
      if (info && info->contains(id)) {
        group.description = info->at(id).value("description", "");
      }
    }
  } catch (const json::exception& error) {
    return BadInput(fmt::format("{}: expected {{\"<group>\": [ranks…]}}: {}", path, error.what()));
  }
  return groups;
}

Status WriteGroups(const std::string& directory,
                   const std::map<std::string, ProcessGroup>& groups) {
  json ranks = json::object();
  json info = json::object();
  for (const auto& [id, group] : groups) {
    ranks[id] = group.ranks;
    info[id] = {{"description", group.description}};
  }
  REPRISE_TRY(WriteJsonFile((fs::path(directory) / kGroupsFile).string(), ranks));
  return WriteJsonFile((fs::path(directory) / kGroupsInfoFile).string(), info);
}

}  // namespace reprise
