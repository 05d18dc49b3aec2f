#include "converters/astra_sim/tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/value.h"

namespace reprise::astra_sim {

Result<RankTensors> RankTensors::Create(const Graph& graph) {
  RankTensors out;
  out.incarnations_.resize(graph.size());
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    REPRISE_ASSIGN(const OpCall call, graph.Call(i));
    std::vector<std::int64_t>& mentioned = out.incarnations_[i];
    for (const bool result : {false, true}) {
      for (const TensorDesc* tensor : TensorsIn(result ? call.outputs : call.inputs)) {
        const auto [it, first] = out.tensors_.try_emplace(tensor->incarnation);
        if (first && result) {
          it->second.written = true;
          it->second.writer = i;
        }
        it->second.bytes = std::max(it->second.bytes, tensor->elements * SizeOf(tensor->dtype));
        mentioned.push_back(tensor->incarnation);
      }
    }
    std::sort(mentioned.begin(), mentioned.end());
    mentioned.erase(std::unique(mentioned.begin(), mentioned.end()), mentioned.end());
  }
  return out;
}

std::vector<std::string> RankTensors::List(Graph::Index node, bool written) const {
  std::vector<std::string> out;
  for (const std::int64_t incarnation : incarnations_[node]) {
    const Tensor& tensor = tensors_.at(incarnation);
    if ((tensor.written && tensor.writer == node) == written && tensor.bytes > 0) {
      out.push_back(fmt::format("t{}", incarnation));
      out.push_back(std::to_string(tensor.bytes));
    }
  }
  return out;
}

std::vector<std::vector<Graph::Index>> RankTensors::Writers() const {
  std::vector<std::vector<Graph::Index>> out(incarnations_.size());
  for (Graph::Index i = 0; i < out.size(); ++i) {
    for (const std::int64_t incarnation : incarnations_[i]) {
      const Tensor& tensor = tensors_.at(incarnation);
      if (tensor.written && tensor.writer != i && tensor.bytes > 0) {
        out[i].push_back(tensor.writer);
      }
    }
    std::sort(out[i].begin(), out[i].end());
    out[i].erase(std::unique(out[i].begin(), out[i].end()), out[i].end());
  }
  return out;
}

}  // namespace reprise::astra_sim
