#include "workload/families/family.h"

namespace reprise {

const KindRegistry<ModelFamily>& BuiltinFamilies() {
  static const KindRegistry<ModelFamily> builtin = [] {
    KindRegistry<ModelFamily> all;
#define FAMILY(name) all.push_back(Make##name());
#include "workload/families.def"
#undef FAMILY
    return all;
  }();
  return builtin;
}

const ModelFamily* FindFamily(std::string_view name) { return FindByName(BuiltinFamilies(), name); }

}  // namespace reprise
