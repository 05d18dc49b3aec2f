#include "report/energy/energy_uses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string_view>

namespace reprise {
namespace {

// A class that ran for less than this many updates of its meters has too few readings.
constexpr std::int64_t kFewUpdates = 5;

}  // namespace

std::optional<Spread> SpreadOf(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  Spread spread;
  spread.iterations = static_cast<std::int32_t>(values.size());
  spread.median = std::midpoint(values[(values.size() - 1) / 2], values[values.size() / 2]);
  spread.half_range = 0.5 * (values.back() - values.front());
  double mean = 0;
  for (const double value : values) {
    mean += value / n;
  }
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  spread.standard_error = values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  return spread;
}

EnergyUses::EnergyUses(std::span<const MeasuredRank> outline) : outline_(outline) {
  std::set<std::int32_t> steps;
  for (const MeasuredRank& rank : outline) {
    for (const StepRecord& step : rank.steps()) {
      iterations_.emplace(step.iteration, 0);
      steps.insert(step.step);
    }
  }
  std::size_t number = 0;
  for (auto& [unused, at] : iterations_) {
    at = number++;
  }
  steps_ = static_cast<double>(std::max<std::size_t>(steps.size(), 1));
  const Sum empty{.iterations = std::vector<double>(iterations_.size())};
  by_rank_.assign(outline.size(), empty);
  by_phase_.assign(kPhases.size(), empty);
  by_class_.assign(kOpClassCount, empty);
}

std::int32_t EnergyUses::NumberOf(const CollectiveInfo& info, std::int64_t bytes) {
  // All groups of a role of a folded set, as in the table of transfers.
  TransferRow row{info.spec.kind, info.role.empty() ? info.spec.group : info.role, info.group_size,
                  bytes};
  const auto [at, added] =
      transfer_numbers_.try_emplace(row, static_cast<std::int32_t>(transfers_.size()));
  if (added) {
    transfers_.push_back(std::move(row));
    by_transfer_.push_back({.iterations = std::vector<double>(iterations_.size())});
  }
  return at->second;
}

void EnergyUses::Begin(const MeasuredRun& part) {
  ranks_ = part.ranks;
  positions_ = part.positions;
  number_of_node_.clear();
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankData& data = ranks_[r].data();
    std::vector<std::int32_t>& of_node = number_of_node_.emplace_back(data.nodes.size(), kNone);
    for (std::size_t i = 0; i < data.collectives.size(); ++i) {
      const std::uint32_t transfer = part.transfers.number[r][i];
      if (transfer != RunTransfers::kNone) {
        of_node[*ranks_[r].FindNode(data.collectives[i].node_id)] =
            NumberOf(data.collectives[i], part.transfers.times->BytesOf(transfer));
      }
    }
  }
}

EnergyUser EnergyUses::UserOf(const Execution& execution) const {
  const NodeInfo& node = ranks_[execution.rank].data().nodes[execution.node];
  return {.rank = static_cast<std::uint32_t>(positions_[execution.rank]),
          .transfer = number_of_node_[execution.rank][execution.node],
          .iteration = execution.iteration,
          .phase = node.phase,
          .op_class = node.op_class};
}

void EnergyUses::Add(const EnergyUser& user, const EnergyShare& share, std::int64_t active_ns,
                     std::int64_t update_ns) {
  const auto iteration = iterations_.find(user.iteration);
  const std::array<Sum*, 4> sums = {
      &by_rank_[user.rank], &by_phase_[static_cast<std::size_t>(user.phase)],
      &by_class_[static_cast<std::size_t>(user.op_class)],
      user.transfer == kNone ? nullptr : &by_transfer_[static_cast<std::size_t>(user.transfer)]};
  for (Sum* const sum : sums) {
    if (sum == nullptr) {
      continue;
    }
    sum->share.joules += share.joules;
    sum->share.above_idle_joules += share.above_idle_joules;
    sum->active_ns += active_ns;
    sum->update_ns = std::max(sum->update_ns, update_ns);
    if (iteration != iterations_.end()) {
      sum->iterations[iteration->second] += share.joules / steps_;
    }
  }
}

EnergyUse EnergyUses::Use(const Sum& sum, bool above_idle) const {
  EnergyUse use{.joules = sum.share.joules, .active_ns = sum.active_ns};
  if (above_idle) {
    use.above_idle_joules = sum.share.above_idle_joules;
  }
  use.step_joules = SpreadOf(sum.iterations);
  use.estimate = sum.active_ns < kFewUpdates * sum.update_ns;
  return use;
}

template <typename Key>
std::vector<EnergyUseRow> EnergyUses::Rows(const std::vector<Sum>& sums, const Key& name,
                                           bool above_idle) const {
  std::vector<EnergyUseRow> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].active_ns > 0 || sums[i].share.joules > 0) {
      rows.push_back({name(i), Use(sums[i], above_idle)});
    }
  }
  return rows;
}

void EnergyUses::Finish(bool above_idle, EnergyAttribution& attribution) const {
  const auto most_first = [](auto& rows) {
    std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.use.joules; });
  };
  attribution.ranks = Rows(
      by_rank_, [this](std::size_t r) { return std::to_string(outline_[r].data().rank); },
      above_idle);
  attribution.phases = Rows(
      by_phase_, [](std::size_t p) { return std::string(Name(static_cast<Phase>(p))); },
      above_idle);
  attribution.classes = Rows(
      by_class_, [](std::size_t c) { return std::string(Name(static_cast<OpClass>(c))); },
      above_idle);
  for (std::size_t t = 0; t < transfers_.size(); ++t) {
    if (by_transfer_[t].active_ns > 0 || by_transfer_[t].share.joules > 0) {
      const auto& [kind, group, group_size, bytes] = transfers_[t];
      attribution.transfers.push_back(
          {std::string(Name(kind)), group, group_size, bytes, Use(by_transfer_[t], above_idle)});
    }
  }
  most_first(attribution.phases);
  most_first(attribution.classes);
  most_first(attribution.transfers);
}

}  // namespace reprise
