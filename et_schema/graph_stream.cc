#include "et_schema/graph_stream.h"

#include <utility>

#include "et_schema/graph_impl.h"

namespace reprise {

struct GraphStream::State {
  explicit State(const std::string& origin) : builder(origin) {}
  GraphBuilder builder;
  NodeView view;
};

GraphStream::GraphStream(const std::string& origin) : state_(std::make_unique<State>(origin)) {}
GraphStream::~GraphStream() = default;

Status GraphStream::Add(const Node& node) {
  ViewOf(node, state_->view);
  return state_->builder.Add(state_->view);
}

Result<Graph> GraphStream::Finish(TraceMetadata metadata) {
  return state_->builder.Finish(std::move(metadata), {});
}

}  // namespace reprise
