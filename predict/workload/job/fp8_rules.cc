// Rules of products in 8 and 4 bits, and of parameters in 8.
#include <fmt/format.h>

#include <utility>

#include "predict/workload/job/generate.h"
#include "predict/workload/ops/scaling.h"

namespace reprise {
namespace {

// Matrices that are stored and gathered in 8 bits.
Status CheckParamGather(const Workload& w) {
  if (!w.fp8_param_gather) {
    return {};
  }
  const ScalingRecipe* const recipe = FindScalingRecipe(w.fp8);
  if (recipe == nullptr || recipe->block > 0) {
    return BadInput(
        fmt::format("\"fp8_param_gather\" gathers matrices with a scale each: \"fp8\" is delayed "
                    "or tensorwise, "
                    "not {}",
                    w.fp8));
  }
  if (!w.layout.distributed_optimizer) {
    return BadInput(
        "\"fp8_param_gather\" is of the distributed optimizer (\"zero\" 1 or 2), which gathers "
        "parameters after a step");
  }
  if (w.lora) {
    return BadInput(
        "\"fp8_param_gather\" with \"lora\" is not known: frozen matrices stay as they are");
  }
  return {};
}

}  // namespace

Status CheckFp8(const Workload& w) {
  REPRISE_TRY(CheckParamGather(w));
  if (w.fp8 == "none") {
    return {};
  }
  const ModelShape& m = w.model;
  if (m.dtype != DType::kBFloat16) {
    return BadInput(fmt::format("\"fp8\" is \"{}\": it needs \"dtype\" bfloat16, not {}", w.fp8,
                                Name(m.dtype)));
  }
  if (!m.tables.empty()) {
    return BadInput("\"fp8\" is of transformers, and a recommendation model has no layers");
  }
  const std::int64_t multiple = FindScalingRecipe(w.fp8)->multiple;
  const std::int64_t t = w.layout.tp;
  const bool latent = m.LatentAttention();
  for (const auto& [name, size] :
       {std::pair("hidden", m.hidden), std::pair("ffn / tp", m.ffn / t),
        std::pair("ffn / etp", w.layout.etp > 0 ? m.ffn / w.layout.etp : 0),
        std::pair("dense_ffn / tp", m.dense_ffn / t),
        std::pair("shared_ffn / tp", m.shared_ffn / t),
        std::pair("heads x head_size / tp", m.heads * m.head_size / t),
        std::pair("heads x value_size / tp", m.heads * m.value_size / t),
        std::pair("kv_heads x head_size / tp", m.kv_heads * m.head_size / t),
        std::pair("q_rank", m.q_rank), std::pair("kv_rank", m.kv_rank),
        std::pair("kv_rank + rotary_size", latent ? m.kv_rank + m.rotary_size : 0),
        std::pair("tokens of a micro-batch", m.sequence / w.layout.cp * w.micro_batch)}) {
    if (size % multiple != 0) {
      return BadInput(fmt::format("\"fp8\" {} needs sizes that are multiples of {}; \"{}\" is {}",
                                  w.fp8, multiple, name, size));
    }
  }
  return {};
}

}  // namespace reprise
