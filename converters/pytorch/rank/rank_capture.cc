#include "converters/pytorch/rank/rank_capture.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <limits>

#include "converters/other_forms.h"
#include "converters/pytorch/files/kineto_text.h"
#include "converters/pytorch/kineto/kineto_host.h"
#include "converters/pytorch/rank/graph_matches.h"
#include "converters/pytorch/rank/identity.h"
#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

// As the program marked them; a capture without marks is one step, from its first event to its last
// end. FrameSteps adds what the device did later.
void FindSteps(RankCapture& rank) {
  const auto& ops = rank.list.operations;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].name->starts_with(kStepPrefix)) {
      rank.step_operations.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::sort(
      rank.step_operations.begin(), rank.step_operations.end(),
      [&](std::int32_t a, std::int32_t b) { return rank.Op(a).start_ns < rank.Op(b).start_ns; });
  if (rank.step_operations.empty()) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    const auto add = [&](const auto& list) {
      for (const auto& item : list) {
        first = std::min(first, item.start_ns);
        last = std::max(last, item.end_ns);
      }
    };
    add(ops);
    add(rank.kineto.device.calls);
    add(rank.kineto.device.events);
    rank.base_ns = first;
    rank.steps.push_back({.name = "trace", .start_ns = 0, .duration_ns = last - first});
    return;
  }
  rank.base_ns = rank.Op(rank.step_operations.front()).start_ns;
  for (const std::int32_t i : rank.step_operations) {
    const Operation& op = rank.Op(i);
    rank.steps.push_back({.name = *op.name,
                          .start_ns = op.start_ns - rank.base_ns,
                          .duration_ns = op.end_ns - op.start_ns});
  }
}

// What parsing took and freed lies scattered among what was read; the peak comes later.
void TrimHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

Status ReadFiles(RankCapture& rank) {
  const RankFiles& files = rank.files;
  if (!files.host.empty()) {
    REPRISE_TRY(CheckForm(files.host));
    REPRISE_ASSIGN(const std::unique_ptr<TextSource> text, TextSource::Open(files.host));
    REPRISE_ASSIGN(rank.host, ReadHostTrace(*text, rank.diagnostics));
  }
  if (files.kineto.empty()) {
    rank.kineto = KinetoOf(rank.host, rank.diagnostics);
    return {};
  }
  REPRISE_ASSIGN(const std::unique_ptr<TextSource> text,
                 OpenKinetoText(files.kineto, files.kineto_process));
  REPRISE_ASSIGN(rank.kineto, ReadKineto(*text, files.host.empty(), rank.diagnostics));
  if (files.host.empty()) {
    rank.host = HostTraceOf(rank.kineto, files.kineto, rank.diagnostics);
  }
  return {};
}

}  // namespace

std::int32_t RankCapture::FirstIn(std::int32_t call, std::string_view name) const {
  for (std::int32_t i = call; i >= 0 && i < Op(call).subtree; ++i) {
    if (Op(i).name->starts_with(name)) {
      return i;
    }
  }
  return -1;
}

CommSources RankCapture::SourcesOf(std::int32_t call) const {
  if (call < 0 || InfoOf(call).kind != OpKind::kComm) {
    return {};
  }
  const std::int32_t record = FirstIn(call, "record_param_comms");
  const std::int32_t annotation = FirstIn(call, "nccl:");
  CommSources out{.kineto = KinetoCommOf(record),
                  .record = HostOf(record),
                  .call = HostOf(call),
                  .call_name = *Op(call).name};
  constexpr std::string_view kPrefix = "nccl:";
  if (annotation >= 0) {
    out.annotation = std::string_view(*Op(annotation).name).substr(kPrefix.size());
  }
  return out;
}

std::string RankCapture::FrameOf(std::int32_t operation) const {
  for (std::int32_t at = Op(operation).parent; at >= 0; at = Op(at).parent) {
    if (RoleOf(at) == Role::kFrame) {
      return *Op(at).name;
    }
  }
  return {};
}

std::string RankCapture::NameOf(const TransferRecord& transfer) const {
  const std::int32_t operation = transfer.call >= 0 ? transfer.call : transfer.leaf;
  const std::string* const name = transfer.device_event >= 0 ? Event(transfer.device_event).name
                                  : operation >= 0           ? Op(operation).name
                                                             : nullptr;
  return fmt::format("{}: {}", label, name == nullptr ? "a transfer" : *name);
}

std::int32_t RankCapture::StepAt(std::int64_t time_ns) const {
  if (step_operations.empty()) {
    return 0;
  }
  const auto next =
      std::upper_bound(step_operations.begin(), step_operations.end(), time_ns,
                       [this](std::int64_t time, std::int32_t i) { return time < Op(i).start_ns; });
  const bool after = next == step_operations.end() && time_ns >= Op(step_operations.back()).end_ns;
  return after ? -1 : static_cast<std::int32_t>(next - step_operations.begin()) - 1;
}

Result<RankCapture> ReadRank(const RankFiles& files, RepeatChoice choice,
                             const GraphSources& graphs) {
  RankCapture rank{.files = files};
  REPRISE_TRY(ReadFiles(rank));
  TrimHeap();
  rank.rank = files.rank >= 0
                  ? files.rank
                  : static_cast<std::int32_t>(std::max<std::int64_t>(0, rank.kineto.rank));
  if (rank.kineto.rank >= 0 && rank.kineto.rank != rank.rank) {
    return BadInput(fmt::format(
        "{}: is of rank {} by its own account, but taken as rank {}{}", files.kineto,
        rank.kineto.rank, rank.rank,
        files.host.empty() ? "" : fmt::format(", beside the host trace {}", files.host)));
  }
  rank.label = fmt::format("rank {}", rank.rank);
  rank.world_size = StatedWorldSize(rank.host, rank.kineto);
  REPRISE_TRY(CheckFiles(rank));
  REPRISE_ASSIGN(rank.list,
                 LinkOperations(rank.host, rank.kineto, choice,
                                files.host.empty() ? files.kineto : files.host, rank.diagnostics));
  if (files.host.empty() || files.kineto.empty()) {
    rank.list.link = {};  // one file: nothing was linked
  }
  if (rank.list.operations.size() < rank.kineto.events.size()) {
    KeepSpan(rank.list.start_ns, rank.list.end_ns, rank.label, rank.kineto.device,
             rank.diagnostics);
  }
  Classify(rank);
  LinkDevice(rank);
  FindWaitSources(rank);
  if (files.host.empty()) {
    InferKinetoResults(rank);
  }
  AssignIncarnations(rank);
  MatchGraphs(graphs, rank);
  ClassifyByKernelNames(rank);
  FindTransfers(rank);
  FindSteps(rank);
  rank.ranges = FindRanges(rank);
  if (!files.meta.empty()) {
    REPRISE_ASSIGN(rank.meta, ReadMeta(files.meta, rank.diagnostics));
  }
  rank.kineto.events = std::vector<KinetoEvent>();  // linked: no longer needed
  return rank;
}

}  // namespace reprise::pytorch
