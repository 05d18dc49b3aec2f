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
  kDlrm,       // HYBRID_DLRM, HYBRID_DLRM_ENHANCED
  kInference,  // DISTRIBUTED_INFERENCE: forward only
};
[[nodiscard]] std::optional<Parallelism> ParseParallelism(std::string_view word);

// One phase of a layer: compute, then a transfer, if there is one.
struct Phase {
  std::int64_t compute_us = 0;
  std::optional<CommKind> transfer;
  std::int64_t bytes = 0;  // what a rank gives
};

struct Layer {
  std::string name;
  Phase forward, input_gradient, weight_gradient;
  std::int64_t update_us = 0;
};

struct Workload {
  std::string type;  // as written
  Parallelism parallelism = Parallelism::kData;
  std::int64_t last_bottom_layer = -1;  // kDlrm: where the embeddings' exchange is waited for
  std::vector<Layer> layers;
};

// Bad input, naming the line, on everything that is not exactly that.
[[nodiscard]] Result<Workload> ReadWorkload(const TextFile& file);
// Whether a file begins like one.
[[nodiscard]] bool LooksLikeWorkload(const std::string& path);

}  // namespace reprise::astra_text
