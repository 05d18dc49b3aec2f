#include "converters/recorded_transfers/transfer_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "converters/finish_trace.h"
#include "converters/operation_cost.h"
#include "converters/output_files.h"
#include "converters/recorded_transfers/align_transfers.h"
#include "converters/recorded_transfers/recorded_groups.h"
#include "converters/recorded_transfers/where_ranks_stand.h"
#include "core/text.h"

namespace reprise::recorded_transfers {
namespace {

namespace fs = std::filesystem;

Status CheckRanks(const std::string& directory, std::vector<RecordedRank>& ranks) {
  std::ranges::sort(ranks, {}, &RecordedRank::rank);
  const auto twice = std::ranges::adjacent_find(
      ranks, [](const RecordedRank& a, const RecordedRank& b) { return a.rank == b.rank; });
  if (twice != ranks.end()) {
    return BadInput(
        fmt::format("{} and {}: two files for rank {}; remove one, or give the files "
                    "of one job",
                    twice->path, std::next(twice)->path, twice->rank));
  }
  std::set<std::int32_t> missing;
  const std::int32_t world_size = WorldSizeOf(ranks);
  auto at = ranks.begin();
  constexpr std::size_t kMostNamed = 1024;
  for (std::int32_t rank = 0; rank < world_size && missing.size() < kMostNamed; ++rank) {
    if (at != ranks.end() && at->rank == rank) {
      ++at;
    } else {
      missing.insert(rank);
    }
  }
  if (!missing.empty()) {
    return BadInput(fmt::format(
        "{}: no file of rank{} {}: the job had {} ranks, files of {} are there; copy the missing "
        "files here, or convert one file",
        directory, missing.size() == 1 ? "" : "s", NumbersText(missing), world_size, ranks.size()));
  }
  return {};
}

// The first transfers of a rank, and its last, hours apart from another's: no job does that.
Status CheckRecordedTogether(const std::vector<RecordedRank>& ranks) {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  const RecordedRank* earliest = nullptr;  // the one that ended first
  std::int64_t earliest_end_ns = INT64_MAX;
  for (const RecordedRank& rank : ranks) {
    std::int64_t end_ns = -1;
    for (const RecordedTransfer& transfer : rank.transfers) {
      end_ns = std::max({end_ns, transfer.spec.issued_ns, transfer.spec.noticed_end_ns});
    }
    if (end_ns >= 0 && end_ns < earliest_end_ns) {
      earliest = &rank;
      earliest_end_ns = end_ns;
    }
  }
  for (const RecordedRank& rank : ranks) {
    std::int64_t begin_ns = INT64_MAX;
    for (const RecordedTransfer& transfer : rank.transfers) {
      const std::int64_t ns =
          transfer.spec.issued_ns >= 0 ? transfer.spec.issued_ns : transfer.spec.noticed_end_ns;
      begin_ns = ns >= 0 ? std::min(begin_ns, ns) : begin_ns;
    }
    if (begin_ns < INT64_MAX && begin_ns - kHourNs > earliest_end_ns) {
      return BadInput(fmt::format(
          "{} and {}: of two jobs: the first ends {:.1f} hours before the second begins; give the "
          "files of one job",
          earliest->path, rank.path,
          static_cast<double>(begin_ns - earliest_end_ns) / static_cast<double>(kHourNs)));
    }
  }
  return {};
}

Node NodeOf(RecordedTransfer& transfer, std::uint64_t id) {
  Node node;
  node.id = id;
  node.name = transfer.name;
  node.type = TypeOfTransfer(transfer.spec.kind);
  node.kind = OpKind::kComm;
  node.op_class = OpClass::kComm;
  node.actor = {.kind = Actor::Kind::kGroup};
  node.start_ns = transfer.start_ns;
  node.untimed = transfer.duration_ns < 0;
  node.duration_ns = std::max<std::int64_t>(transfer.duration_ns, 0);
  node.transfer_ns = transfer.transfer_ns;
  node.comm = std::move(transfer.spec);
  return node;
}

// To the transfer that ended last before each started. Nodes by start.
void ChainByEnd(std::vector<Node>& nodes) {
  using Ended = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> running;
  std::size_t last = SIZE_MAX;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    while (!running.empty() && running.top().first <= nodes[i].start_ns) {
      last = running.top().second;
      running.pop();
    }
    if (last != SIZE_MAX) {
      nodes[i].deps.push_back(
          {.node_id = nodes[last].id, .reason = EdgeReason::kThread, .inferred = true});
    }
    running.emplace(nodes[i].start_ns + nodes[i].duration_ns, i);
  }
}

// Times of recorders count from the trace's base, as starts do.
void RebaseTimes(std::int64_t base_ns, CommSpec& spec) {
  for (std::int64_t* ns : {&spec.issued_ns, &spec.noticed_start_ns, &spec.noticed_end_ns}) {
    *ns = *ns >= base_ns && base_ns > 0 ? *ns - base_ns : -1;
  }
}

class SetWriter {
 public:
  SetWriter(const ConvertRequest& request, std::vector<RecordedRank> ranks)
      : request_(request), ranks_(std::move(ranks)) {}

  Result<ConvertReport> Run() {
    const bool whole_set = !request_.input_directory.empty();
    if (whole_set) {
      REPRISE_TRY(CheckRanks(request_.input_directory, ranks_));
      REPRISE_TRY(CheckRecordedTogether(ranks_));
    }
    const std::int32_t world_size = WorldSizeOf(ranks_);
    const bool all_ranks = static_cast<std::size_t>(world_size) == ranks_.size();
    REPRISE_ASSIGN(groups_, AssignGroups(ranks_, all_ranks, report_.diagnostics));
    REPRISE_ASSIGN(clocks_,
                   AlignTransfers(ranks_, groups_, {.all_ranks = all_ranks}, report_.diagnostics));
    report_.notes = WhereRanksStand(ranks_, groups_);
    REPRISE_ASSIGN(OutputFiles output, OpenOutput());
    Summarise();
    if (request_.strict) {
      REPRISE_TRY(RefuseLosses(
          report_.diagnostics,
          {"group_unknown", "transfer_mismatch", "transfer_kind_unknown", "transfer_size_unknown",
           "transfer_root_unknown", "transfer_peer_unknown", "transfer_without_counterpart",
           "transfer_parts_unequal", "transfer_without_length", "transfers_dropped",
           "recorder_value_unreadable"}));
    }
    for (RecordedRank& rank : ranks_) {
      REPRISE_TRY(Write(rank, world_size, output));
    }
    REPRISE_TRY(output.Publish(groups_));
    return std::move(report_);
  }

