#include "predict/rescale/rank_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace reprise {
namespace {

// By rank; 0 of ranks without a file.
std::vector<std::size_t> FilesByRank(const TraceSet& set, std::span<const SourceFile> files) {
  std::vector<std::size_t> file_of(static_cast<std::size_t>(set.world_size));
  if (set.classes) {
    for (std::int32_t rank = 0; rank < set.world_size; ++rank) {
      file_of[static_cast<std::size_t>(rank)] = set.classes->IndexOf(rank);
    }
    return file_of;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    file_of[static_cast<std::size_t>(files[i].rank)] = i;
  }
  return file_of;
}

// None: no replica has all its files.
std::optional<std::int64_t> MedianReplica(const TraceSet& set, const WidenedMesh& mesh,
                                          std::span<const SourceFile> files,
                                          const std::vector<std::size_t>& file_of) {
  std::map<std::int64_t, std::int64_t> step_ns;  // by replica, of all its ranks
  std::set<std::int64_t> incomplete;
  for (std::int32_t rank = 0; rank < set.world_size; ++rank) {
    const std::int64_t replica = mesh.before().PlaceOf(rank, mesh.axis());
    if (set.HasRank(rank)) {
      step_ns[replica] += files[file_of[static_cast<std::size_t>(rank)]].step_ns;
    } else {
      incomplete.insert(replica);
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const auto& [replica, ns] : step_ns) {
    if (!incomplete.contains(replica)) {
      steps.emplace_back(ns, replica);
    }
  }
  std::ranges::sort(steps);
  return steps.empty() ? std::nullopt : std::optional(steps[(steps.size() - 1) / 2].second);
}

Result<std::int32_t> PresentSourceOf(const TraceSet& set, const WidenedMesh& mesh,
                                     std::int32_t rank, const std::optional<std::int64_t>& only) {
  const std::int32_t source = mesh.SourceOf(rank, only);
  if (set.HasRank(source)) {
    return source;
  }
  for (std::int64_t replica = 0; replica < mesh.before().sizes[mesh.axis()]; ++replica) {
    if (const std::int32_t other = mesh.SourceOf(rank, replica); set.HasRank(other)) {
      return other;
    }
  }
  return BadInput(fmt::format("{}: {}; no data-parallel replica of rank {} has one either",
                              set.directory, set.MissingRanks(), source));
}

}  // namespace

Result<std::vector<RescaledClass>> ChooseSources(const TraceSet& set, const WidenedMesh& mesh,
                                                 std::span<const SourceFile> files, bool one_copy) {
  const std::vector<std::size_t> file_of = FilesByRank(set, files);
  const std::optional<std::int64_t> only =
      one_copy ? MedianReplica(set, mesh, files, file_of) : std::nullopt;
  std::vector<std::vector<std::int32_t>> ranks(files.size());
  for (std::int32_t rank = 0; rank < mesh.world_size(); ++rank) {
    REPRISE_ASSIGN(const std::int32_t source, PresentSourceOf(set, mesh, rank, only));
    ranks[file_of[static_cast<std::size_t>(source)]].push_back(rank);
  }
  std::vector<RescaledClass> classes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!ranks[i].empty()) {
      classes.push_back({i, std::move(ranks[i])});
    }
  }
  return classes;
}

}  // namespace reprise
