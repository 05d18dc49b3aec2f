// Where the tensors of a transfer are on a device.
#pragma once

#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "core/value.h"
#include "kernels/device_transfers.h"
#include "kernels/kernel.h"

namespace reprise {

// Of the bytes that each side has, as far as there are tensors for them.
struct TensorPieces {
  std::vector<DevicePiece> in, out;
};

// Bad input if a tensor was never allocated.
[[nodiscard]] Result<TensorPieces> FindTensorPieces(const CommSpec& spec, const OpCall& call,
                                                    const Bindings& memory);

}  // namespace reprise
