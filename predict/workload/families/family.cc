#include "predict/workload/families/family.h"

#include <array>

#include "predict/workload/registry.h"

namespace reprise {

#define FAMILY(name) ModelFamily name##Family();
#include "predict/workload/families.def"
#undef FAMILY

std::span<const ModelFamily> BuiltinFamilies() {
  static const auto builtin = std::to_array<ModelFamily>({
#define FAMILY(name) name##Family(),
#include "predict/workload/families.def"
#undef FAMILY
  });
  return builtin;
}

const ModelFamily* FindFamily(std::string_view name) { return FindByName(BuiltinFamilies(), name); }

}  // namespace reprise
