#include "et_schema/trace_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "core/checksums.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/text.h"
#include "et_schema/byte_stream.h"
#include "et_schema/folded_set.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct RankFile {
  std::string name;
  std::int32_t rank = 0;
};

// "gpt.12.et.zst" → gpt, 12.
std::optional<RankFile> ParseFileName(std::string_view file) {
  for (const std::string_view ending : {".et", ".et.gz", ".et.zst"}) {
    if (!file.ends_with(ending)) {
      continue;
    }
    const std::string_view stem = file.substr(0, file.size() - ending.size());
    const std::size_t dot = stem.rfind('.');
    if (dot == std::string_view::npos || dot == 0) {
      return std::nullopt;
    }
    const std::int32_t rank = ParseNumber<std::int32_t>(stem.substr(dot + 1)).value_or(-1);
    return rank < 0 ? std::nullopt
                    : std::optional(RankFile{std::string(stem.substr(0, dot)), rank});
  }
  return std::nullopt;
}

// Each rank under the path of the file that it would have.
Status OpenFoldedCapture(TraceSet& set) {
  if (!set.files.empty() || RankClasses::Present(set.directory)) {
    return BadInput(fmt::format("{}: {} beside {}: expected one or the other", set.directory,
                                set.files.empty() ? kRanksFile : set.files.begin()->second,
                                kFoldedFile));
  }
  REPRISE_ASSIGN(set.folded, FoldedSet::Read(set.directory));
  set.name = set.folded->name();
  set.files = set.folded->Files();
  return {};
}

Status OpenFolded(TraceSet& set) {
  REPRISE_ASSIGN(set.classes, RankClasses::ReadShared(set.directory));
  set.name = set.classes->SetName();
  set.world_size = set.classes->world_size();
  for (const RankClass& one : set.classes->classes()) {
    std::error_code code;
    if (!fs::exists(fs::path(set.directory) / one.file, code)) {
      return BadInput(
          fmt::format("{}: no {}, which {} names", set.directory, one.file, kRanksFile));
    }
  }
  if (!set.files.empty()) {
    return BadInput(fmt::format("{}: {} beside {}: expected files of ranks or of classes, not both",
                                set.directory, set.files.begin()->second, kRanksFile));
  }
  return {};
}

// The file on disk that holds a rank: its own, or its class's.
Result<std::string> FileOnDisk(const std::string& path) {
  REPRISE_ASSIGN(const std::optional<FoldedRank> folded, FindFoldedRank(path));
  return folded ? folded->file : path;
}

Status ListFiles(TraceSet& set) {
  std::error_code code;
  const fs::directory_iterator entries(set.directory, code);
  if (code) {
    return CannotList(set.directory, code);
  }
  std::set<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    const auto file = ParseFileName(entry.path().filename().string());
    if (!file) {
      continue;
    }
    names.insert(file->name);
    const auto [it, fresh] = set.files.emplace(file->rank, entry.path().string());
    if (!fresh && names.size() == 1) {
      return BadInput(fmt::format("{}: two files for rank {}: {} and {}", set.directory, file->rank,
                                  it->second, entry.path().string()));
    }
  }
  if (FoldedSet::Present(set.directory)) {
    return OpenFoldedCapture(set);
  }
  if (RankClasses::Present(set.directory)) {
    return OpenFolded(set);
  }
  if (names.empty()) {
    return BadInput(
        fmt::format("{}: no trace in it, expected <name>.<rank>.et[.gz|.zst]", set.directory));
  }
  if (names.size() > 1) {
    return BadInput(fmt::format("{}: several traces in it ({}), expected one", set.directory,
                                fmt::join(names, ", ")));
  }
  set.name = *names.begin();
  return {};
}

// Of the set that is to be opened, `directory` is the path of a file.
Status TakeFile(TraceSet& set) {
  const fs::path path = set.directory;
  const std::string file = path.filename().string();
  const RankFile parsed = ParseFileName(file).value_or(RankFile{file, -1});
  std::int32_t rank = parsed.rank;
  if (rank < 0) {
    REPRISE_ASSIGN(const auto reader, EtReader::Open(path.string()));
    rank = reader->metadata().rank;
  }
  set.name = parsed.name;
  set.files = {{rank, path.string()}};
  set.directory = path.has_parent_path() ? path.parent_path().string() : ".";
  return {};
}

