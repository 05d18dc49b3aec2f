#include "report/fidelity/fidelity_examination.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "report/fidelity/timing_comparison.h"
#include "report/nodes/append.h"
#include "report/nodes/intervals.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

// A bin is replayed / recorded with so many bits behind the first; ratios beyond are in the last
// bins.
constexpr int kBits = 14;
constexpr double kMostRatio = 1 << 16;
constexpr int kMantissaBits = std::numeric_limits<double>::digits - 1;

constexpr std::uint64_t PrefixOf(double ratio) {
  return std::bit_cast<std::uint64_t>(ratio) >> (kMantissaBits - kBits);
}
constexpr std::uint64_t kFirstBin = PrefixOf(1 / kMostRatio);
constexpr std::size_t kBins = PrefixOf(kMostRatio) - kFirstBin + 1;

std::size_t BinOf(double error) {
  // A file may say what is no number.
  const double ratio = std::isnan(error) ? kMostRatio : 1 + error;
  return PrefixOf(std::clamp(ratio, 1 / kMostRatio, kMostRatio)) - kFirstBin;
}
double ErrorOfBin(std::size_t bin) {
  const std::uint64_t middle = std::uint64_t{1} << (kMantissaBits - kBits - 1);
  return std::bit_cast<double>(((kFirstBin + bin) << (kMantissaBits - kBits)) + middle) - 1;
}

double ErrorOf(std::int64_t recorded_ns, std::int64_t apart_ns) {
  return static_cast<double>(apart_ns) / static_cast<double>(recorded_ns);
}

