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

void PartSums::Add(const MeasuredRun& part) {
  ForEachInParallel(part.ranks.size(), [&](std::size_t r) {
    DescribeNodes(part.ranks[r], report_.ranks[part.positions[r]]);
  });
  for (const MeasuredRank& rank : part.ranks) {
    never_ran_ += rank.alike() * rank.never_ran();
  }
  // Each fills members of its own.
  const std::array<std::function<void()>, 4> sums = {[&] { fidelity_.Add(part.ranks); },
                                                     [&] {
                                                       energy_.Add(part);
                                                       thermal_.Add(part);
                                                     },
                                                     [&] {
                                                       classes_.Add(part.ranks, part.transfers);
                                                       phases_.Add(part.ranks, part.transfers);
                                                       shapes_.Add(part.ranks);
                                                       work_.Add(part.ranks);
                                                     },
                                                     [&] {
                                                       if (telemetry_) {
                                                         telemetry_->Add(part);
                                                         stragglers_->Add(part);
                                                         steps_.Add(part.ranks, part.transfers);
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
