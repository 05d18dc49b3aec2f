#include "kernels/ops/products/gemm_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reprise {
namespace {

constexpr std::array<std::string_view, 4> kTileLayouts = {"nn", "nt", "tn", "tt"};
constexpr std::array<std::string_view, 3> kSizes = {"small", "medium", "large"};

// Static local memory that NVIDIA's OpenCL grants, whatever the device has.
constexpr int kLocalBytes = 49152;
constexpr int kMaxThreads = 512;
// A lane's sums are registers: 128 of its 255.
constexpr int kMaxWarpElements = 64 * 64;

// k in bytes: a slice's rows are 64 or 128 bytes deep for every type.
constexpr GemmTile kMmaTiles[] = {
    {128, 128, 64, 64, 64, 3}, {128, 128, 64, 64, 32, 3}, {128, 256, 64, 64, 64, 2},
    {256, 128, 64, 64, 64, 2}, {128, 64, 64, 64, 32, 4},  {64, 128, 64, 32, 64, 4},
    {64, 64, 64, 32, 32, 4},   {64, 64, 128, 32, 32, 3},
};

constexpr GemmTile kCpuTiles[] = {
    {0, 256, 256}, {0, 256, 128}, {0, 128, 256}, {0, 128, 128}, {0, 64, 256},
};

bool IsMmaType(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16 || dtype == DType::kFloat32;
}

// Whether each of `threads` copies the same whole number of chunks of a slice, of rows so far apart
// that they are mixed alike (mixed() of gemm_mma.cl).
bool CopiesEvenly(int threads, int rows, int chunks, int period) {
  return threads % chunks == 0 && threads / chunks % period == 0 && rows * chunks % threads == 0;
}

Status CheckMma(DType dtype, const GemmTile& t) {
  if (!IsMmaType(dtype)) {
    return BadInput("tensor cores take bfloat16, float16 and float32");
  }
  const auto is_side = [](int side) { return side == 64 || side == 128 || side == 256; };
  if (!is_side(t.m) || !is_side(t.n)) {
    return BadInput("m and n have to be 64, 128 or 256");
  }
  const int bytes = SizeOf(dtype);
  if (t.k < 0 || (t.k != 64 / bytes && t.k != 128 / bytes)) {
    return BadInput(fmt::format("k has to be {} or {}", 64 / bytes, 128 / bytes));
  }
  if (t.warp_m < 16 || t.warp_n < 16 || t.warp_m % 16 != 0 || t.warp_n % 16 != 0 ||
      t.m % t.warp_m != 0 || t.n % t.warp_n != 0) {
    return BadInput("warp_m and warp_n have to be multiples of 16 that divide m and n");
  }
  if (t.warp_m * t.warp_n > kMaxWarpElements) {
    return BadInput("a warp's part is larger than its registers: 64 x 64 at most");
  }
  if (t.stages < 2 || t.stages > 5) {
    return BadInput("stages have to be 2 to 5");
  }
  if ((t.m + t.n) * t.k * bytes * t.stages > kLocalBytes) {
    return BadInput(fmt::format("the slices take more than {} bytes of local memory", kLocalBytes));
  }
  const int threads = 32 * (t.m / t.warp_m) * (t.n / t.warp_n);
  const int period = bytes == 4 ? 4 : 8;
  const int deep = t.k * bytes / 16;
  if (threads > kMaxThreads || !CopiesEvenly(threads, t.m, deep, 8) ||
      !CopiesEvenly(threads, t.n, deep, 8) ||
      !CopiesEvenly(threads, t.k, t.m * bytes / 16, period) ||
      !CopiesEvenly(threads, t.k, t.n * bytes / 16, period)) {
    return BadInput(fmt::format("{} work-items do not divide its slices evenly", threads));
  }
  return {};
}

Status CheckCpu(const GemmTile& t) {
  if (t.m != 0 || t.warp_m != 0 || t.warp_n != 0 || t.stages != 0) {
    return BadInput("gemm_cpu has only n and k");
  }
  if (t.n < 32 || t.n > 256 || t.n % 32 != 0) {
    return BadInput("n has to be a multiple of 32 up to 256");
  }
  if (t.k < 16 || t.k > 256 || t.k % 16 != 0) {
    return BadInput("k has to be a multiple of 16 up to 256");
  }
  return {};
}

}  // namespace

std::string_view GemmLayout(bool a_row_major, bool b_row_major) {
  return kTileLayouts[(a_row_major ? 0U : 2U) + (b_row_major ? 0U : 1U)];
}

std::string_view GemmSizeClass(std::int64_t result_elements) {
  constexpr std::int64_t kMedium = std::int64_t{1} << 20;
  constexpr std::int64_t kLarge = std::int64_t{1} << 23;
  return kSizes[result_elements < kMedium ? 0U : result_elements < kLarge ? 1U : 2U];
}

bool IsGemmLayout(std::string_view layout) {
  return std::ranges::find(kTileLayouts, layout) != kTileLayouts.end();
}
bool IsGemmSizeClass(std::string_view size) {
  return std::ranges::find(kSizes, size) != kSizes.end();
}

std::string_view TunableGemm(const DeviceInfo& device, DType dtype) {
  if (device.memory_is_host || !IsMmaType(dtype)) {
    return "";
  }
  if (device.is_cpu) {
    return "gemm_cpu";
  }
  const bool allowed = dtype != DType::kFloat32 || device.tuning.allow_tf32;
  return device.tensor_cores && allowed ? "gemm_mma" : "";
}

std::vector<GemmTile> GemmTileCandidates(std::string_view program, DType dtype) {
  if (program == "gemm_cpu") {
    return {std::begin(kCpuTiles), std::end(kCpuTiles)};
  }
  std::vector<GemmTile> tiles;
  for (GemmTile tile : kMmaTiles) {
    tile.k /= static_cast<int>(SizeOf(dtype));
    tiles.push_back(tile);
  }
  return tiles;
}

Status CheckGemmTile(std::string_view program, DType dtype, const GemmTile& tile) {
  if (program == "gemm_mma") {
    return CheckMma(dtype, tile);
  }
  if (program == "gemm_cpu") {
    return CheckCpu(tile);
  }
  return BadInput(fmt::format("there is no program '{}' with tiles", program));
}

const GemmTile* FindTunedGemm(const KernelTuning& tuning, const GemmKind& kind) {
  const auto it = std::find_if(tuning.gemm.begin(), tuning.gemm.end(), [&](const TunedGemm& one) {
    return one.program == kind.program && one.dtype == kind.dtype && one.layout == kind.layout &&
           one.size == kind.size;
  });
  return it == tuning.gemm.end() ? nullptr : &it->tile;
}

GemmTile ChooseMmaTile(const DeviceInfo& device, const GemmKind& kind, std::int64_t m,
                       std::int64_t n, std::int64_t batch) {
  if (const GemmTile* tuned = FindTunedGemm(device.tuning, kind)) {
    return *tuned;
  }
  const std::vector<GemmTile> tiles = GemmTileCandidates(kind.program, kind.dtype);
  const auto groups = [&](const GemmTile& t) {
    return (m + t.m - 1) / t.m * ((n + t.n - 1) / t.n) * batch;
  };
  // From the one that reads least of A and B for each of D to the one that makes most work-groups.
  for (const std::size_t i : {std::size_t{0}, m >= n ? std::size_t{4} : std::size_t{5}}) {
    if (groups(tiles[i]) >= device.compute_units) {
      return tiles[i];
    }
  }
  return tiles[6];
}

}  // namespace reprise
