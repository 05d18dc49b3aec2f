#include "et_schema/trace_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/parallel.h"
#include "core/stored_values.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

using TransfersByRole = std::map<std::string, std::uint64_t>;

// Sums over the ranks of one file.
class RankSums {
 public:
  RankSums(TraceStats& stats, std::int64_t alike, const RankClasses* classes)
      : stats_(stats),
        alike_(alike),
        times_(static_cast<std::uint64_t>(alike)),
        classes_(classes) {}

  Status Add(const std::string& path) {
    REPRISE_ASSIGN(const Graph graph, Graph::Load(path));
    TraceStats::RankRow rank{.file = path, .alike = alike_, .metadata = graph.metadata()};
    rank.nodes = graph.size();
    rank.memory_bytes = graph.MemoryBytes();
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      stats_.types[graph.type(i)] += times_;
      for (TraceStats::ClassRow* row :
           {&stats_.kinds[graph.kind(i)], &stats_.classes[graph.op_class(i)]}) {
        row->nodes += times_;
        row->duration_ns += graph.duration_ns(i) * alike_;
      }
      for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
        TraceStats::ReasonRow& row = stats_.reasons[graph.reasons(i)[d]];
        row.edges += times_;
        row.inferred += graph.inferred(i, d) ? times_ : 0;
      }
      rank.edges += graph.deps(i).size();
      if (const CommSpec* spec = graph.comm(i)) {
        AddTransfer(graph, i, *spec);
      }
      if (IsStorage(graph.type(i))) {
        AddStorage(graph, i);
      }
    }
    stats_.nodes += rank.nodes * times_;
    stats_.edges += rank.edges * times_;
    for (const auto& [name, count] : graph.metadata().diagnostics) {
      stats_.converter[name] += count * times_;
    }
    for (const auto& [name, counter] : graph.diagnostics().Snapshot()) {
      Diagnostics::Counter& total = stats_.reader[name];
      total.count += counter.count;
      total.examples.insert(total.examples.end(), counter.examples.begin(), counter.examples.end());
    }
    stats_.ranks.push_back(std::move(rank));
    return {};
  }

  // By role, of one rank.
  [[nodiscard]] const TransfersByRole& by_role() const { return by_role_; }

 private:
  void AddTransfer(const Graph& graph, Graph::Index i, const CommSpec& spec) {
    TraceStats::TransferRow& row = stats_.transfers[spec.kind];
    row.count += times_;
    row.of_unknown_size += spec.bytes_known ? 0 : times_;
    row.in_bytes += spec.in_bytes * alike_;
    row.out_bytes += spec.out_bytes * alike_;
    row.duration_ns += graph.duration_ns(i) * alike_;
    if (graph.transfer_ns(i) >= 0) {
      row.transfer_ns += graph.transfer_ns(i) * alike_;
    } else {
      row.unmatched += times_;
    }
    stats_.certainty[spec.certainty] += times_;
    if (classes_ != nullptr) {
      ++by_role_[std::string(classes_->RoleOf(spec.group))];
      return;
    }
    TraceStats::GroupRow& group = stats_.groups[spec.group];
    group.group.id = spec.group;
    ++group.transfers;
  }

  void AddStorage(const Graph& graph, Graph::Index i) {
    const StorageWork* work = graph.storage(i);
    std::string name(Name(graph.type(i)));
    name += work == nullptr ? "" : " " + OperationName(*work);
    TraceStats::StorageRow& row = stats_.storage[name];
    const std::int64_t bytes = work == nullptr ? -1 : OperationBytes(*work);
    row.nodes += times_;
    row.of_unknown_size += bytes < 0 ? times_ : 0;
    row.bytes += std::max<std::int64_t>(bytes, 0) * alike_;
    row.duration_ns += graph.duration_ns(i) * alike_;
  }

  TraceStats& stats_;
  std::int64_t alike_;
  std::uint64_t times_;
  const RankClasses* classes_;
  TransfersByRole by_role_;
};

struct RankPiece {
  TraceStats stats;  // without ranges: they are in the metadata
  TransfersByRole by_role;
};

