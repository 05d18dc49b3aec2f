// What `reprise tune` has measured for a device, and which liberties the user allows: plain data
// that travels with DeviceInfo to the kernels.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"

namespace reprise {

// Sizes in elements. gemm_mma.cl: a work-group computes m x n of D from slices of depth k, `stages`
// of them in local memory; a warp takes warp_m x warp_n. gemm_cpu.cl: n columns and a depth of k
// are packed at a time, the other fields are 0.
struct GemmTile {
  int m = 0, n = 0, k = 0;
  int warp_m = 0, warp_n = 0;
  int stages = 0;
  friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

// The best tile for products of one kind (kernels/ops/products/gemm_tiles.h lists the kinds).
struct TunedGemm {
  std::string program;            // "gemm_mma" or "gemm_cpu"
  DType dtype = DType::kFloat32;  // of A and B
  std::string layout;             // "nn", "nt", "tn", "tt"
  std::string size;               // "small", "medium", "large"
  GemmTile tile;
};

// What a tuning file holds of one device.
struct DeviceTuning {
  std::string device;  // DeviceInfo::name
  std::string driver;  // DeviceInfo::driver
  std::vector<TunedGemm> gemm;
};

struct KernelTuning {
  // float32 products on tensor cores, with inputs rounded to 10 bits of mantissa. PyTorch's own
  // default is not to, and traces do not record it.
  bool allow_tf32 = false;
  std::vector<TunedGemm> gemm;
};

}  // namespace reprise
