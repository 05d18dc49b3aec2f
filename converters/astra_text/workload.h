// ASTRA-sim's text workload: how a network is parallelised, and times and transfers of its layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/text_file.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise::astra_text {

enum class Parallelism : std::uint8_t {
  kMicro,      // MICRO: the transfers of the weight gradients and nothing else
  kData,       // DATA
  kModel,      // MODEL
  kHybrid,     // HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_TRANSFORMER, HYBRID_CUSTOMIZED
  kRecompute,  // HYBRID_TRANSFORMER_FWD_IN_BCKWD: forward passes again from checkpoints
  kDlrm,       // HYBRID_DLRM, HYBRID_DLRM_ENHANCED
  kInference,  // DISTRIBUTED_INFERENCE: forward only
};

// Which ranks a transfer is of.
enum class Scope : std::uint8_t {
  kWorld,
  kModel,       // model-parallel: model_parallel ranks in a row
  kData,        // data-parallel: one rank of each of those rows, at the same place
  kExpert,      // _EP: expert_parallel neighbours of kData
  kExpertData,  // _DP_EP: of kData, one rank of each of those, at the same place
};

// One phase of a layer: compute, then a transfer, if there is one.
struct Phase {
  std::int64_t compute_ns = 0;
  std::optional<CommKind> transfer;
  std::int64_t bytes = 0;  // what a rank gives
  Scope scope = Scope::kWorld;
};

struct Layer {
  std::string name;
  Phase forward, input_gradient, weight_gradient;
  std::int64_t update_ns = 0;
  bool checkpoint = false;  // kRecompute: its input is kept
  bool recomputes = false;  // kRecompute: before its backward pass, layers run again from there
};

struct Workload {
  std::string type;  // as written
  Parallelism parallelism = Parallelism::kData;
  std::int64_t last_bottom_layer = -1;  // kDlrm: where the embeddings' exchange is waited for
  std::int64_t model_parallel = 0;      // transformers: ranks that share a model; 0: not said
  std::int64_t expert_parallel = 0;     // the same of experts
  // What SimAI's first line says besides: its times are ns, ASTRA-sim's us.
  bool simai = false;
  std::optional<std::int64_t> ranks;   // all_gpus
  std::int64_t pipeline_parallel = 1;  // stages, whose ranks stand in a row
  std::vector<std::string> not_used;   // words of the first line that mean nothing here
  std::vector<Layer> layers;
};

// Bad input, naming the line, on everything that is not exactly that.
[[nodiscard]] Result<Workload> ReadWorkload(const TextFile& file);
// Whether a file begins like one.
[[nodiscard]] bool LooksLikeWorkload(const std::string& path);

}  // namespace reprise::astra_text