// visit(member) of all that a rank adds.
template <typename Piece, typename Visit>
void VisitPiece(Piece& piece, Visit& visit) {
  auto& stats = piece.stats;
  visit(stats.ranks);
  visit(stats.nodes);
  visit(stats.edges);
  visit(stats.types);
  visit(stats.kinds);
  visit(stats.classes);
  visit(stats.reasons);
  visit(stats.transfers);
  visit(stats.storage);
  visit(stats.certainty);
  visit(stats.groups);
  visit(stats.converter);
  visit(stats.reader);
  visit(piece.by_role);
}

void AddTo(std::uint64_t& sum, std::uint64_t more) { sum += more; }

void AddTo(TraceStats::ClassRow& sum, const TraceStats::ClassRow& more) {
  sum.nodes += more.nodes;
  sum.duration_ns += more.duration_ns;
}

void AddTo(TraceStats::ReasonRow& sum, const TraceStats::ReasonRow& more) {
  sum.edges += more.edges;
  sum.inferred += more.inferred;
}

void AddTo(TraceStats::TransferRow& sum, const TraceStats::TransferRow& more) {
  sum.count += more.count;
  sum.unmatched += more.unmatched;
  sum.of_unknown_size += more.of_unknown_size;
  sum.in_bytes += more.in_bytes;
  sum.out_bytes += more.out_bytes;
  sum.duration_ns += more.duration_ns;
  sum.transfer_ns += more.transfer_ns;
}

void AddTo(TraceStats::StorageRow& sum, const TraceStats::StorageRow& more) {
  sum.nodes += more.nodes;
  sum.of_unknown_size += more.of_unknown_size;
  sum.bytes += more.bytes;
  sum.duration_ns += more.duration_ns;
}

void AddTo(TraceStats::GroupRow& sum, const TraceStats::GroupRow& more) {
  sum.group.id = more.group.id;
  sum.transfers += more.transfers;
}

void AddTo(Diagnostics::Counter& sum, const Diagnostics::Counter& more) {
  sum.count += more.count;
  sum.examples.insert(sum.examples.end(), more.examples.begin(), more.examples.end());
}

template <typename Key, typename Row>
void AddTo(std::map<Key, Row>& sums, const std::map<Key, Row>& more) {
  for (const auto& [key, row] : more) {
    AddTo(sums[key], row);
  }
}

// What one rank adds.
void AddRank(TraceStats&& rank, TraceStats& stats) {
  for (TraceStats::RankRow& row : rank.ranks) {
    stats.ranges.Add(row.metadata);
    stats.ranks.push_back(std::move(row));
  }
  stats.nodes += rank.nodes;
  stats.edges += rank.edges;
  AddTo(stats.types, rank.types);
  AddTo(stats.kinds, rank.kinds);
  AddTo(stats.classes, rank.classes);
  AddTo(stats.reasons, rank.reasons);
  AddTo(stats.transfers, rank.transfers);
  AddTo(stats.storage, rank.storage);
  AddTo(stats.certainty, rank.certainty);
  AddTo(stats.groups, rank.groups);
  AddTo(stats.converter, rank.converter);
  AddTo(stats.reader, rank.reader);
}

// Each role gets the transfers of its members, which their classes' files have.
void AddRoles(const RankClasses& classes, const std::vector<TransfersByRole>& by_class,
              TraceStats& stats) {
  for (std::size_t number = 0; number < classes.roles().size(); ++number) {
    const GroupRole& role = classes.roles()[number];
    std::vector<std::uint64_t> of_class;
    for (const TransfersByRole& counts : by_class) {
      const auto at = counts.find(role.role);
      of_class.push_back(at == counts.end() ? 0 : at->second);
    }
    TraceStats::RoleRow row{.description = role.description};
    for (std::int64_t group = 0; group < classes.GroupCount(number); ++group) {
      const auto members = static_cast<std::size_t>(classes.GroupSize(number, group));
      row.least_ranks = row.groups == 0 ? members : std::min(row.least_ranks, members);
      row.most_ranks = std::max(row.most_ranks, members);
      ++row.groups;
    }
    for (std::int32_t rank = 0; rank < classes.world_size(); ++rank) {
      row.transfers += classes.IsMember(number, rank) ? of_class[classes.IndexOf(rank)] : 0;
    }
    stats.group_count += row.groups;
    if (row.groups > 0) {
      stats.roles[role.role] = std::move(row);
    }
  }
}

