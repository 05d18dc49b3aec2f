#include "workload/families/family.h"

namespace reprise {

const std::vector<std::unique_ptr<ModelFamily>>& BuiltinFamilies() {
  static const std::vector<std::unique_ptr<ModelFamily>> builtin = [] {
    std::vector<std::unique_ptr<ModelFamily>> all;
#define FAMILY(name) all.push_back(Make##name());
#include "workload/families.def"
#undef FAMILY
    return all;
  }();
  return builtin;
}

const ModelFamily* FindFamily(std::string_view name) {
  for (const auto& family : BuiltinFamilies()) {
    if (family->name() == name) {
      return family.get();
    }
  }
  return nullptr;
}

}  // namespace reprise
