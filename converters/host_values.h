// Arguments as the host trace writes them → core/value.h.
#pragma once

#include <simdjson.h>

#include "core/value.h"

namespace reprise {

// {"values": […], "shapes": […], "types": […], "strides": […]}, four parallel lists:
//   "values": [[100, 101, 0, 256, 4, "cpu"], [4, 65], "<None>"],
//   "types": ["Tensor(float)", "GenericList[Int,Int]", "None"]
// Tensors are [tensor id, storage id, offset, elements, item bytes, device]; incarnations are
// still unset (-1) here. Never fails: what makes no sense becomes NoneValue.
[[nodiscard]] ValueList ParseArguments(simdjson::dom::element arguments);

}  // namespace reprise
