// The shapes of a call's inputs as text: runs and comparisons distinguish calls by it.
#pragma once

#include <string>

#include "core/value.h"

namespace reprise {

// "[8,64] [64,64]": of the tensors among the inputs, the first few of long lists.
[[nodiscard]] std::string InputShapesText(const OpCall& call);

}  // namespace reprise
