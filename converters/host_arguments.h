// Arguments as the host trace writes them → core/value.h.
#pragma once

#include <simdjson.h>

#include "converters/plain_json.h"
#include "core/value.h"

namespace reprise {

// Parallel lists: {"values": […], "shapes": […], "types": […], "strides": […]} in a node's inputs
// and outputs, or (before schema 1.0.2) a node's own members inputs, input_shapes, input_types:
//   "values": [[100, 101, 0, 256, 4, "cpu"], [4, 65], "<None>"],
//   "types": ["Tensor(float)", "GenericList[Int,Int]", "None"]
// Tensors are [tensor id, storage id, offset, elements, item bytes, device], the first versions
// wrote no device; without strides they are taken as contiguous.
struct ArgumentLists {
  using Member = simdjson::simdjson_result<simdjson::dom::element>;
  Member values, shapes, types, strides;
};
// The same, read by PlainJson; absent: null.
struct PlainArgumentLists {
  using Member = PlainElement;
  Member values, shapes, types, strides;
};

// The lists of a node's "inputs" or "outputs".
[[nodiscard]] ArgumentLists NestedLists(simdjson::dom::element arguments);

// Incarnations are still unset (-1) here. Never fails: what makes no sense becomes NoneValue.
// `odd` is set if there are no values, or fewer shapes or types than values.
[[nodiscard]] ValueList ParseArguments(const ArgumentLists& lists, bool& odd);
[[nodiscard]] ValueList ParseArguments(const PlainArgumentLists& lists, bool& odd);

}  // namespace reprise
