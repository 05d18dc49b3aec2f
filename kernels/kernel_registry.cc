#include <algorithm>

#include "core/operator_table.h"
#include "core/text.h"
#include "kernels/kernel.h"

namespace reprise {

#define KERNEL(name) std::unique_ptr<Kernel> Make##name();
#include "kernels/builtin.def"
#undef KERNEL

std::span<const std::string_view> Kernel::operators() const {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<std::string_view>> by_kernel;
    for (const OperatorRow& row : OperatorRows()) {
      for (const std::string_view kernel : SplitText(row.kernels, ' ')) {
        by_kernel[kernel].push_back(row.name);
      }
    }
    return by_kernel;
  }();
  const auto it = table.find(name());
  return it == table.end() ? std::span<const std::string_view>() : it->second;
}

const KernelRegistry& KernelRegistry::Builtin() {
  static const KernelRegistry registry;
  return registry;
}

KernelRegistry::KernelRegistry() {
#define KERNEL(name) kernels_.push_back(Make##name());
#include "kernels/builtin.def"
#undef KERNEL
  for (const std::unique_ptr<Kernel>& kernel : kernels_) {
    for (const std::string_view op : kernel->operators()) {
      by_operator_[op].push_back(kernel.get());
    }
  }
}

const Kernel* KernelRegistry::Find(const OpCall& call) const {
  const auto it = by_operator_.find(call.name);
  if (it == by_operator_.end()) {
    return nullptr;
  }
  const auto kernel =
      std::ranges::find_if(it->second, [&](const Kernel* one) { return one->Supports(call); });
  return kernel == it->second.end() ? nullptr : *kernel;
}

const Kernel* FindBuiltinKernel(const OpCall& call) { return KernelRegistry::Builtin().Find(call); }

}  // namespace reprise
