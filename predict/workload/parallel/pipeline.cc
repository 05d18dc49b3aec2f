// Pipeline parallelism: its groups and rules, and the sum of tied weights. Its transfers are the
// program's (predict/workload/job/program.cc), its order the schedule's.
#include <fmt/format.h>

#include "core/counted.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/parameters.h"

namespace reprise {
namespace {

std::vector<GroupRole> PipelineGroups(const Workload& w) {
  std::vector<GroupRole> roles = {
      ByRule(w.layout, "pp", "PIPELINE_MODEL_PARALLEL_GROUP", {kStageAxis})};
  if (w.DirectionsMeet()) {
    // Both directions between two stages: their transfers are kept apart.
    roles.push_back(ByRule(w.layout, "pp_backward", "PIPELINE_BACKWARD_GROUP", {kStageAxis}));
  }
  if (w.model.EmbeddingAtBothEnds() && !w.EndsOnOneStage()) {
    roles.push_back(
        ByRule(w.layout, "embd", "EMBEDDING_GROUP", {kStageAxis}, {0, w.layout.pp - 1}));
  }
  return roles;
}

Status CheckPipeline(const Workload& w) {
  const std::int64_t chunks = w.layout.pp * w.virtual_stages;
  if (chunks > w.model.layers && w.layout.pp > 1) {
    return BadInput(fmt::format(
        "{} stages of a pipeline{}, but {}: a stage needs a layer", chunks,
        w.virtual_stages > 1 ? fmt::format(" ({} x {} virtual)", w.layout.pp, w.virtual_stages)
                             : "",
        Counted(w.model.layers, "layer")));
  }
  return {};
}

// First and last stage hold one weight: both add their gradients.
void SumTied(Builder& b, ParameterStore& store) {
  if (b.layout().pp == 1) {
    return;
  }
  for (Unit* unit : store.units) {
    for (const Parameter& parameter : unit->parameters) {
      if (parameter.tied && !parameter.frozen) {
        b.Op("finalize_model_grads");
        b.out.Wait(b.AllReduce("embd", store.GradientOf(parameter)));
      }
    }
  }
}

}  // namespace

Parallelism PipelineParallel() {
  return {.name = "pipeline",
          .help = "layers divided into stages; hidden states travel between neighbours",
          .groups = PipelineGroups,
          .check = CheckPipeline,
          .after_backward = SumTied};
}

}  // namespace reprise
