// A kernel: one description (supports, reference, lowering) of one family of operators,
// shared by replay, tests and benchmarks. Adding one: docs/add_a_kernel.md.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/costs/cost.h"
#include "core/operators.h"
#include "core/result.h"
#include "core/value.h"
#include "kernels/device.h"

namespace reprise {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where tensors live during a call: one buffer per storage incarnation; byte 0 is the storage's
// byte 0, so a tensor's first element is at offset × element size.
class Bindings {
 public:
  virtual ~Bindings() = default;
  // nullptr if the incarnation was never allocated (a bug of the caller; kernels then fail).
  [[nodiscard]] virtual Buffer* Find(std::int64_t incarnation) const = 0;
};

class Blas;

// The same storages on the host, for Reference and HostRun. Empty span: never allocated.
class HostBindings {
 public:
  virtual ~HostBindings() = default;
  [[nodiscard]] virtual std::span<std::byte> Find(std::int64_t incarnation) const = 0;
  // The library of float32 products in place of oneDNN's; nullptr: none was named.
  [[nodiscard]] virtual const Blas* blas() const { return nullptr; }
};

// A lowered call, to be run any number of times. Thread-safe.
using HostRun = std::function<Status(const HostBindings& memory)>;

// What lowering may use. `scratch(slot, bytes)`: device memory shared by all calls of one stream
// (in-order, so nothing of it survives the call); valid as long as the prepared launches.
struct LowerContext {
  const Bindings& memory;
  const DeviceInfo& device;
  std::function<Result<Buffer*>(int slot, std::int64_t bytes)> scratch;
};

// Stateless after construction and thread-safe. Every index read from a tensor is brought into
// range (clamped) by the kernels and their references alike: replayed indices may be synthetic.
// Shapes are the recorded ones: a data-dependent output size is taken from the recorded output.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  // "gemm", "layer_norm"
  // Those whose row in core/operator_table.h has that name among its kernels.
  [[nodiscard]] std::span<const std::string_view> operators() const;
  // True if this call (dtypes, shapes, arguments) can be run exactly.
  [[nodiscard]] virtual bool Supports(const OpCall& call) const = 0;
  // The meaning, in plain C++ on the host, in PyTorch's semantics.
  [[nodiscard]] virtual Status Reference(const OpCall& call, const HostBindings& memory) const = 0;
  // The same for the host backend, perhaps faster: the call is parsed here, and not when it runs.
  // `call` and the kernel must outlive what is returned.
  [[nodiscard]] virtual Result<HostRun> LowerToHost(const OpCall& call) const {
    return HostRun([this, &call](const HostBindings& memory) { return Reference(call, memory); });
  }
  // The launches that do the call with programs (kernels/ops/*.cl); enqueued in order on one
  // stream.
  [[nodiscard]] virtual Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const = 0;
  // Calls that conformance tests and benchmarks run: small, odd-sized, strided, broadcast, every
  // dtype supported. Incarnations number storages from 0.
  [[nodiscard]] virtual std::vector<OpCall> Samples() const = 0;
  // Of LowerToDevice and LowerToHost against Reference: |a−b| ≤ absolute + relative·|b|.
  // Integer results must be equal.
  struct Tolerance {
    double absolute = 1e-5;
    double relative = 1e-4;
  };
  [[nodiscard]] virtual Tolerance tolerance() const { return {}; }
};

// All kernels, one line each in builtin.def: KERNEL(Name) → std::unique_ptr<Kernel> MakeName().
class KernelRegistry {
 public:
  static const KernelRegistry& Builtin();
  [[nodiscard]] std::span<const std::unique_ptr<Kernel>> all() const { return kernels_; }
  // The first registered kernel that lists the operator and supports the call; nullptr if none.
  [[nodiscard]] const Kernel* Find(const OpCall& call) const;

 private:
  KernelRegistry();
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unordered_map<std::string_view, std::vector<const Kernel*>> by_operator_;
};

// KernelRegistry::Builtin().Find.
[[nodiscard]] const Kernel* FindBuiltinKernel(const OpCall& call);

// Exclusive upper bound of valid values for integer inputs of the call, per storage incarnation:
// embedding indices → rows, nll_loss targets → classes, gather/index → extent of the dimension.
[[nodiscard]] std::unordered_map<std::int64_t, std::int64_t> IndexBounds(const OpCall& call);

}  // namespace reprise
