#include "report/operations/inference_phases.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "report/operations/inference.h"
#include "report/operations/operations_of.h"
#include "report/run/run_reader.h"

namespace reprise {
namespace {

bool MayInfer(const Report& report) {
  const auto has = [](const std::vector<ClassRow>& rows, std::string_view name) {
    return std::ranges::any_of(rows, [name](const ClassRow& row) { return row.name == name; });
  };
  return !has(report.phases, Name(Phase::kBackward)) && !report.ranks.empty() &&
         (has(report.classes, Name(OpClass::kAttention)) ||
          has(report.classes, Name(OpClass::kSoftmax)));
}

Result<RunData> ReadFirstHost(const std::string& directory, const Report& report) {
  std::vector<std::int32_t> ranks;
  for (const RankRow& row : report.ranks) {
    if (row.host == report.ranks.front().host) {
      ranks.push_back(row.rank);
    }
  }
  REPRISE_ASSIGN(RunReader reader, RunReader::Open(directory));
  REPRISE_TRY(reader.ReadAll(RankContent::kOutline));
  return reader.Read(ranks);
}

}  // namespace

Status AddInferencePhases(const std::string& directory, Report& report) {
  if (MayInfer(report)) {
    REPRISE_ASSIGN(const RunData run, ReadFirstHost(directory, report));
    AddInferencePhases(run, report);
  }
  return {};
}

void AddInferencePhases(const RunData& run, Report& report) {
  const auto job = OperationsOf(run);
  if (!MayInfer(report) || !job || job->ranks.empty()) {
    return;  // a run without a finished iteration has no phases
  }
  const RankOperations& rank = job->ranks.front();
  const auto found = FindInference(rank);
  if (!found) {
    return;
  }
  const double steps = std::max(rank.steps, 1);
  std::vector<PhaseUse> uses;
  for (const PassKind kind : {PassKind::kPrefill, PassKind::kDecode}) {
    double tokens = 0;
    for (const InferencePass& pass : found->passes) {
      tokens += pass.kind == kind ? static_cast<double>(pass.sequences * pass.tokens) : 0.0;
    }
    const double per_second = kind == PassKind::kPrefill ? found->prefill_tokens_per_second
                                                         : found->decode_tokens_per_second;
    if (tokens <= 0 || per_second <= 0) {
      continue;
    }
    PhaseUse use{.name = std::string(Name(kind)),
                 .time_ns = tokens / per_second * 1e9 / steps,
                 .tokens = tokens / steps,
                 .joules = std::nullopt};
    for (const PhaseEnergy& energy : job->phase_energy) {
      if (energy.phase == use.name) {
        use.joules = energy.joules / steps;
      }
    }
    uses.push_back(std::move(use));
  }
  // The passes are what the forward phase consists of, with the pauses in them.
  std::copy_if(report.phase_uses.begin(), report.phase_uses.end(), std::back_inserter(uses),
               [](const PhaseUse& use) { return use.name != Name(Phase::kForward); });
  report.phase_uses = std::move(uses);
}

}  // namespace reprise
