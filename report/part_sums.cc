#include "report/part_sums.h"

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "report/classes/coverage.h"

namespace reprise {

PartSums::PartSums(const MeasuredRun& outline, const std::optional<HtmlLimits>& page,
                   Report& report)
    : page_(page),
      report_(report),
      fidelity_(outline.ranks, report.manifest),
      energy_(outline.ranks, report.ranks, report.energy),
      thermal_(outline.ranks, report.ranks) {
  if (page) {
    telemetry_.emplace(outline.ranks, report.ranks, *page);
    stragglers_.emplace(outline.ranks);
  }
}

FoundOfRank PartSums::WithTransfers(const MeasuredRun& part, std::size_t r, RankSums sums) const {
  const MeasuredRank& rank = part.ranks[r];
  const RankData& data = rank.data();
  for (const std::uint32_t i : rank.transfer_nodes()) {
    const NodeInfo& node = data.nodes[i];
    for (const std::uint32_t k :
         node.counts_for_coverage ? rank.Records(i) : std::span<const std::uint32_t>()) {
      // From the last arrival on, as in the recording, where all members finished it; else from its
      // own start.
      const NodeRecord& record = data.records[k];
      const std::int64_t own_ns = part.transfers.OwnNs(r, k).value_or(record.duration_ns);
      sums.classes.AddTransfer(node, record, own_ns);
      sums.phases.AddTransfer(node, record, own_ns);
      if (telemetry_) {
        sums.steps.AddTransfer(data.rank, node, record, own_ns);
      }
    }
  }
  FoundOfRank found{.sums = std::move(sums), .running = {}};
  if (telemetry_) {
    found.running = telemetry_->RunningOf(part, r);
  }
  return found;
}

FoundOfPart PartSums::Find(const MeasuredRun& run) const {
  FoundOfPart found{.ranks = std::vector<std::optional<FoundOfRank>>(run.ranks.size()),
                    .times = {}};
  ForEachInParallel(run.ranks.size() + 1, [&](std::size_t i) {
    if (i == 0) {  // of all ranks together: it takes longest
      found.times = fidelity_.TimesOf(run.ranks);
    } else {
      found.ranks[i - 1] =
          WithTransfers(run, i - 1, SumsOfNodes(run.ranks[i - 1], telemetry_.has_value()));
    }
  });
  return found;
}

RankSums PartSums::SumsOf(const MeasuredRank& rank) const {
  RankSums sums = SumsOfNodes(rank, telemetry_.has_value());
  sums.times = fidelity_.TimesOf({&rank, 1});
  return sums;
}

FoundOfPart PartSums::Find(const MeasuredRun& part, RankSums sums) const {
  FoundOfPart found;
  found.times = std::move(sums.times);
  found.ranks.emplace_back(WithTransfers(part, 0, std::move(sums)));
  return found;
}

void PartSums::Add(FoundOfRank found, RankRow& row) {
  RankSums& sums = found.sums;
  TakeNodes(sums.nodes, row);
  never_ran_ += sums.never_ran;
  fidelity_.Add(sums.errors, std::move(sums.top_differences));
  classes_.Add(sums.classes);
  phases_.Add(sums.phases);
  shapes_.Add(std::move(sums.shapes));
  work_.Add(sums.work);
  steps_.Add(std::move(sums.steps));
  if (telemetry_) {
    telemetry_->Add(found.running);
  }
}

void PartSums::Add(const MeasuredRun& part, FoundOfPart found) {
  // Each fills members of its own.
  const std::array<std::function<void()>, 3> sums = {
      [&] {
        energy_.Add(part);
        thermal_.Add(part);
      },
      [&] {
        if (stragglers_) {
          stragglers_->Add(part);
        }
      },
      [&] {
        fidelity_.Add(std::move(found.times));
        for (std::size_t r = 0; r < found.ranks.size(); ++r) {
          Add(std::move(*found.ranks[r]), report_.ranks[part.positions[r]]);
          found.ranks[r].reset();
        }
      }};
  ForEachInParallel(sums.size(), [&sums](std::size_t i) { sums[i](); });
}

std::optional<PageDetails> PartSums::Finish() {
  for (const RankRow& row : report_.ranks) {
    report_.host_ns += row.alike * row.host_ns;
    report_.wait_ns += row.alike * row.wait_ns;
    report_.delay_ns += row.alike * row.delay_ns;
  }
  FillCoverage(report_);
  report_.details = fidelity_.Finish();
  report_.classes = classes_.Finish();
  report_.phases = phases_.Finish();
  report_.shapes = shapes_.Finish();
  report_.attribution = energy_.Finish();
  report_.thermal = thermal_.Finish();
  if (!telemetry_) {
    return std::nullopt;
  }
  return PageDetails{.steps = steps_.Finish(page_->cells),
                     .stragglers = stragglers_->Finish(),
                     .telemetry = telemetry_->Finish()};
}

}  // namespace reprise