// Threads and streams; transfers are in OverlapRow.
std::vector<ActorRow> DescribeActors(const RunTiming& timing, const Schedule& recorded) {
  std::vector<std::vector<Index>> nodes_of(timing.actor_names.size());
  for (Index i = 1; i < timing.nodes.size(); ++i) {
    if (timing.transfers[i] == nullptr) {
      nodes_of[static_cast<std::size_t>(timing.actor[i])].push_back(i);
    }
  }
  std::vector<ActorRow> rows;
  for (std::size_t a = 0; a < nodes_of.size(); ++a) {
    auto& nodes = nodes_of[a];
    const auto start_of = [&recorded](Index i) { return recorded.start_ns[i]; };
    if (!std::ranges::is_sorted(nodes, {}, start_of)) {  // those of one stream mostly are
      std::ranges::stable_sort(nodes, {}, start_of);
    }
    ActorRow row{.name = timing.actor_names[a]};
    const Index* last = nullptr;
    for (const Index& i : nodes) {
      if (!timing.nodes[i]->counts_for_coverage || timing.measured[i] == 0) {
        continue;
      }
      ++row.nodes;
      row.recorded_busy_ns += recorded.end_ns[i] - recorded.start_ns[i];
      row.replayed_busy_ns += timing.replayed_end_ns[i] - timing.replayed_start_ns[i];
      if (last != nullptr) {
        row.recorded_gaps_ns +=
            std::max<std::int64_t>(0, recorded.start_ns[i] - recorded.end_ns[*last]);
        row.replayed_gaps_ns +=
            std::max<std::int64_t>(0, timing.replayed_start_ns[i] - timing.replayed_end_ns[*last]);
        row.order_changes += timing.replayed_start_ns[i] < timing.replayed_start_ns[*last] ? 1 : 0;
      }
      last = &i;
    }
    if (row.nodes > 0) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// One side, recorded or replayed, of one rank.
struct Side {
  std::vector<Interval> work;
  std::map<std::string, std::vector<Interval>> transfers;  // by group
};

void FillOverlap(Side side, std::int64_t OverlapRow::*total, std::int64_t OverlapRow::*exposed,
                 std::map<std::string, OverlapRow>& rows) {
  const std::vector<Interval> work = Union(std::move(side.work));
  for (auto& [group, intervals] : side.transfers) {
    const std::vector<Interval> joined = Union(std::move(intervals));
    rows[group].*total = Length(joined);
    rows[group].*exposed = LengthOutside(joined, work);
  }
}

std::vector<OverlapRow> DescribeOverlap(std::span<const MeasuredRank> ranks,
                                        const RunTiming& timing, const Schedule& schedule) {
  std::vector<OverlapRow> out;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Side recorded;
    Side replayed;
    for (Index i = timing.first[r]; i < timing.first[r + 1]; ++i) {
      const Interval before{schedule.start_ns[i], schedule.end_ns[i]};
      const Interval after{timing.replayed_start_ns[i], timing.replayed_end_ns[i]};
      if (const CollectiveInfo* transfer = timing.transfers[i]) {
        recorded.transfers[transfer->spec.group].push_back(before);
        replayed.transfers[transfer->spec.group].push_back(after);
      } else if (timing.nodes[i]->counts_for_coverage) {
        recorded.work.push_back(before);
        replayed.work.push_back(after);
      }
    }
    std::map<std::string, OverlapRow> rows;
    FillOverlap(std::move(recorded), &OverlapRow::recorded_ns, &OverlapRow::recorded_exposed_ns,
                rows);
    FillOverlap(std::move(replayed), &OverlapRow::replayed_ns, &OverlapRow::replayed_exposed_ns,
                rows);
    for (auto& [group, row] : rows) {
      row.rank = ranks[r].data().rank;
      row.group = group;
      out.push_back(std::move(row));
    }
  }
  return out;
}

Status FindTimes(std::span<const MeasuredRank> ranks, const RunManifest& manifest,
                 const MedianPass& pass, bool whole, PartTimes& times) {
  REPRISE_ASSIGN(const RunTiming timing, TimeRun(ranks, MatchTransfers(ranks), manifest, pass));
  if (timing.recorded_pass_ns <= 0) {
    if (whole) {
      REPRISE_ASSIGN(times.gains, GainsOf(timing));
    }
    return BadInput("the recorded step time is unknown");
  }
  Schedule recorded;
  if (whole) {
    REPRISE_ASSIGN(TimingComparison comparison, CompareTimes(timing));
    times.difference = std::move(comparison.difference);
    times.critical_path = std::move(comparison.critical_path);
    times.gains = std::move(comparison.gains);
    recorded = std::move(comparison.recorded);
  } else {
    times.why_not =
        "it was read rank by rank, to fit in memory; what moved the step's end and the critical "
        "path lead through all ranks";
    REPRISE_ASSIGN(const EventOrder order, EventOrder::Find(timing.recorded));
    recorded = order.Run(
        {timing.recorded.duration_ns, timing.recorded.delay_ns, timing.recorded.transfer_ns});
  }
  times.actors = DescribeActors(timing, recorded);
  times.overlap = DescribeOverlap(ranks, timing, recorded);
  return {};
}

}  // namespace

NodeErrorSums::NodeErrorSums(const MeasuredRank& rank) {
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    const auto replayed_ns = rank.MedianDurationNs(i);
    if (node.counts_for_coverage && node.kind != OpKind::kComm && replayed_ns &&
        node.recorded_duration_ns > 0) {
      const std::int64_t apart_ns = *replayed_ns - node.recorded_duration_ns;
      AddNode({node.recorded_duration_ns, apart_ns});
      recorded_ns_ += node.recorded_duration_ns;
      apart_ns_ += std::abs(apart_ns);
      within_ns_ +=
          10 * std::abs(apart_ns) <= node.recorded_duration_ns ? node.recorded_duration_ns : 0;
    }
  }
  filled_ = FilledBins();
  bins_ = std::vector<std::int64_t>();
}

void NodeErrorSums::Add(const NodeErrorSums& others) {
  for (const Node& node : others.nodes_) {
    AddNode(node);
  }
  if (!others.filled_.empty()) {
    AddToBins(others.filled_);
    count_ += others.count_;
  }
  recorded_ns_ += others.recorded_ns_;
  apart_ns_ += others.apart_ns_;
  within_ns_ += others.within_ns_;
}

