#include "report/html_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace reprise {
namespace {

using ClassIndex = std::map<OpClass, std::size_t>;

ClassIndex IndexClasses(std::span<const MeasuredRank> ranks, std::vector<std::string>& names) {
  std::map<OpClass, std::int64_t> recorded_ns;
  for (const MeasuredRank& rank : ranks) {
    for (const NodeInfo& node : rank.data().nodes) {
      if (node.counts_for_coverage) {
        recorded_ns[node.op_class] += node.recorded_duration_ns;
      }
    }
  }
  std::vector<std::pair<OpClass, std::int64_t>> order(recorded_ns.begin(), recorded_ns.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  ClassIndex index;
  for (const auto& [op_class, unused] : order) {
    index[op_class] = names.size();
    names.emplace_back(Name(op_class));
  }
  return index;
}

// The iterations whose times fit, and how many don't.
std::set<std::int32_t> ChooseIterations(std::span<const MeasuredRank> ranks, std::size_t classes,
                                        std::size_t most_cells, std::int64_t& left_out) {
  std::map<std::int32_t, std::size_t> rows;
  for (const MeasuredRank& rank : ranks) {
    for (const StepRecord& step : rank.steps()) {
      ++rows[step.iteration];
    }
  }
  std::set<std::int32_t> chosen;
  std::size_t cells = 0;
  for (const auto& [iteration, count] : rows) {
    cells += count * (classes + 1);
    if (chosen.empty() || cells <= most_cells) {
      chosen.insert(iteration);
    } else {
      ++left_out;
    }
  }
  return chosen;
}

// Rows of one rank, by step and iteration.
class RankRows {
 public:
  RankRows(std::int32_t rank, std::size_t classes) : rank_(rank), classes_(classes) {}
  StepClassRow& At(std::int32_t step, std::int32_t iteration) {
    if (last_ != nullptr && last_->step == step && last_->iteration == iteration) {
      return *last_;
    }
    const auto [at, added] = rows_.try_emplace({step, iteration});
    last_ = &at->second;
    if (added) {
      at->second = {.rank = rank_,
                    .step = step,
                    .iteration = iteration,
                    .class_ns = std::vector<std::int64_t>(classes_)};
    }
    return at->second;
  }
  void MoveTo(std::vector<StepClassRow>& out) {
    for (auto& [unused, row] : rows_) {
      out.push_back(std::move(row));
    }
  }

 private:
  std::int32_t rank_;
  std::size_t classes_;
  std::map<std::pair<std::int32_t, std::int32_t>, StepClassRow> rows_;
  StepClassRow* last_ = nullptr;  // what was asked for last
};

void AddRank(std::span<const MeasuredRank> ranks, std::size_t r, const TransferSummary& transfers,
             const ClassIndex& index, const std::set<std::int32_t>& iterations, StepClasses& out) {
  const MeasuredRank& rank = ranks[r];
  const RankData& data = rank.data();
  RankRows recorded(data.rank, index.size());
  RankRows replayed(data.rank, index.size());
  for (const StepRecord& step : rank.steps()) {
    if (iterations.contains(step.iteration)) {
      replayed.At(step.step, step.iteration).step_ns = step.duration_ns;
    }
  }
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    if (!node.counts_for_coverage) {
      continue;
    }
    const std::size_t c = index.at(node.op_class);
    recorded.At(node.step, -1).class_ns[c] += node.recorded_duration_ns;
    for (const std::uint32_t k : rank.Records(i)) {
      const NodeRecord& record = data.records[k];
      if (iterations.contains(record.iteration)) {
        // From the last arrival on for a transfer that all members finished; else from its start.
        replayed.At(record.step, record.iteration).class_ns[c] +=
            transfers.OwnNs(r, k).value_or(record.duration_ns);
      }
    }
  }
  // A rank knows one recorded step time: the mean over its steps.
  if (const auto step_ns = NumberFact(data, kFactRecordedStepNs)) {
    for (const StepRecord& step : rank.steps()) {
      recorded.At(step.step, -1).step_ns = *step_ns;
    }
  }
  recorded.MoveTo(out.recorded);
  replayed.MoveTo(out.replayed);
}

// One member's part in one iteration of a collective.
struct Arrival {
  std::size_t transfer = 0;
  std::int32_t iteration = 0;
  std::int64_t waited_ns = 0;
  std::size_t rank = 0;  // position

