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

RankSums PartSums::SumsOf(const MeasuredRun& part, std::size_t r) {
  const MeasuredRank& rank = part.ranks[r];
  DescribeNodes(rank, report_.ranks[part.positions[r]]);
  RankSums sums{.errors = NodeErrorSums::NodesOf(rank),
                .top_differences = TopDifferences(rank),
                .classes = {&NodeInfo::op_class, part.ranks, r, part.transfers},
                .phases = {&NodeInfo::phase, part.ranks, r, part.transfers},
                .shapes = ShapeSums(rank),
                .work = WorkTimes(rank),
                .steps = {},
                .running = {}};
  if (telemetry_) {
    sums.steps = StepClassSums(part.ranks, r, part.transfers);
    sums.running = telemetry_->RunningOf(part, r);
  }
  return sums;
}

FoundOfPart PartSums::Find(const MeasuredRun& part) {
  FoundOfPart found{.ranks = std::vector<std::optional<RankSums>>(part.ranks.size()), .times = {}};
  ForEachInParallel(part.ranks.size() + 1, [&](std::size_t i) {
    if (i == 0) {  // of all ranks together: it takes longest
      found.times = fidelity_.TimesOf(part.ranks);
    } else {
      found.ranks[i - 1] = SumsOf(part, i - 1);
    }
  });
  return found;
}

void PartSums::Add(RankSums sums) {
  fidelity_.Add(sums.errors, std::move(sums.top_differences));
  classes_.Add(sums.classes);
  phases_.Add(sums.phases);
  shapes_.Add(std::move(sums.shapes));
  work_.Add(sums.work);
  steps_.Add(std::move(sums.steps));
  if (telemetry_) {
    telemetry_->Add(sums.running);
  }
}

void PartSums::Add(const MeasuredRun& part, FoundOfPart found) {
  for (const MeasuredRank& rank : part.ranks) {
    never_ran_ += rank.alike() * rank.never_ran();
  }
  // Each fills members of its own.
  const std::array<std::function<void()>, 3> sums = {[&] {
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
                                                       for (auto& of_rank : found.ranks) {
                                                         Add(std::move(*of_rank));
                                                         of_rank.reset();
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
