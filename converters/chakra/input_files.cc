#include "converters/chakra/input_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>

#include "converters/text_source.h"
#include "core/text.h"
#include "et_schema/foreign.h"

namespace reprise::chakra {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string name;
  std::int32_t rank = 0;
  std::string ending;
};

// "llama.12.et.gz" → llama, 12, "et".
std::optional<Named> ParseName(std::string_view file) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (file.ends_with(packed)) {
      file.remove_suffix(packed.size());
      break;
    }
  }
  const std::vector<std::string_view> parts = SplitText(file, '.');
  const std::string_view ending = parts.back();
  if (parts.size() < 3 || (ending != "et" && ending != "json")) {
    return std::nullopt;
  }
  const std::string_view number = parts[parts.size() - 2];
  const std::string_view name = file.substr(0, file.size() - ending.size() - number.size() - 2);
  const std::int32_t rank = ParseNumber<std::int32_t>(number).value_or(-1);
  return name.empty() || rank < 0
             ? std::nullopt
             : std::optional(Named{std::string(name), rank, std::string(ending)});
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// {"<id>": [<rank>…
bool LooksLikeGroups(const std::string& path) {
  constexpr std::size_t kHeadBytes = 4096;
  const std::string head = ReadHead(path, kHeadBytes);
  std::size_t at = 0;
  const auto take = [&](std::string_view any) {
    at = std::min(head.find_first_not_of(" \n\r\t", at), head.size());
    const bool found = at < head.size() && any.find(head[at]) != std::string_view::npos;
    at += found ? 1 : 0;
    return found;
  };
  if (!take("{") || !take("\"")) {
    return false;
  }
  at = std::min(head.find('"', at), head.size());
  return take("\"") && take(":") && take("[") && take("0123456789");
}

}  // namespace

Result<std::map<std::string, ProcessGroup>> GroupsBeside(const std::string& directory,
                                                         const std::string& name) {
  for (const std::string& file :
       {std::string(kGroupsFile), std::string("comm_group.json"), name + ".json"}) {
    const std::string path = (fs::path(directory) / file).string();
    std::error_code error;
    const bool own_name = file != name + ".json";
    if (fs::exists(fs::symlink_status(path, error)) && (own_name || LooksLikeGroups(path))) {
      return ReadGroups(directory, file);
    }
  }
  std::set<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json" && it->is_regular_file(error) &&
        LooksLikeGroups(it->path().string())) {
      others.insert(it->path().filename().string());
    }
  }
  if (others.size() > 1) {
    return BadInput(
        fmt::format("{}: several files list process groups ({}); call the one of this job {}",
                    directory, fmt::join(others, ", "), kGroupsFile));
  }
  return others.empty() ? std::map<std::string, ProcessGroup>()
                        : ReadGroups(directory, *others.begin());
}

Result<InputFiles> FindRanks(const std::string& directory) {
  InputFiles out;
  std::set<std::string> kinds;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const auto named = ParseName(it->path().filename().string());
    if (!named) {
      continue;
    }
    kinds.insert(fmt::format("{}.<rank>.{}", named->name, named->ending));
    out.name = named->name;
    const auto [known, fresh] = out.ranks.emplace(named->rank, it->path().string());
    if (!fresh) {
      return BadInput(fmt::format("{} and {}: two files for one rank; remove one", known->second,
                                  it->path().string()));
    }
  }
  if (error) {
    return BadInput(fmt::format("{}: cannot be listed: {}", directory, error.message()));
  }
  if (out.ranks.empty()) {
    return BadInput(fmt::format(
        "{}: no trace here: expected <name>.<rank>.et or <name>.<rank>.json, .gz and .zst too",
        directory));
  }
  if (kinds.size() > 1) {
    return BadInput(
        fmt::format("{}: several traces in it ({}); give a directory with one, or a single file",
                    directory, fmt::join(kinds, ", ")));
  }
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(out.ranks.size()); ++rank) {
    if (!out.ranks.contains(rank)) {
      return BadInput(fmt::format("{}: rank {} is missing (rank {} is there)", directory, rank,
                                  out.ranks.rbegin()->first));
    }
  }
  return out;
}

std::int32_t RankInName(const std::string& path) {
  const auto named = ParseName(fs::path(path).filename().string());
  return named ? named->rank : -1;
}

Form FormOf(const std::string& path) {
  constexpr std::size_t kHeadBytes = std::size_t{1} << 17;
  const std::string head = ReadHead(path, kHeadBytes);
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string::npos || (head[first] != '{' && head[first] != '[')) {
    return LooksLikeEt(path) ? Form::kEt : Form::kNone;
  }
  if (Has(head.substr(first, 64), "\"workload_graph\"")) {
    return Form::kJson;  // its attributes may be Reprise's
  }
  if (Has(head, "\"op_kind\"") || Has(head, "\"traceEvents\"")) {
    return Form::kNone;  // Reprise's own JSON, a Kineto trace
  }
  if (Has(head, "\"schema\"") && Has(head, "\"nodes\"")) {
    return Has(head, "\"exclusive_dur\"") || Has(head, "\"inclusive_dur\"") ? Form::kLinked
                                                                            : Form::kNone;
  }
  for (const std::string_view key :
       {"\"workload_graph\"", "\"dataDeps\"", "\"data_deps\"", "\"ctrlDeps\"", "\"durationMicros\"",
        "\"duration_micros\"", "_NODE\"", "\"int64Val\"", "\"attr\""}) {
    if (Has(head, key)) {
      return Form::kJson;
    }
  }
  return LooksLikeEt(path) ? Form::kEt : Form::kNone;  // a message may have 123 bytes
}

bool LooksLikeChakra(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return fs::is_regular_file(path, error) && FormOf(path) != Form::kNone;
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (ParseName(it->path().filename().string()) && FormOf(it->path().string()) != Form::kNone) {
      return true;
    }
  }
  return false;
}

}  // namespace reprise::chakra
