#include "kernels/kernel.h"

namespace reprise {

#define KERNEL(name) std::unique_ptr<Kernel> Make##name();
#include "kernels/builtin.def"
#undef KERNEL

const KernelRegistry& KernelRegistry::Builtin() {
  static const KernelRegistry kRegistry;
  return kRegistry;
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
  for (const Kernel* kernel : it->second) {
    if (kernel->Supports(call)) {
      return kernel;
    }
  }
  return nullptr;
}

}  // namespace reprise