// Ranks are 0 … world size − 1, where the files themselves say how many there were.
Status CheckRanks(TraceSet& set) {
  const std::string& first = set.files.begin()->second;
  REPRISE_ASSIGN(const auto reader, EtReader::Open(first));
  const std::int32_t last = set.files.rbegin()->first;
  for (const auto& [ranks, path] :
       {std::pair(std::int64_t{reader->metadata().world_size}, first),
        std::pair(std::int64_t{last} + 1, set.files.rbegin()->second)}) {
    if (ranks > 0 && static_cast<std::uint64_t>(ranks) > CurrentInputLimits().ranks) {
      return OverLimit(path, fmt::format("a set of {} ranks", ranks), "ranks");
    }
  }
  set.world_size = std::max(reader->metadata().world_size, last + 1);
  for (std::int32_t rank = 0; rank < set.world_size; ++rank) {
    if (!set.files.contains(rank)) {
      set.missing.push_back(rank);
    }
  }
  return {};
}

std::string RanksText(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMax = 16;
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMax));
  return fmt::format("[{}{}]", fmt::join(ranks.begin(), end, ", "),
                     ranks.size() > kMax ? ", .." : "");
}

// Files that were converted one by one carry their groups. One check decides: a set that was
// converted at once has none in its files, and they are many.
Status MergeGroups(TraceSet& set) {
  std::map<std::string, std::string> from;  // group → file
  for (const auto& [id, group] : set.groups) {
    from[id] = kGroupsFile;
  }
  for (const auto& [rank, path] : set.files) {
    REPRISE_ASSIGN(const auto reader, EtReader::Open(path));
    const std::vector<ProcessGroup>& groups = reader->metadata().groups;
    if (groups.empty() && !set.groups.empty() && rank == set.files.begin()->first) {
      return {};
    }
    for (const ProcessGroup& group : groups) {
      const auto [known, added] = set.groups.emplace(group.id, group);
      const std::string file = fs::path(path).filename().string();
      if (!added && known->second.ranks != group.ranks) {
        return BadInput(fmt::format(
            "{}: process group '{}' has ranks {} in {} and {} in {}: expected files of one job; "
            "convert the captures of all ranks again, together or one by one",
            set.directory, group.id, RanksText(known->second.ranks), from[group.id],
            RanksText(group.ranks), file));
      }
      from.try_emplace(group.id, file);
    }
  }
  return {};
}

}  // namespace

Result<TraceSet> TraceSet::Open(const std::string& directory) {
  REPRISE_ASSIGN(TraceSet set, OpenPresent(directory));
  if (!set.missing.empty()) {
    return BadInput(fmt::format("{}: {}", directory, set.MissingRanks()));
  }
  return set;
}

std::string TraceSet::MissingRanks() const {
  std::string list;
  for (std::size_t i = 0; i < missing.size();) {
    std::size_t last = i;
    while (last + 1 < missing.size() && missing[last + 1] == missing[last] + 1) {
      ++last;
    }
    list += fmt::format("{}{}", list.empty() ? "" : ", ", missing[i]);
    list += last > i ? fmt::format("-{}", missing[last]) : "";
    i = last + 1;
  }
  return list.empty() ? list
                      : fmt::format("no file of rank {} ({} ranks, expected {}.<rank>.et)", list,
                                    world_size, name);
}

Result<TraceSet> TraceSet::OpenPresent(const std::string& directory) {
  TraceSet set;
  set.directory = directory;
  std::error_code error;
  const bool one_file = fs::is_regular_file(directory, error);
  REPRISE_TRY(one_file ? TakeFile(set) : ListFiles(set));
  if (set.classes) {
    return set;
  }
  REPRISE_TRY(CheckRanks(set));
  if (one_file) {
    set.missing.clear();  // nobody asked for them
  }
  REPRISE_ASSIGN(set.groups, ReadGroups(set.directory));
  REPRISE_TRY(MergeGroups(set));
  for (const auto& [id, group] : set.groups) {
    for (const std::int32_t rank : group.ranks) {
      if (rank < 0 || rank >= set.world_size) {
        return BadInput(fmt::format("{}: group \"{}\" has rank {}, the trace has ranks 0 to {}",
                                    set.directory, id, rank, set.world_size - 1));
      }
    }
  }
  return set;
}

std::size_t TraceSet::RankCount() const {
  return classes ? static_cast<std::size_t>(world_size) : files.size();
}

bool TraceSet::HasRank(std::int32_t rank) const {
  return classes ? rank >= 0 && rank < world_size : files.contains(rank);
}

