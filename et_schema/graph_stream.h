// A graph from nodes that come one after the other and are kept nowhere else.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/node.h"

namespace reprise {

// As Graph::Build, without holding all nodes at once.
class GraphStream {
 public:
  // `origin` begins messages.
  explicit GraphStream(const std::string& origin);
  ~GraphStream();
  [[nodiscard]] Status Add(const Node& node);
  // Once, after the last node.
  [[nodiscard]] Result<Graph> Finish(TraceMetadata metadata);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise
