// What the user may choose about the work that a trace becomes (docs/definitions.md, "Modes").
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/records.h"
#include "core/result.h"
#include "et_schema/graph.h"

namespace reprise {

// kUntraced: as recorded, less what tracing took (as the converter estimated), timed operations
// too. kAuto: kUntraced where the traces of all ranks have that estimate, else kKeep (which a
// simulation keeps in any case: it is compared with what was recorded).
enum class HostGaps : std::uint8_t { kKeep, kUntraced, kScale, kDrop, kAuto };

// What becomes of collectives whose group has more or fewer members than recorded
// (docs/parts.md): the whole message stays as recorded, or every member's block of it does.
enum class GroupSizes : std::uint8_t { kKeep, kScale };

struct StreamId {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  bool operator==(const StreamId&) const = default;
};

// Which part of the set is replayed, and on which ranks (docs/parts.md).
struct PartOptions {
  std::vector<std::int32_t> ranks;         // rank k of the run replays ranks[k]; empty: all
  bool one_trace = false;                  // all ranks of the run replay one recorded rank
  std::optional<std::int32_t> trace_rank;  // which; absent: the lowest that is there
  std::optional<GroupSizes> group_sizes;   // absent: keep with `ranks`, scale with `one_trace`
  std::vector<std::int32_t> steps;         // recorded steps, by index; empty: all
  std::string range;                       // NAME or NAME:K; empty: everything
};

struct PlanOptions {
  PartOptions part;
  std::vector<StreamId> streams;  // only these device streams execute; empty: all
  ReplayMode default_op_mode = ReplayMode::kReal;
  ReplayMode default_comm_mode = ReplayMode::kReal;
  std::map<OpClass, ReplayMode> op_modes;     // --ops gemm=timed,…
  std::map<CommKind, ReplayMode> comm_modes;  // --comms all_reduce=skip,…
  HostGaps host_gaps = HostGaps::kKeep;
  double host_gap_scale = 1.0;            // with kScale
  double time_scale = 1.0;                // of timed nodes of classes without one of their own
  std::map<OpClass, double> time_scales;  // --time-scale gemm=0.5,comm=2
  double stretch = 1.0;  // at least 1: of executed nodes of host threads, modelled by waiting
  std::map<OpClass, double> stretches;  // --stretch conv=1.3
  // A thread need not wait for a stretched node: its stream does (Backend::stretches_streams).
  bool stretches_streams = false;
  bool assume_groups = false;  // run although a transfer's group is unknown
  // Of a simulation: makes another trace of each rank's, before a part of it is chosen. `rank`: of
  // the recorded job.
  std::function<Result<Graph>(const Graph& graph, std::int32_t rank)> edit;

  [[nodiscard]] ReplayMode ModeOf(OpClass op_class) const;
  [[nodiscard]] ReplayMode ModeOf(CommKind kind) const;
  [[nodiscard]] double TimeScaleOf(OpClass op_class) const;
  [[nodiscard]] double StretchOf(OpClass op_class) const;
  // Factor on delays and host nodes: 1, the scale, or 0.
  [[nodiscard]] double GapFactor() const;
};

// For the manifest: `ops` and `comms`, the modes of what has none of its own, and `ops.<class>`,
// `comms.<kind>` where given.
[[nodiscard]] std::map<std::string, std::string> DescribeModes(const PlanOptions& options);

// For the manifest: `host_gap_factor` (or "untraced"); `time_scale`, `stretch` where not 1, and
// `time_scale.<class>`, `stretch.<class>` where given.
[[nodiscard]] std::map<std::string, std::string> DescribeTimes(const PlanOptions& options);

}  // namespace reprise
