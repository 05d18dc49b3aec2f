#include "et_schema/trace_stats.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace reprise {
namespace {

namespace fs = std::filesystem;

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
    stats_.ranges.Add(graph.metadata());
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
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& by_role() const {
    return by_role_;
  }

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
  std::map<std::string, std::uint64_t, std::less<>> by_role_;
};

using TransfersByRole = std::map<std::string, std::uint64_t, std::less<>>;

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
      const auto at = counts.find(role);
      row.transfers += at == counts.end() ? 0 : at->second;
    }
  }
}

}  // namespace

Result<TraceStats> CollectTraceStats(const std::string& path) {
  TraceStats stats;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    REPRISE_TRY(RankSums(stats, 1, nullptr).Add(path));
    stats.group_count = stats.groups.size();
    return stats;
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
  REPRISE_TRY(set.Verify());
  stats.missing_ranks = set.MissingRanks();
  for (const auto& [id, group] : set.groups) {
    stats.groups[id].group = group;
  }
  std::vector<TransfersByRole> by_class(set.classes ? set.classes->classes().size() : 0);
  for (const TraceSet::DistinctRank& one : set.DistinctRanks()) {
    RankSums sums(stats, one.alike, set.classes.get());
    REPRISE_TRY(sums.Add(one.path));
    if (set.classes) {
      by_class[set.classes->IndexOf(one.rank)] = sums.by_role();
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
