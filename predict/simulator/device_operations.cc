#include "predict/simulator/device_operations.h"

#include <algorithm>

namespace reprise {

bool HasStreams(std::span<const Graph> graphs) {
  return std::ranges::any_of(graphs, [](const Graph& graph) {
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (graph.comm(i) == nullptr && graph.actor(i).kind == Actor::Kind::kStream) {
        return true;
      }
    }
    return false;
  });
}

bool HasThreads(std::span<const Graph> graphs) {
  return std::ranges::any_of(graphs, [](const Graph& graph) {
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (graph.comm(i) == nullptr && graph.actor(i).kind == Actor::Kind::kThread) {
        return true;
      }
    }
    return false;
  });
}

bool DoesWork(const Graph& graph, Graph::Index i) {
  return graph.comm(i) != nullptr || graph.actor(i).kind == Actor::Kind::kStream ||
         graph.kind(i) == OpKind::kWork;
}

bool WorksOnDevice(OpClass op_class) {
  return op_class != OpClass::kMetadata && op_class != OpClass::kComm &&
         op_class != OpClass::kHost && op_class != OpClass::kOther;
}

bool IsOperation(const Graph& graph, Graph::Index i, bool streams) {
  if (graph.comm(i) != nullptr) {
    return false;
  }
  return streams ? graph.actor(i).kind == Actor::Kind::kStream : graph.kind(i) == OpKind::kWork;
}

}  // namespace reprise
