// Selects the part of one rank's trace to replay (docs/parts.md): a smaller graph, made before
// planning, so that plan, engine, estimate, dry run and report see a trace like any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "replayer/plan/options.h"

namespace reprise {

// A part of the recording without a hole: neighbouring steps, or one occurrence of a range.
struct Piece {
  std::vector<Step> steps;  // as recorded; of a range one, the occurrence
};

struct Selection {
  // By node: its piece and its step among those of all pieces; −1: left out.
  std::vector<std::int32_t> piece;
  std::vector<std::int32_t> step;
  std::vector<Piece> pieces;  // in the order in which they follow each other
  bool is_range = false;
};

// Steps by index, and the range: host nodes that start in an occurrence on its thread (on threads
// of autograd too, if it calls them), and what these launch or issue, directly or not. Usage error
// where the trace has no such step, range or occurrence, or nothing in it; it lists what there is.
[[nodiscard]] Result<Selection> SelectNodes(const Graph& graph, const PartOptions& part);

// The chosen nodes alone. Pieces are moved together: each starts when the one before has ended.
// Edges from nodes that were left out are cut and counted (`edge_cut`); what they held back keeps
// its recorded distance to the latest dependency that it still has, or to the start of its piece.
// The graph's steps are the selection's; an occurrence lasts until the last of its nodes ended.
[[nodiscard]] Result<Graph> Extract(const Graph& graph, const Selection& selection,
                                    Diagnostics& diagnostics);

// Usage error if no node is on any of the streams; it lists those that there are.
[[nodiscard]] Status CheckStreams(const Graph& graph, const std::vector<StreamId>& streams);

}  // namespace reprise
