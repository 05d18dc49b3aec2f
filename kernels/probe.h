// What a device can do at best: the limits that `reprise bench kernels` holds kernels against.
// (replayer/estimate.h asks another question: how fast this project's own GEMM and a plain copy
// are, without compiling anything for it.)
#pragma once

#include <cstdint>
#include <map>

#include "core/dtype.h"
#include "kernels/device.h"

namespace reprise {

// Best rates seen. A limit that is too low makes every kernel look good, so each is the shortest of
// many short runs, and Measure may be called again later: the better rate stays.
struct Roofline {
  double bytes_per_second = 0;
  std::map<DType, double> flops_per_second;

  // Copy, and FMA in each of `dtypes`.
  [[nodiscard]] Status Measure(Device& device, const std::vector<DType>& dtypes);
  // FMA rate in the type that arithmetic on `dtype` is done in; 0 if it was not measured.
  [[nodiscard]] double FlopsOf(DType dtype) const;
};

// Writes all of a buffer, and waits. What is measured must not read memory that nobody has written:
// on a CPU its pages are one page of zeros, which is always in a cache.
[[nodiscard]] Status WriteAll(Device& device, Buffer& buffer);

// Bytes read plus bytes written a second by a copy between two buffers much larger than a cache:
// the best of the backend's own copy and of a kernel that copies 16 bytes at a time (OpenCL), or of
// one memcpy per core (host). Kernels that only read can be faster than a copy: on most CPUs a
// store first reads its line.
[[nodiscard]] Result<double> ProbeCopy(Device& device);

// FLOPs a second, 2 for each multiply-add, of independent chains of FMA in registers on all of the
// device: vectors on CPUs, scalars (pairs of half) on GPUs. float16 where the device has it, else
// in float32, like every type that kernels compute in float32 (bfloat16, integers). Matrix units
// are out of reach of portable OpenCL and not part of this limit.
[[nodiscard]] Result<double> ProbeFma(Device& device, DType dtype);

}  // namespace reprise
