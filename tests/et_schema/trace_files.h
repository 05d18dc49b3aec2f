// Small traces and what becomes of them, for tests.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/io.h"
#include "et_schema/node.h"

namespace reprise {

inline Status WriteTrace(const std::string& path, const std::vector<Node>& nodes,
                         const TraceMetadata& metadata = {}) {
  REPRISE_ASSIGN(auto writer, EtWriter::Create(path, metadata));
  for (const Node& node : nodes) {
    REPRISE_TRY(writer->Write(node));
  }
  return writer->Close();
}

inline Result<std::vector<Node>> ReadTrace(const std::string& path) {
  REPRISE_ASSIGN(const auto reader, EtReader::Open(path));
  std::vector<Node> nodes;
  while (true) {
    REPRISE_ASSIGN(const bool more, reader->Next(nodes.emplace_back()));
    if (!more) {
      nodes.pop_back();
      return nodes;
    }
  }
}

// A node that waits for `deps`.
inline Node MakeNode(std::uint64_t id, std::int64_t start_ns,
                     const std::vector<std::uint64_t>& deps = {}) {
  Node node;
  node.id = id;
  node.name = "aten::mm";
  node.type = NodeType::kComp;
  node.start_ns = start_ns;
  for (const std::uint64_t dep : deps) {
    node.deps.push_back({.node_id = dep, .reason = EdgeReason::kThread});
  }
  return node;
}

}  // namespace reprise
