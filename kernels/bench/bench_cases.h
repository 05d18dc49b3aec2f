// The calls that `reprise bench kernels` measures: what training steps of transformers and ResNets
// record, at their sizes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

struct KernelBenchCase {
  std::string title;  // "layer_norm backward"
  DType dtype = DType::kFloat32;
  OpCall call;
};

// How many times the smallest sizes (a CPU of a few cores): 8 for a CPU of more than 16 cores or a
// small GPU, 64 for a large one. From the device's own description, not from a measurement: the
// cases of one device are always the same.
[[nodiscard]] int KernelBenchScale(const DeviceInfo& device);

// All cases in `dtype`, by family. Matrices have fixed sizes; batches and tokens grow with `scale`.
[[nodiscard]] std::vector<KernelBenchCase> KernelBenchCases(DType dtype, int scale);

// Shapes of the tensor inputs: "1024x768, 768x3072'" (' : transposed), "12*[768x768]" for a list's
// equal neighbours; of more than three kinds the first and the number of tensors.
[[nodiscard]] std::string DescribeShapes(const OpCall& call);

// Where bench_cases.cc and bench_cases_memory.cc add their cases.
struct CaseList {
  DType dtype;
  std::int64_t scale;
  std::vector<KernelBenchCase>& cases;
  void Add(std::string title, OpCall call) {
    cases.push_back({std::move(title), dtype, std::move(call)});
  }
};
// The families that memory binds.
void AddMemoryBoundCases(CaseList& c);

}  // namespace reprise
