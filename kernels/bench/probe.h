// What a device can do at best: the limits that `reprise bench kernels` holds kernels against.
// (replayer/engine/estimate.h measures something else: how fast this project's own GEMM and a plain
// copy are, without compiling anything for it.)
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "kernels/device.h"
#include "kernels/kernel.h"

namespace reprise {

// Rates that a device reaches, or reached at best.
struct Roofline {
  double bytes_per_second = 0;
  std::map<DType, double> flops_per_second;

  // FLOP rate in the type that arithmetic on `dtype` is done in; 0 if it was not measured.
  [[nodiscard]] double FlopsOf(DType dtype) const;
  // How long these rates need for `cost`: for its FLOPs or its bytes, whichever takes longer.
  struct Bound {
    double ns = 0;
    bool by_compute = false;
  };
  [[nodiscard]] Bound BoundOf(const Cost& cost, DType dtype) const;
};

// Writes all of a buffer, and waits. A measurement must not read memory that was never written:
// on a CPU its pages are one page of zeros, which is always in a cache.
[[nodiscard]] Status WriteAll(Device& device, Buffer& buffer);

// A device's copy and its multiply-adds, to be run as often as one likes. The speed of a machine
// that others share changes within seconds, so a kernel is held against what its limit is just
// before and after it. One thread at a time; the device must outlive it.
//
// Copy: bytes read plus bytes written a second between two buffers much larger than a cache, by
// whichever was faster at first: the backend's own copy, or a kernel that copies 16 bytes at a time
// (OpenCL) or one memcpy per core (host). Kernels that only read can be faster than a copy: on most
// CPUs a store first reads its line.
//
// FMA: FLOPs a second, 2 for each multiply-add, of independent chains of FMA in registers on all of
// the device: vectors on CPUs, scalars (pairs of half) on GPUs. float16 where the device has it,
// else in float32, like every type that kernels compute in float32 (bfloat16, integers). Matrix
// units are out of reach of portable OpenCL and not part of this limit.
class LimitProbe {
 public:
  // Takes two buffers of 64 MiB (CPUs) or 512 MiB; runs the copy, and FMA in each of `dtypes`,
  // some times each.
  [[nodiscard]] static Result<std::unique_ptr<LimitProbe>> Create(Device& device,
                                                                  const std::vector<DType>& dtypes);

  // The rate of one run, some milliseconds on a CPU. `dtype`: one of Create's.
  [[nodiscard]] Result<double> Copy();
  [[nodiscard]] Result<double> Fma(DType dtype);
  // Of all runs so far: a busy moment makes no limit too low.
  [[nodiscard]] const Roofline& best() const { return best_; }

 private:
  // Something to run, and how many bytes or FLOPs one run is.
  struct Work {
    std::unique_ptr<PreparedLaunch> launch;
    double amount = 0;
  };
  explicit LimitProbe(Device& device) : device_(device) {}
  Status ChooseCopy();
  Status SizeFma(DType dtype);
  Result<double> RateOf(const Work& work);

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Buffer> to_, from_;
  Work copy_;
  std::map<DType, Work> fma_;
  Roofline best_;
};

}  // namespace reprise
