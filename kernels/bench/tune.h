// Finds the best tiles of a device's matrix products by measuring: what `reprise tune` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace reprise {

struct TuneOptions {
  std::vector<DType> dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  // Of square products; several of one class (kernels/ops/products/gemm_tiles.h) decide together.
  std::vector<std::int64_t> sizes;
  std::vector<std::string> layouts = {"nn", "nt", "tn"};  // those of a linear layer's passes
  int repeats = 5;
  std::int64_t min_time_ns = 50'000'000;  // all repeats of one measurement together, at least
};

// One tile in one product.
struct TuneRow {
  TunedGemm kind;  // with the tile that was tried
  std::int64_t size = 0;
  double median_ns = 0;
  double gflop_per_s = 0;
  std::string skipped;  // why it was not measured; empty if it was
};

struct TuneResult {
  std::vector<TuneRow> rows;
  // For each kind the tile that took the least time (the mean over sizes of its logarithm) of those
  // that ran at every size; the default one, unless another is better by more than noise.
  std::vector<TunedGemm> best;
  std::vector<DType> without_tiles;  // types whose products have none to choose on this device
};

// By what the device is, the smallest to the largest that are worth the time.
[[nodiscard]] std::vector<std::int64_t> DefaultTuneSizes(const DeviceInfo& device);
// `on_row` is called as each row is done. A tile that fails is a skipped row; an error means that
// the device itself failed.
[[nodiscard]] Result<TuneResult> TuneGemm(Device& device, const TuneOptions& options,
                                          const std::function<void(const TuneRow&)>& on_row);

}  // namespace reprise