 private:
  Result<OutputFiles> OpenOutput() const {
    if (!request_.output_file.empty()) {
      if (ranks_.size() > 1) {
        return UsageError("one file cannot hold a set of ranks; give a directory to write to");
      }
      return OutputFiles::OneFile(request_.output_file, request_.force);
    }
    std::error_code error;
    const std::string& input =
        request_.input_directory.empty() ? request_.input_file : request_.input_directory;
    const fs::path path = fs::absolute(input, error).lexically_normal();
    std::string name =
        (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
    if (request_.input_directory.empty()) {
      name = name.substr(0, name.find('.'));
    }
    return OutputFiles::Directory(request_, name);
  }

  void Summarise() {
    for (RecordedRank& rank : ranks_) {
      for (const RecordedTransfer& transfer : rank.transfers) {
        Count(transfer, rank);
      }
      report_.diagnostics.Merge(rank.diagnostics);
    }
  }
  void Count(const RecordedTransfer& transfer, RecordedRank& rank) {
    const CommSpec& spec = transfer.spec;
    const std::string where = fmt::format("{}: {}", rank.path, transfer.where);
    const std::string_view lacks = LacksOf(spec);
    constexpr std::pair<std::string_view, std::string_view> kCounters[] = {
        {"kind", "transfer_kind_unknown"},
        {"size", "transfer_size_unknown"},
        {"root", "transfer_root_unknown"},
        {"peer", "transfer_peer_unknown"}};
    for (const auto& [what, counter] : kCounters) {
      if (lacks == what) {
        rank.diagnostics.Count(counter, where);
      }
    }
    if (transfer.duration_ns < 0) {
      rank.diagnostics.Count("transfer_without_length", where);
    }
    if (spec.issued_ns < 0 && transfer.started_ns < 0) {
      rank.diagnostics.Count("transfer_start_by_dump", where);
    }
    const bool matters = lacks.empty() || lacks == kLacksGroup;
    report_.recorded_groups += spec.certainty == GroupCertainty::kRecorded ? 1 : 0;
    report_.inferred_groups += spec.certainty == GroupCertainty::kInferred ? 1 : 0;
    report_.unknown_groups += spec.certainty == GroupCertainty::kUnknown && matters ? 1 : 0;
    if (const auto group = groups_.find(spec.group); group != groups_.end()) {
      const std::string& description = group->second.description;
      ++report_.groups[fmt::format("{} ({})", group->first, description)];
    }
  }

  Status Write(RecordedRank& rank, std::int32_t world_size, const OutputFiles& output) {
    std::ranges::stable_sort(rank.transfers, {}, &RecordedTransfer::start_ns);
    std::vector<Node> nodes;
    std::map<std::uint64_t, std::int64_t> index_of;
    for (RecordedTransfer& transfer : rank.transfers) {
      nodes.push_back(NodeOf(transfer, nodes.size()));
      if (!nodes.back().comm->group.empty()) {
        index_of[nodes.back().id] = nodes.back().comm->index;
      }
    }
    ChainByEnd(nodes);
    REPRISE_ASSIGN(FinishedTrace finished,
                   FinishTrace(rank.path, rank.rank, std::move(nodes), rank.diagnostics));
    for (Node& node : finished.nodes) {
      RebaseTimes(finished.base_ns, *node.comm);
      // By the numbers of recorders, as matched, where FinishTrace counted.
      if (const auto at = index_of.find(node.id); at != index_of.end()) {
        node.comm->index = at->second;
      }
      AddCost(request_.costs, node);
    }
    TraceMetadata metadata;
    metadata.rank = rank.rank;
    metadata.world_size = world_size;
    metadata.base_ns = finished.base_ns;
    metadata.source = rank.source;
    metadata.steps = std::move(finished.steps);
    metadata.placement.host = rank.host;
    metadata.clock_offset_ns = clocks_.OffsetAt(rank.rank, finished.base_ns);
    const ClockModel& clock = clocks_.clocks[static_cast<std::size_t>(rank.rank)];
    metadata.clock_drift = clock.drift;
    metadata.clock_uncertainty_ns = clock.uncertainty_ns;
    metadata.diagnostics = rank.diagnostics.Counts();
    if (!request_.output_file.empty()) {
      for (const auto& [id, group] : groups_) {
        metadata.groups.push_back(group);
      }
    }
    REPRISE_ASSIGN(ConvertedRank written, output.WriteRank(finished.nodes, metadata));
    written.recorded_operations = rank.records;
    report_.ranks.push_back(std::move(written));
    return {};
  }

  const ConvertRequest& request_;
  std::vector<RecordedRank> ranks_;
  std::map<std::string, ProcessGroup> groups_;
  ClockFit clocks_;
  ConvertReport report_;
};

}  // namespace

Result<ConvertReport> WriteTransferSet(const ConvertRequest& request,
                                       std::vector<RecordedRank> ranks) {
  const bool empty =
      std::ranges::all_of(ranks, [](const RecordedRank& rank) { return rank.transfers.empty(); });
  if (empty) {
    return BadInput(fmt::format(
        "{}: no transfer is in it; record while the job communicates",
        request.input_directory.empty() ? request.input_file : request.input_directory));
  }
  return SetWriter(request, std::move(ranks)).Run();
}

}  // namespace reprise::recorded_transfers
