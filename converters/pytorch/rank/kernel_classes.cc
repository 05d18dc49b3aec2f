// Classes of kernels whose operators are unknown.
#include <string>
#include <unordered_map>

#include "converters/pytorch/rank/stages.h"
#include "core/kernel_names.h"

namespace reprise::pytorch {

void ClassifyByKernelNames(RankCapture& rank) {
  std::unordered_map<const std::string*, OpClass> classes;
  for (std::size_t e = 0; e < rank.links.events.size(); ++e) {
    EventLink& link = rank.links.events[e];
    const DeviceEvent& event = rank.kineto.device.events[e];
    const bool known =
        link.node >= 0 && link.recorded.graph < 0 && rank.InfoOf(link.node).kind == OpKind::kWork;
    if (known || event.kind != DeviceEvent::Kind::kKernel) {
      continue;
    }
    const auto [it, added] = classes.try_emplace(event.name);
    if (added) {
      it->second = ClassOfKernelName(*event.name);
    }
    const bool compiled = event.compiled != nullptr && event.compiled->op_class != OpClass::kOther;
    link.named_class = compiled ? event.compiled->op_class : it->second;
  }
}

}  // namespace reprise::pytorch
