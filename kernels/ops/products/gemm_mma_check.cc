// Whether tensor cores compute what they should, before anything relies on them.
#include <fmt/format.h>

#include <vector>

#include "kernels/ops/products/gemm_mma.h"
#include "kernels/ops/products/gemm_tiles.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Not multiples of any tile.
constexpr std::int64_t kM = 72, kN = 88, kK = 104;

// Whole numbers from -3 to 3: exact in bfloat16, and so are their sums in float32. `factor` keeps A
// and B apart.
int ElementOf(std::int64_t row, std::int64_t column, int factor) {
  return static_cast<int>((row * factor + column * 2) % 7) - 3;
}

std::vector<std::uint16_t> Elements(std::int64_t rows, std::int64_t columns, char order,
                                    int factor) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = order == 'n' ? i * columns + j : j * rows + i;
      bits[static_cast<std::size_t>(at)] =
          FloatToBFloat16(static_cast<float>(ElementOf(i, j, factor)));
    }
  }
  return bits;
}

Status Compare(const std::vector<float>& got) {
  for (std::int64_t m = 0; m < kM; ++m) {
    for (std::int64_t n = 0; n < kN; ++n) {
      int want = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        want += ElementOf(m, k, 5) * ElementOf(k, n, 3);
      }
      const float is = got[static_cast<std::size_t>(m * kN + n)];
      if (is != static_cast<float>(want)) {
        return EnvironmentError(fmt::format(
            "a product on tensor cores is wrong: element ({}, {}) is {}, not {}", m, n, is, want));
      }
    }
  }
  return {};
}

GemmOperand OperandOf(Buffer* buffer, char order, std::int64_t rows, std::int64_t columns) {
  return order == 'n' ? GemmOperand{buffer, DType::kBFloat16, 0, {0, 0}, {columns, 0, 0}, {1, 0, 0}}
                      : GemmOperand{buffer, DType::kBFloat16, 0, {0, 0}, {1, 0, 0}, {rows, 0, 0}};
}

Status CheckTile(Device& device, const std::string& layout, const GemmTile& tile,
                 const std::string& options) {
  const std::vector<std::uint16_t> a = Elements(kM, kK, layout[0], 5);
  const std::vector<std::uint16_t> b = Elements(kK, kN, layout[1], 3);
  std::vector<float> d(static_cast<std::size_t>(kM * kN), -1.0F);
  const auto bytes = [](const auto& v) {
    return static_cast<std::int64_t>(v.size() * sizeof(v.front()));
  };
  REPRISE_ASSIGN(const auto a_buffer, device.Allocate(bytes(a)));
  REPRISE_ASSIGN(const auto b_buffer, device.Allocate(bytes(b)));
  REPRISE_ASSIGN(const auto d_buffer, device.Allocate(bytes(d)));
  GemmProblem p;
  p.m = kM;
  p.n = kN;
  p.k = kK;
  p.a = OperandOf(a_buffer.get(), layout[0], kM, kK);
  p.b = OperandOf(b_buffer.get(), layout[1], kK, kN);
  p.d = {d_buffer.get(), DType::kFloat32, 0, {0, 0}, {kN, 0, 0}, {1, 0, 0}};
  DeviceInfo info = device.info();
  info.is_cpu = false;
  info.tensor_cores = true;
  info.tuning.gemm = {{"gemm_mma", DType::kBFloat16, layout, "small", tile}};
  auto launch = MmaLaunch(p, info);
  if (!launch) {
    return UsageError("the check of tensor cores takes a product that they do not");
  }
  launch->options += options;
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  REPRISE_TRY(stream->Upload(*a_buffer, 0, a.data(), bytes(a)));
  REPRISE_TRY(stream->Upload(*b_buffer, 0, b.data(), bytes(b)));
  REPRISE_ASSIGN(const auto prepared, device.Prepare(*launch));
  REPRISE_TRY(stream->Enqueue(*prepared));
  REPRISE_TRY(stream->Download(d.data(), *d_buffer, 0, bytes(d)));
  REPRISE_TRY(stream->Finish());
  return Compare(d);
}

}  // namespace

Status CheckTensorCores(Device& device, const std::string& options) {
  // The largest tile, with all local memory that there is, and the smallest; what is read as it is
  // and what is read transposed.
  const std::vector<GemmTile> tiles = GemmTileCandidates("gemm_mma", DType::kBFloat16);
  REPRISE_TRY(CheckTile(device, "nn", tiles.front(), options));
  return CheckTile(device, "tt", tiles.back(), options);
}

}  // namespace reprise
