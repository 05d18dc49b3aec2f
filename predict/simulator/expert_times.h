// What a layer of experts takes on a device when its products run grouped, one kernel over all
// experts: two products a token and expert, the first of gate and up together, and what moves the
// tokens.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "predict/machine/machine.h"

namespace reprise {

struct ExpertCall {
  std::int64_t tokens = 0;  // that the router sends, of this device's group
  std::int64_t hidden = 0, inner = 0;
  std::int64_t top_k = 0, experts = 0;
  std::int64_t tp = 1, ep = 1;  // what divides the inner size, and the experts
  bool balanced = true;         // every expert gets as many; else by chance
};

// Of this device's part. Weights of experts that no token goes to are not read.
struct ExpertWork {
  double rows = 0;           // tokens times experts, of this device's experts
  double hit = 0;            // experts with tokens, expected
  double flops = 0;          // of both products
  double product_bytes = 0;  // weights of `hit` experts once, rows in and out
  double moved_bytes = 0;    // of all tokens: activation, and the sum over a token's experts
};
// The products' FLOPs and bytes are those of the cost rule of products (core/costs/cost.h), and so
// the result of a narrow type has 16 bits. Of `e` experts here and r rows, e (1 − exp(−r / e)) are
// hit by chance, and min(e, r) when balanced. Kernels that divide experts still activate and add
// the rows of all tokens.
[[nodiscard]] ExpertWork WorkOf(const ExpertCall& call, DType dtype);

// start + max(FLOPs / (peak × rate) × (1 + half_m hit / rows), bytes / (bandwidth × memory)) +
// moved bytes / (bandwidth × moving).
[[nodiscard]] double ExpertNs(const DeviceModel& device, const ExpertNumbers& numbers,
                              const ExpertWork& work, DType dtype);

}  // namespace reprise
