// Numbers among an operator's arguments that follow from the sizes of its tensors.
#pragma once

#include "et_schema/node.h"

namespace reprise {

// The node's tensors have other sizes than `inputs` and `outputs`, which were its values: shapes,
// strides, places and lengths among its arguments become theirs.
void ChangeSizesAmongArguments(Node& node, const ValueList& inputs, const ValueList& outputs);

}  // namespace reprise
