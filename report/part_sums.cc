#include "report/part_sums.h"

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "report/classes/coverage.h"
#include "report/energy/throttling.h"
#include "report/nodes/append.h"

namespace reprise {

PartSums::PartSums(const MeasuredRun& outline, const std::optional<HtmlLimits>& page,
                   Report& report)
    : outline_(outline),
      page_(page),
      report_(report),
      fidelity_(outline.ranks, report.manifest),
      energy_(outline.ranks, outline.transfers.matches) {
  if (page) {
    telemetry_.emplace(outline.ranks, report.ranks, *page);
  }
}

void PartSums::Add(const MeasuredRun& part) {
  std::vector<RankRow> rows(part.ranks.size());
  ForEachInParallel(rows.size(), [&](std::size_t r) {
    RankRow& row = report_.ranks[part.positions[r]];
    DescribeNodes(part.ranks[r], row);
    rows[r] = row;
  });
  for (const MeasuredRank& rank : part.ranks) {
    never_ran_ += rank.alike() * rank.never_ran();
  }
  // Each fills members of its own.
  const std::array<std::function<void()>, 4> sums = {
      [&] { fidelity_.Add(part.ranks, part.transfers.matches); },
      [&] {
        energy_.Add(part, rows, report_.energy);
        AddThermal(ExamineThermal(part.ranks, rows, part.transfers));
      },
      [&] {
        classes_.Add(part.ranks, part.transfers);
        phases_.Add(part.ranks, part.transfers);
        shapes_.Add(part.ranks);
        work_.Add(part.ranks);
      },
      [&] {
        if (telemetry_) {
          telemetry_->Add(part, rows);
          steps_.Add(part.ranks, part.transfers);
        }
      }};
  ForEachInParallel(sums.size(), [&sums](std::size_t i) { sums[i](); });
}

void PartSums::AddThermal(ThermalDetails thermal) {
  Append(std::move(thermal.throttling), report_.thermal.throttling);
  Append(std::move(thermal.peaks), report_.thermal.peaks);
  Append(std::move(thermal.heating), report_.thermal.heating);
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
  if (!telemetry_) {
    return std::nullopt;
  }
  return PageDetails{.steps = steps_.Finish(page_->cells),
                     .stragglers = FindStragglers(outline_.ranks, outline_.transfers),
                     .telemetry = telemetry_->Finish()};
}

}  // namespace reprise
