// Other people's libraries beside which the kernels are measured. Opened at run time, so that
// nothing here needs them; one that is not installed is a line in the output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "CLBlast"
  // "1.5.3", and what the library says of itself; empty if it says nothing.
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual bool Supports(const OpCall& call) const = 0;
  // The same call by the peer, for streams of the device that the peer was opened for. Does not
  // outlive the peer or the buffers. `call` must be supported.
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedLaunch>> Prepare(
      const OpCall& call, const Bindings& memory) const = 0;
};

struct Peers {
  std::vector<std::unique_ptr<Peer>> here;
  std::vector<std::string> absent;  // "CLBlast: libclblast.so.1: cannot open shared object file"
};
// Those for the device's backend: CLBlast on OpenCL; on the host (whose own kernels use oneDNN)
// OpenBLAS, and PyTorch if `torch` names its library.
[[nodiscard]] Peers OpenPeers(const DeviceInfo& device, const std::string& torch);

// D = A B for each of a batch, as a BLAS takes it: row-major, every matrix with one stride of 1.
struct BlasProduct {
  struct Operand {
    const TensorDesc* tensor = nullptr;
    std::int64_t offset = 0;  // elements
    bool transposed = false;
    std::int64_t leading = 1;
    std::int64_t batch_stride = 0;
  };
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::kUnknown;  // of all operands
  Operand a, b, d;
};
// Nothing if the call is no such product (other layouts, a bias, several types). Points into
// `call`.
[[nodiscard]] std::optional<BlasProduct> AsBlasProduct(const OpCall& call);

}  // namespace reprise
