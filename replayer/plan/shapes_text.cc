#include "replayer/plan/shapes_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace reprise {

std::string InputShapesText(const OpCall& call) {
  constexpr std::size_t kMax = 4;
  const std::vector<const TensorDesc*> tensors = TensorsIn(call.inputs);
  std::string text;
  for (std::size_t i = 0; i < std::min(tensors.size(), kMax); ++i) {
    text += fmt::format("{}[{}]", i == 0 ? "" : " ", fmt::join(tensors[i]->shape, ","));
  }
  return tensors.size() > kMax ? text + fmt::format(" and {} more", tensors.size() - kMax) : text;
}

}  // namespace reprise
