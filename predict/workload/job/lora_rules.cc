// Which jobs may have low-rank adapters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "predict/workload/job/generate.h"

namespace reprise {
namespace {

Status CheckRank(const Workload& w) {
  const std::int64_t rank = w.lora->rank;
  if (rank < 1 || rank > w.model.hidden) {
    return BadInput(fmt::format("\"lora.rank\" is {}; expected 1 to {}, the model's \"hidden\"",
                                rank, w.model.hidden));
  }
  return {};
}

// Why the model has no such layer to adapt; empty: it has.
std::string WhyNoTarget(const ModelShape& m, const LoraTarget& target) {
  const bool of_block =
      target.name == kLoraFc1 || target.name == kLoraFc2 || target.part_of == kLoraFc1;
  if (m.experts > 0 && of_block) {
    return fmt::format(
        "is a matrix of each expert in a model with experts, and adapters of experts are not "
        "known; "
        "known are {}",
        m.LatentAttention() ? "linear_proj"
                            : "linear_qkv, linear_q, linear_k, linear_v and linear_proj");
  }
  if (m.LatentAttention() && (target.name == kLoraQkv || target.part_of == kLoraQkv)) {
    return "is of attention with heads of queries, keys and values; of latent attention "
           "(\"kv_rank\") linear_proj is known";
  }
  if (target.part_of == kLoraFc1 && !m.gated_ffn) {
    return "is half of the first matrix of a gated block, and \"gated_ffn\" is false; take "
           "linear_fc1";
  }
  return {};
}

Status CheckTargets(const Workload& w) {
  const Lora& lora = *w.lora;
  if (lora.targets.empty()) {
    return BadInput("\"lora.targets\" is empty: nothing would be trained");
  }
  for (const LoraTarget& target : kLoraTargets) {
    if (!lora.Has(target.name)) {
      continue;
    }
    if (const std::string why = WhyNoTarget(w.model, target); !why.empty()) {
      return BadInput(fmt::format("\"lora.targets\" has {}, which {}", target.name, why));
    }
    if (!target.part_of.empty() && lora.Has(target.part_of)) {
      return BadInput(
          fmt::format("\"lora.targets\" has {0} and {1}: {0} is a part of {1}, give one",
                      target.name, target.part_of));
    }
  }
  return {};
}

// What Megatron-Bridge divides among tensor-parallel ranks (predict/workload/parallel/adapters.h).
Status CheckDivision(const Workload& w) {
  const std::int64_t t = w.layout.tp;
  const auto is_of_rows = [](const std::string& name) {
    return name == kLoraProj || name == kLoraFc2;
  };
  const bool rows = std::ranges::any_of(w.lora->targets, is_of_rows);
  const bool columns = !std::ranges::all_of(w.lora->targets, is_of_rows);
  if (columns && w.lora->rank % t != 0) {
    return BadInput(fmt::format(
        "tensor parallelism of {} does not divide \"lora.rank\" of {}: adapters of layers that are "
        "divided by columns divide the rank",
        t, w.lora->rank));
  }
  if (rows && w.model.hidden % t != 0) {
    return BadInput(fmt::format(
        "tensor parallelism of {} does not divide \"hidden\" of {}: adapters of layers that are "
        "divided by rows divide their result",
        t, w.model.hidden));
  }
  if (w.overlap.tp && t > 1) {
    return BadInput(
        "\"overlap\" has tp, which is not known of layers with adapters (\"lora\"): leave it out");
  }
  return {};
}

}  // namespace

Status CheckLora(const Workload& w) {
  if (!w.lora) {
    return {};
  }
  if (!w.model.tables.empty() || w.model.patch > 0) {
    return BadInput(
        fmt::format("\"lora\" is of language models, and the family is {}", w.model.family));
  }
  REPRISE_TRY(CheckRank(w));
  REPRISE_TRY(CheckTargets(w));
  REPRISE_TRY(CheckDivision(w));
  const std::vector<std::int64_t> layers = w.LayersOfChunks();
  if (std::ranges::find(layers, 0) != layers.end()) {
    return BadInput(
        "\"layers_per_stage\" has a stage without layers, which with \"lora\" has nothing to "
        "train: "
        "give each a layer");
  }
  return {};
}

}  // namespace reprise
