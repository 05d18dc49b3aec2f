// A family of models: its defaults, its rules and its units. One file and one line of
// workload/families.def each (docs/add_a_model.md).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "workload/parameters.h"
#include "workload/registry.h"

namespace reprise {

// The part of the model that one chunk of a stage holds.
struct ModelPart {
  bool first = true, last = true;  // with embedding; with head and loss
  std::int64_t first_layer = 0, layers = 0;
};

class ModelFamily {
 public:
  virtual ~ModelFamily() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view help() const = 0;
  // What a description of this family means where it says nothing.
  virtual void SetDefaults(ModelShape& model) const = 0;
  // Sizes that follow from others, after the description was read.
  virtual void Complete(Workload& workload) const = 0;
  // Bad input: the rule that is broken. CheckWorkload adds the nearest layout that works.
  [[nodiscard]] virtual Status Check(const Workload& workload) const = 0;
  [[nodiscard]] virtual std::vector<std::unique_ptr<Unit>> Units(const Workload& workload,
                                                                 const ModelPart& part,
                                                                 const Place& place) const = 0;
  // Of what travels between stages.
  [[nodiscard]] virtual std::vector<std::int64_t> HiddenShape(const Workload& workload) const = 0;
  // A number that ranks of a class share, beside their stage; by place.
  [[nodiscard]] virtual std::int64_t Variant(const Workload&, const Place&) const { return 0; }
};

[[nodiscard]] const KindRegistry<ModelFamily>& BuiltinFamilies();
// Null: none of that name.
[[nodiscard]] const ModelFamily* FindFamily(std::string_view name);
#define FAMILY(name) [[nodiscard]] std::unique_ptr<ModelFamily> Make##name();
#include "workload/families.def"
#undef FAMILY

}  // namespace reprise
