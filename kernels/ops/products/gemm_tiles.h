// The tile sizes of products: the candidates, the rules that a tile must keep, and the choice for a
// product.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "kernels/device.h"
#include "kernels/tuning.h"

namespace reprise {

// The properties by which tuning distinguishes products. Row-major is "n", column-major "t", A
// first.
struct GemmKind {
  std::string_view program;  // "gemm_mma", "gemm_cpu"
  DType dtype = DType::kFloat32;
  std::string_view layout;
  std::string_view size;
};
[[nodiscard]] std::string_view GemmLayout(bool a_row_major, bool b_row_major);
// By elements of D, all batches together: "small" below 2^20, "medium" below 2^23, "large".
[[nodiscard]] std::string_view GemmSizeClass(std::int64_t result_elements);
[[nodiscard]] bool IsGemmLayout(std::string_view layout);
[[nodiscard]] bool IsGemmSizeClass(std::string_view size);

// The program that runs products of this type on a device, if its tiles can be chosen; else empty.
[[nodiscard]] std::string_view TunableGemm(const DeviceInfo& device, DType dtype);
// Those that `reprise tune` tries, all possible, from the default for large products to the
// smallest.
[[nodiscard]] std::vector<GemmTile> GemmTileCandidates(std::string_view program, DType dtype);
// Input error that names the rule that the tile breaks.
[[nodiscard]] Status CheckGemmTile(std::string_view program, DType dtype, const GemmTile& tile);

// The tuned tile, or nullptr.
[[nodiscard]] const GemmTile* FindTunedGemm(const KernelTuning& tuning, const GemmKind& kind);
// The tuned tile of gemm_mma, or one of the candidates that gives every compute unit work.
[[nodiscard]] GemmTile ChooseMmaTile(const DeviceInfo& device, const GemmKind& kind, std::int64_t m,
                                     std::int64_t n, std::int64_t batch);

}  // namespace reprise