std::string TraceSet::RankPath(std::int32_t rank) const {
  return classes ? (fs::path(directory) / fmt::format("{}.{}.et", name, rank)).string()
                 : files.at(rank);
}

std::map<std::int32_t, std::string> TraceSet::RankPaths() const {
  std::map<std::int32_t, std::string> paths = files;
  for (std::int32_t rank = 0; classes && rank < world_size; ++rank) {
    paths.emplace_hint(paths.end(), rank, RankPath(rank));
  }
  return paths;
}

std::vector<std::int32_t> TraceSet::Ranks() const {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; classes && rank < world_size; ++rank) {
    ranks.push_back(rank);
  }
  for (const auto& [rank, path] : files) {
    ranks.push_back(rank);
  }
  return ranks;
}

std::optional<ProcessGroup> TraceSet::FindGroup(const std::string& id) const {
  if (classes) {
    return classes->GroupById(id);
  }
  const auto group = groups.find(id);
  return group == groups.end() ? std::nullopt : std::optional(group->second);
}

std::map<std::string, ProcessGroup> TraceSet::Groups() const {
  return classes ? classes->Groups() : groups;
}

std::map<std::string, ProcessGroup> TraceSet::GroupsOf(
    const std::vector<std::int32_t>& ranks) const {
  return classes && ranks.size() < RankCount() ? classes->GroupsOf(ranks) : Groups();
}

std::vector<TraceSet::DistinctRank> TraceSet::DistinctRanks() const {
  std::vector<DistinctRank> out;
  for (const auto& [rank, path] : files) {
    out.push_back({rank, path, path, 1});
  }
  for (const RankClass& one : classes ? classes->classes() : std::vector<RankClass>{}) {
    const std::int32_t rank = one.ranks.front().first;
    out.push_back({rank, RankPath(rank), (fs::path(directory) / one.file).string(), 0});
    for (const RankRange& range : one.ranks) {
      out.back().alike += range.size();
    }
  }
  std::ranges::sort(out, {}, &DistinctRank::rank);
  return out;
}

std::vector<std::string> TraceSet::RankFileNames() const {
  if (folded) {
    return folded->FileNames();
  }
  std::vector<std::string> names;
  for (const DistinctRank& one : DistinctRanks()) {
    names.push_back(fs::path(one.file).filename().string());
  }
  return names;
}

std::vector<std::string> TraceSet::FileNames() const {
  std::vector<std::string> names;
  for (const char* const name :
       {kGroupsFile, kGroupsInfoFile, kRanksFile, kJobFile, kRescaledFile, kTransformedFile}) {
    std::error_code code;
    if (fs::is_regular_file(fs::path(directory) / name, code)) {
      names.emplace_back(name);
    }
  }
  for (std::string& name : RankFileNames()) {
    names.push_back(std::move(name));
  }
  return names;
}

Status TraceSet::CheckRankByRank(std::string_view what, std::string_view way_out) const {
  if (!classes || RankCount() <= kMostRanksOneByOne) {
    return {};
  }
  return BadInput(fmt::format("{}: {}, and the folded set has {} of them in {} classes; {}",
                              directory, what, RankCount(), classes->classes().size(), way_out));
}

Status TraceSet::VerifyFile(std::int32_t rank) const {
  REPRISE_ASSIGN(const Checksums checksums, Checksums::Read(directory));
  const std::string path = RankPath(rank);
  std::error_code error;
  if (FoldedSet::Present(directory) && !fs::exists(path, error)) {
    // Whoever reads the rank compares its own checksum.
    REPRISE_TRY(checksums.Verify(kFoldedFile));
  } else {
    REPRISE_ASSIGN(const std::string file, FileOnDisk(path));
    REPRISE_TRY(checksums.Verify(fs::path(file).filename().string()));
  }
  for (const char* const name : {kGroupsFile, kGroupsInfoFile, kRanksFile}) {
    std::error_code code;
    if (checksums.sums().contains(name) || fs::exists(fs::path(directory) / name, code)) {
      REPRISE_TRY(checksums.Verify(name));
    }
  }
  return {};
}

Result<bool> TraceSet::Verify() const {
  REPRISE_ASSIGN(const Checksums checksums, Checksums::Read(directory));
  std::vector<std::string> names = RankFileNames();
  // Ranks may have been left out: TraceSet::Open says so where that matters.
  for (const auto& [name, sum] : checksums.sums()) {
    if (!IsEtFileName(name) && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  REPRISE_TRY(checksums.VerifyThese(names));
  return checksums.known();
}

}  // namespace reprise
