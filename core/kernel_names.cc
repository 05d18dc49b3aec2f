#include "core/kernel_names.h"

#include <algorithm>
#include <string>

#include "core/text.h"

namespace reprise {
namespace {

struct KernelNameRow {
  std::string_view part;
  OpClass op_class = OpClass::kOther;
};

constexpr KernelNameRow kKernelNames[] = {
#define KERNEL_NAME(part, op_class) {part, OpClass::op_class},
#include "core/kernel_names.def"
#undef KERNEL_NAME
};

}  // namespace

OpClass ClassOfKernelName(std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const KernelNameRow& row : kKernelNames) {
    if (lower.find(row.part) != std::string::npos) {
      return row.op_class;
    }
  }
  return OpClass::kOther;
}

bool IsFusedKernelName(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"triton_poi_", "triton_red_", "triton_per_"};
  return std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace reprise