  [[nodiscard]] auto Order() const { return std::tie(transfer, iteration, waited_ns, rank); }
  [[nodiscard]] bool SameTransfer(const Arrival& other) const {
    return transfer == other.transfer && iteration == other.iteration;
  }
};

// Sorted: who arrived last in a transfer stands first.
std::vector<Arrival> CollectArrivals(std::span<const MeasuredRank> ranks,
                                     const TransferSummary& transfers,
                                     std::vector<StragglerRow>& rows) {
  std::vector<Arrival> arrivals;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    for (std::size_t i = 0; i < data.collectives.size(); ++i) {
      const CollectiveInfo& info = data.collectives[i];
      const auto node = ranks[r].FindNode(info.node_id);
      if (!node || IsPointToPoint(info.spec.kind) || info.group_size < 2) {
        continue;
      }
      const NodeInfo& recorded = data.nodes[*node];
      if (recorded.recorded_elapsed_ns != NodeInfo::kUnknownNs) {
        rows[r].recorded_waited_ns +=
            std::max<std::int64_t>(0, recorded.recorded_elapsed_ns - recorded.recorded_duration_ns);
      }
      for (const std::uint32_t k : ranks[r].Records(*node)) {
        if (const auto own_ns = transfers.OwnNs(r, k)) {
          const NodeRecord& record = data.records[k];
          arrivals.push_back({.transfer = transfers.matches.number[r][i],
                              .iteration = record.iteration,
                              .waited_ns = std::max<std::int64_t>(0, record.duration_ns - *own_ns),
                              .rank = r});
        }
      }
    }
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.Order() < b.Order(); });
  return arrivals;
}

}  // namespace

StepClasses SumStepClasses(std::span<const MeasuredRank> ranks, const TransferSummary& transfers,
                           std::size_t most_cells) {
  StepClasses out;
  const ClassIndex index = IndexClasses(ranks, out.classes);
  const std::set<std::int32_t> iterations =
      ChooseIterations(ranks, index.size(), most_cells, out.iterations_left_out);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    AddRank(ranks, r, transfers, index, iterations, out);
  }
  return out;
}

std::vector<StragglerRow> FindStragglers(std::span<const MeasuredRank> ranks,
                                         const TransferSummary& transfers) {
  std::vector<StragglerRow> rows(ranks.size());
  const std::vector<Arrival> arrivals = CollectArrivals(ranks, transfers, rows);
  for (std::size_t begin = 0; begin < arrivals.size();) {
    std::size_t end = begin;
    std::int64_t waited_ns = 0;
    for (; end < arrivals.size() && arrivals[end].SameTransfer(arrivals[begin]); ++end) {
      StragglerRow& row = rows[arrivals[end].rank];
      ++row.transfers;
      row.replayed_waited_ns += arrivals[end].waited_ns;
      waited_ns += arrivals[end].waited_ns;
    }
    const auto others = static_cast<std::int64_t>(end - begin) - 1;
    if (others > 0) {
      StragglerRow& last = rows[arrivals[begin].rank];
      ++last.last;
      last.caused_ns += (waited_ns - arrivals[begin].waited_ns) / others;
    }
    begin = end;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    rows[r].rank = ranks[r].data().rank;
    const std::int64_t passes = std::max(1, ranks[r].iterations());
    rows[r].replayed_waited_ns /= passes;
    rows[r].caused_ns /= passes;
  }
  std::erase_if(rows, [](const StragglerRow& row) {
    return row.transfers == 0 && row.recorded_waited_ns == 0;
  });
  return rows;
}

}  // namespace reprise
