// A family of models: its defaults, its rules and its units. One file and one line of
// predict/workload/families.def each (docs/add_a_model.md).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/workload/parameters.h"

namespace reprise {

// The part of the model that one chunk of a stage holds.
struct ModelPart {
  bool first = true, last = true;  // with embedding; with head and loss
  std::int64_t first_layer = 0, layers = 0;
  // The model's first part, where the same rank has it apart from this one.
  const Units* first_units = nullptr;
};

struct ModelFamily {
  std::string_view name;
  // What a description of this family means where it says nothing.
  void (*set_defaults)(ModelShape& model);
  // Sizes that follow from others, after the description was read.
  void (*complete)(Workload& workload);
  // Bad input: the rule that is broken.
  Status (*check)(const Workload& workload);
  Units (*units)(const Workload& workload, const ModelPart& part, const Place& place);
  // Of what travels between stages.
  std::vector<std::int64_t> (*hidden_shape)(const Workload& workload);
  // A number that ranks of a class share, beside their stage; by place.
  std::int64_t (*variant)(const Workload& workload, const Place& place);
};

[[nodiscard]] std::span<const ModelFamily> BuiltinFamilies();
// Null: none of that name.
[[nodiscard]] const ModelFamily* FindFamily(std::string_view name);

}  // namespace reprise