void NodeErrorSums::AddNode(const Node& node) {
  if (++count_ <= kMostExact && bins_.empty()) {
    nodes_.push_back(node);
    return;
  }
  if (bins_.empty()) {
    AddToBins({});
  }
  AddToBin(node);
}

void NodeErrorSums::AddToBin(const Node& node) {
  bins_[BinOf(ErrorOf(node.recorded_ns, node.apart_ns))] += node.recorded_ns;
}

// From then on there are bins alone.
void NodeErrorSums::AddToBins(const std::vector<Bin>& filled) {
  bins_.resize(kBins);
  for (const Node& node : std::exchange(nodes_, {})) {
    AddToBin(node);
  }
  for (const auto& [bin, weight] : filled) {
    bins_[std::min<std::size_t>(bin, kBins - 1)] += weight;
  }
}

std::vector<NodeErrorSums::Bin> NodeErrorSums::FilledBins() const {
  std::vector<Bin> filled = filled_;
  for (std::uint32_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] > 0) {
      filled.emplace_back(bin, bins_[bin]);
    }
  }
  return filled;
}

std::optional<NodeErrors> NodeErrorSums::Finish() const {
  if (count_ == 0) {
    return std::nullopt;
  }
  std::vector<std::pair<double, std::int64_t>> errors;  // with their weights
  errors.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    errors.emplace_back(ErrorOf(node.recorded_ns, node.apart_ns), node.recorded_ns);
  }
  std::ranges::sort(errors);
  for (const auto& [bin, weight] : FilledBins()) {
    errors.emplace_back(ErrorOfBin(bin), weight);
  }
  const auto recorded_ns = static_cast<double>(recorded_ns_);
  const auto quantile = [&](double fraction) {
    double below_ns = 0;
    for (const auto& [error, weight] : errors) {
      below_ns += static_cast<double>(weight);
      if (below_ns >= fraction * recorded_ns) {
        return error;
      }
    }
    return errors.back().first;
  };
  return NodeErrors{.count = count_,
                    .mean_absolute_error = static_cast<double>(apart_ns_) / recorded_ns,
                    .p05 = quantile(0.05),
                    .p25 = quantile(0.25),
                    .p50 = quantile(0.5),
                    .p75 = quantile(0.75),
                    .p95 = quantile(0.95),
                    .within_tenth = static_cast<double>(within_ns_) / recorded_ns};
}

FidelityExamination::FidelityExamination(std::span<const MeasuredRank> outline,
                                         const RunManifest& manifest)
    : outline_(outline), manifest_(manifest), pass_(FindMedianPass(outline)) {
  if (!pass_) {
    details_.why_not = "no iteration was finished on every rank";
  }
}

PartTimes FindPartTimes(std::span<const MeasuredRank> ranks, const RunManifest& manifest,
                        const MedianPass& pass, bool whole) {
  PartTimes times;
  if (const Status found = FindTimes(ranks, manifest, pass, whole, times); !found) {
    times.why_not = found.error().message;
  }
  return times;
}

PartTimes FidelityExamination::TimesOf(std::span<const MeasuredRank> ranks) const {
  return pass_ ? FindPartTimes(ranks, manifest_, *pass_, ranks.size() == outline_.size())
               : PartTimes();
}

void FidelityExamination::Add(PartTimes times) {
  if (!times.why_not.empty()) {
    details_.why_not = std::move(times.why_not);
  }
  if (times.difference) {
    details_.difference = std::move(times.difference);
    details_.critical_path = std::move(times.critical_path);
  }
  Append(std::move(times.gains), details_.gains);
  Append(std::move(times.actors), details_.actors);
  Append(std::move(times.overlap), details_.overlap);
}

void FidelityExamination::Add(const NodeErrorSums& errors, TopDifferences differences) {
  errors_.Add(errors);
  top_differences_.Add(std::move(differences));
}

FidelityDetails FidelityExamination::Finish() {
  details_.nodes = errors_.Finish();
  details_.top_differences = top_differences_.Finish(manifest_.oversubscribed);
  std::ranges::stable_sort(details_.overlap, {}, &OverlapRow::rank);
  return std::move(details_);
}

}  // namespace reprise
