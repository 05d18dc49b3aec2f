// The two ways of running a convolution: launches for a device, oneDNN on the host.
#pragma once

#include "kernels/ops/common/row_lowering.h"
#include "kernels/ops/images/conv_call.h"

namespace reprise {

// Matrix products that read images under the kernel's window in place; padded ones from a copy.
void LowerConv(const ConvCall& c, RowLowering& rows);

// False if oneDNN has no such convolution (float16, a transposed one in bfloat16 with a bias).
[[nodiscard]] Result<bool> RunConvOnHost(const ConvCall& c, const HostBindings& memory);

}  // namespace reprise
