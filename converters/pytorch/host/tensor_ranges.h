// The values that a host trace recorded of integer tensors, where the observer was set to: the
// smallest and the largest (PyTorch: attribute "tensor_range").
#pragma once

#include <string_view>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// {"1":[5,510],"3":[0,63]}: by the number of the tensor among the inputs. What is no such text has
// no ranges.
[[nodiscard]] std::vector<TensorRange> ParseTensorRanges(std::string_view text);

// By storage, over all calls that read it. A call that writes its first argument recorded what was
// there before, which may be anything. Incarnations must be known.
[[nodiscard]] std::vector<IndexRange> FindIndexRanges(const HostTrace& host);

}  // namespace reprise::pytorch
