// ranks.json in and out.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/input_file.h"
#include "core/parse_json.h"
#include "et_schema/byte_stream.h"
#include "et_schema/rank_classes.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using RanksJson = nlohmann::ordered_json;

constexpr std::uint64_t kMaxRanksBytes = std::uint64_t{1} << 28;
// Roles with more groups are written by rule.
constexpr std::int64_t kMaxLists = 64;

Result<std::vector<RankRange>> ParseRanges(const RanksJson& list) {
  std::vector<RankRange> ranges;
  for (const RanksJson& text : list) {
    REPRISE_ASSIGN(ranges.emplace_back(), ParseRangeText(text.get<std::string>()));
  }
  return ranges;
}

RanksJson RangesJson(const std::vector<RankRange>& ranges) {
  RanksJson list = RanksJson::array();
  for (const RankRange& range : ranges) {
    list.push_back(RangeText(range));
  }
  return list;
}

Result<GroupRole> ParseRole(const std::string& name, const RanksJson& json) {
  GroupRole role{.role = name};
  if (json.is_object()) {
    role.mesh = json.at("mesh").get<std::vector<std::int64_t>>();
    role.axes = json.at("axes").get<std::vector<std::size_t>>();
    role.at = json.value("at", std::vector<std::int64_t>{});
    if (role.mesh.empty()) {
      return BadInput(fmt::format("groups \"{}\": an empty mesh", name));
    }
    return role;
  }
  for (const RanksJson& group : json) {
    REPRISE_ASSIGN(role.lists.emplace_back(), ParseRanges(group));
  }
  return role;
}

Result<RankClasses> Parse(const RanksJson& json) {
  if (json.value("format", "") != "reprise-ranks") {
    return BadInput("\"format\" is not \"reprise-ranks\"");
  }
  if (json.at("version").get<int>() != 1) {
    return BadInput(
        fmt::format("version {}; this Reprise reads version 1", json.at("version").get<int>()));
  }
  const auto world_size = json.at("world_size").get<std::int64_t>();
  if (world_size < 1 || !std::in_range<std::int32_t>(world_size)) {
    return BadInput(fmt::format("\"world_size\" is {}; expected 1 to {}", world_size,
                                std::numeric_limits<std::int32_t>::max()));
  }
  std::vector<RankClass> classes;
  for (const RanksJson& entry : json.at("classes")) {
    RankClass one{.file = entry.at("file").get<std::string>()};
    if (one.file.find('/') != std::string::npos || one.file.find(".class") == std::string::npos) {
      return BadInput(
          fmt::format("\"{}\": expected a file NAME.class<N>.et in the same directory", one.file));
    }
    REPRISE_ASSIGN(one.ranks, ParseRanges(entry.at("ranks")));
    classes.push_back(std::move(one));
  }
  std::vector<GroupRole> roles;
  const RanksJson descriptions = json.value("descriptions", RanksJson::object());
  for (const auto& [name, groups] : json.at("groups").items()) {
    REPRISE_ASSIGN(roles.emplace_back(), ParseRole(name, groups));
    roles.back().description = descriptions.value(name, name);
  }
  return RankClasses::Create(static_cast<std::int32_t>(world_size), std::move(classes),
                             std::move(roles));
}

}  // namespace

Result<RankRange> ParseRangeText(const std::string& text) {
  RankRange range;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::int32_t& to) {
    const auto [next, error] = std::from_chars(at, end, to);
    const bool ok = error == std::errc{} && to >= 0;
    at = next;
    return ok;
  };
  bool ok = number(range.first);
  range.last = range.first;
  if (ok && at != end && *at == '-') {
    ++at;
    ok = number(range.last) && range.last >= range.first;
    if (ok && at != end && *at == ':') {
      ++at;
      ok = number(range.stride) && range.stride >= 1;
    }
  }
  if (!ok || at != end) {
    return BadInput(fmt::format("\"{}\": expected ranks as in \"7\", \"0-7\" or \"0-56:8\"", text));
  }
  return range;
}

std::string RangeText(const RankRange& range) {
  if (range.first == range.last) {
    return std::to_string(range.first);
  }
  return range.stride == 1 ? fmt::format("{}-{}", range.first, range.last)
                           : fmt::format("{}-{}:{}", range.first, range.last, range.stride);
}

std::string RangesText(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const RankRange& range : RangesOf(numbers)) {
    text += (text.empty() ? "" : ", ") + RangeText(range);
  }
  return text;
}

bool RankClasses::Present(const std::string& directory) {
  std::error_code code;
  return fs::exists(fs::path(directory) / kRanksFile, code);
}

Result<RankClasses> RankClasses::Read(const std::string& directory) {
  const std::string path = (fs::path(directory) / kRanksFile).string();
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxRanksBytes));
  try {
    Result<RankClasses> classes = Parse(ParseJson<RanksJson>(text));
    if (!classes) {
      return BadInput(fmt::format("{}: {}", path, classes.error().message));
    }
    return classes;
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: {}", path, error.what()));
  }
}

Result<std::shared_ptr<const RankClasses>> RankClasses::ReadShared(const std::string& directory) {
  // Another file in its place is another file.
  using Identity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;
  static std::mutex mutex;
  static Identity read;
  static std::weak_ptr<const RankClasses> held;
  struct stat info {};
  const std::string path = (fs::path(directory) / kRanksFile).string();
  const bool found = ::stat(path.c_str(), &info) == 0;
  const Identity file{info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                      info.st_mtim.tv_nsec};
  const std::lock_guard lock(mutex);
  if (auto known = found && file == read ? held.lock() : nullptr) {
    return known;
  }
  REPRISE_ASSIGN(RankClasses classes, Read(directory));
  auto shared = std::make_shared<const RankClasses>(std::move(classes));
  held = shared;
  read = file;
  return shared;
}

Status RankClasses::Write(const std::string& directory) const {
  RanksJson json = {{"format", "reprise-ranks"}, {"version", 1}, {"world_size", world_size_}};
  json["classes"] = RanksJson::array();
  for (const RankClass& one : classes_) {
    json["classes"].push_back({{"file", one.file}, {"ranks", RangesJson(one.ranks)}});
  }
  json["groups"] = RanksJson::object();
  json["descriptions"] = RanksJson::object();
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const GroupRole& role = roles_[i];
    RanksJson& groups = json["groups"][role.role];
    if (role.mesh.empty() || index_[i].groups <= kMaxLists) {
      groups = RanksJson::array();
      for (std::int64_t group = 0; group < index_[i].groups; ++group) {
        groups.push_back(RangesJson(RangesOf(Members(i, group))));
      }
    } else {
      groups = {{"mesh", role.mesh}, {"axes", role.axes}};
      if (!role.at.empty()) {
        groups["at"] = role.at;
      }
    }
    json["descriptions"][role.role] = role.description;
  }
  const std::string path = (fs::path(directory) / kRanksFile).string();
  REPRISE_ASSIGN(const auto sink, ByteSink::Create(path));
  REPRISE_TRY(sink->Write(json.dump(1, ' ', false, RanksJson::error_handler_t::replace) + "\n"));
  return sink->Commit();
}

}  // namespace reprise