void AddGroups(const RankClasses& classes, const std::vector<TransfersByRole>& by_class,
               TraceStats& stats) {
  std::map<std::string, ProcessGroup> groups = classes.Groups();
  for (auto& [id, group] : groups) {
    TraceStats::GroupRow& row = stats.groups[id];
    row.group = std::move(group);
    const std::string_view role = classes.RoleOf(id);
    for (const std::int32_t rank : row.group.ranks) {
      const TransfersByRole& counts = by_class[classes.IndexOf(rank)];
      const auto at = counts.find(std::string(role));
      row.transfers += at == counts.end() ? 0 : at->second;
    }
  }
}

// Of all ranks, in order; where processes share them, the first has those of others.
Result<std::vector<RankPiece>> CollectPieces(const TraceSet& set,
                                             const std::vector<TraceSet::DistinctRank>& ranks,
                                             Processes& processes) {
  std::vector<RankPiece> pieces(ranks.size());
  std::vector<std::string> told(ranks.size());
  const ItemRange own = OwnShare(processes, ranks.size());
  std::vector<Status> outcomes(own.size());
  ForEachInParallel(own.size(), [&](std::size_t i) {
    RankPiece& piece = pieces[own.begin + i];
    RankSums sums(piece.stats, ranks[own.begin + i].alike, set.classes.get());
    outcomes[i] = sums.Add(ranks[own.begin + i].path);
    piece.by_role = sums.by_role();
    if (processes.count() > 1) {
      ValueWriter write(told[own.begin + i]);
      VisitPiece(piece, write);
    }
  });
  const auto failed = std::ranges::find_if(outcomes, [](const Status& of) { return !of; });
  REPRISE_TRY(CompleteShares(processes, failed == outcomes.end() ? Status() : *failed, told));
  for (std::size_t i = 0; processes.first() && i < ranks.size(); ++i) {
    if (i < own.begin || i >= own.end) {
      ValueReader read(told[i], TextsRead::kAsWritten);
      VisitPiece(pieces[i], read);
      if (!read.AtEnd()) {
        return EnvironmentError(fmt::format(
            "{}: what another process of the job read of it cannot be understood", ranks[i].path));
      }
    }
  }
  return pieces;
}

}  // namespace

Result<TraceStats> CollectTraceStats(const std::string& path, Processes& processes) {
  TraceStats stats;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    if (processes.first()) {
      TraceStats file;
      REPRISE_TRY(RankSums(file, 1, nullptr).Add(path));
      AddRank(std::move(file), stats);
      stats.group_count = stats.groups.size();
    }
    return stats;
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
  if (processes.first()) {
    REPRISE_TRY(set.Verify());
  }
  stats.missing_ranks = set.MissingRanks();
  for (const auto& [id, group] : set.groups) {
    stats.groups[id].group = group;
  }
  const std::vector<TraceSet::DistinctRank> ranks = set.DistinctRanks();
  REPRISE_ASSIGN(std::vector<RankPiece> pieces, CollectPieces(set, ranks, processes));
  if (!processes.first()) {
    return stats;
  }
  std::vector<TransfersByRole> by_class(set.classes ? set.classes->classes().size() : 0);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    AddRank(std::move(pieces[i].stats), stats);
    if (set.classes) {
      by_class[set.classes->IndexOf(ranks[i].rank)] = std::move(pieces[i].by_role);
    }
  }
  if (!set.classes) {
    stats.group_count = stats.groups.size();
    return stats;
  }
  stats.group_count = 1;  // of all ranks
  AddRoles(*set.classes, by_class, stats);
  if (set.RankCount() <= TraceSet::kMostRanksOneByOne) {
    AddGroups(*set.classes, by_class, stats);
  }
  return stats;
}

}  // namespace reprise
