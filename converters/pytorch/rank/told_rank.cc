#include "converters/pytorch/rank/told_rank.h"

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/stored_values.h"

namespace reprise::pytorch {
namespace {

struct ToldTransfer {
  std::uint64_t name = 0;  // index into ToldRank::names
  bool named = false;
  bool called = false;
  bool on_device = false;
  std::int64_t call_end_ns = 0;
  std::int32_t thread = -1;
  std::int64_t worker = -1;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t wait_ns = -1;
  bool wait_blocked = false;
  std::int64_t transfer_ns = -1;
  CommSpec spec;
  std::int32_t group_root = -1, group_peer = -1, peer = -1, group_size = -1;
  bool blocking = false, lists = false, sends_part = false, splits_unknown = false;
  std::uint64_t sent = 0, received = 0;
  CommAttributes said;
};

struct ToldRank {
  RankFiles files;
  std::int32_t rank = 0, world_size = -1;
  std::string label;
  std::int64_t host_process = -1, host_local_start_s = -1, host_length_ms = -1;
  std::vector<GroupRecord> host_groups;
  std::int64_t kineto_process = -1, kineto_rank = -1, kineto_world_size = -1;
  std::int64_t kineto_first_ns = 0, kineto_last_ns = -1;
  bool kineto_untimed = false;
  std::string kineto_backend, kineto_host_name;
  std::vector<GroupRecord> kineto_groups;
  std::vector<Step> steps;
  bool marked_steps = false;
  std::string job;
  std::map<std::string, Diagnostics::Counter> diagnostics;
  std::vector<std::string> names;
  std::vector<ToldTransfer> transfers;
};

// As RankCapture::NameOf takes it.
const std::string* RecordedName(const RankCapture& rank, const TransferRecord& transfer) {
  const std::int32_t operation = transfer.call >= 0 ? transfer.call : transfer.leaf;
  return transfer.device_event >= 0 ? rank.Event(transfer.device_event).name
         : operation >= 0           ? rank.Op(operation).name
                                    : nullptr;
}

ToldTransfer Tell(const RankCapture& rank, const TransferRecord& transfer) {
  const CommArguments& arguments = transfer.arguments;
  return {.called = transfer.call >= 0,
          .on_device = transfer.device_event >= 0,
          .call_end_ns = transfer.call < 0 ? 0 : rank.Op(transfer.call).end_ns,
          .thread = transfer.thread,
          .worker = transfer.worker,
          .start_ns = transfer.start_ns,
          .end_ns = transfer.end_ns,
          .wait_ns = transfer.wait_ns,
          .wait_blocked = transfer.wait_blocked,
          .transfer_ns = transfer.transfer_ns,
          .spec = arguments.spec,
          .group_root = arguments.group_root,
          .group_peer = arguments.group_peer,
          .peer = arguments.peer,
          .group_size = arguments.group_size,
          .blocking = arguments.blocking,
          .lists = arguments.lists,
          .sends_part = arguments.sends_part,
          .splits_unknown = arguments.splits_unknown,
          .sent = arguments.sent.size(),
          .received = arguments.received.size(),
          .said = arguments.said};
}

// An operation for each transfer, and an event for those of a device.
TransferRecord Hear(ToldTransfer& told, const std::string* name, RankCapture& rank) {
  TransferRecord transfer{.thread = told.thread,
                          .worker = told.worker,
                          .start_ns = told.start_ns,
                          .end_ns = told.end_ns,
                          .wait_ns = told.wait_ns,
                          .wait_blocked = told.wait_blocked,
                          .transfer_ns = told.transfer_ns};
  CommArguments& arguments = transfer.arguments;
  arguments.spec = std::move(told.spec);
  arguments.group_root = told.group_root;
  arguments.group_peer = told.group_peer;
  arguments.peer = told.peer;
  arguments.group_size = told.group_size;
  arguments.blocking = told.blocking;
  arguments.lists = told.lists;
  arguments.sends_part = told.sends_part;
  arguments.splits_unknown = told.splits_unknown;
  arguments.sent.resize(told.sent);
  arguments.received.resize(told.received);
  arguments.said = std::move(told.said);
  if (told.named || told.called) {
    (told.called ? transfer.call : transfer.leaf) = rank.OperationCount();
    rank.list.operations.push_back({.name = name, .end_ns = told.call_end_ns});
  }
  if (told.on_device) {
    transfer.device_event = static_cast<std::int32_t>(rank.kineto.device.events.size());
    rank.kineto.device.events.emplace_back().name = name;
  }
  return transfer;
}

}  // namespace

std::string TellRank(const RankCapture& rank) {
  ToldRank told{.files = rank.files,
                .rank = rank.rank,
                .world_size = rank.world_size,
                .label = rank.label,
                .host_process = rank.host.process,
                .host_local_start_s = rank.host.local_start_s,
                .host_length_ms = rank.host.length_ms,
                .host_groups = rank.host.groups,
                .kineto_process = rank.kineto.process,
                .kineto_rank = rank.kineto.rank,
                .kineto_world_size = rank.kineto.world_size,
                .kineto_first_ns = rank.kineto.first_ns,
                .kineto_last_ns = rank.kineto.last_ns,
                .kineto_untimed = rank.kineto.untimed,
                .kineto_backend = rank.kineto.backend,
                .kineto_host_name = rank.kineto.host_name,
                .kineto_groups = rank.kineto.groups,
                .steps = rank.steps,
                .marked_steps = !rank.step_operations.empty(),
                .job = rank.meta.job,
                .diagnostics = rank.diagnostics.Snapshot()};
  std::unordered_map<std::string, std::uint64_t> known;
  for (const TransferRecord& transfer : rank.transfers) {
    ToldTransfer& to = told.transfers.emplace_back(Tell(rank, transfer));
    if (const std::string* const name = RecordedName(rank, transfer); name != nullptr) {
      const auto [at, added] = known.try_emplace(*name, told.names.size());
      if (added) {
        told.names.push_back(*name);
      }
      to.name = at->second;
      to.named = true;
    }
  }
  std::string bytes;
  ValueWriter write(bytes);
  write(told);
  return bytes;
}

bool HearRank(std::string_view bytes, RankCapture& rank) {
  ToldRank told;
  ValueReader read(bytes, TextsRead::kAsWritten);
  read(told);
  if (!read.AtEnd()) {
    return false;
  }
  rank.files = std::move(told.files);
  rank.rank = told.rank;
  rank.world_size = told.world_size;
  rank.label = std::move(told.label);
  rank.host.process = told.host_process;
  rank.host.local_start_s = told.host_local_start_s;
  rank.host.length_ms = told.host_length_ms;
  rank.host.groups = std::move(told.host_groups);
  rank.kineto.process = told.kineto_process;
  rank.kineto.rank = told.kineto_rank;
  rank.kineto.world_size = told.kineto_world_size;
  rank.kineto.first_ns = told.kineto_first_ns;
  rank.kineto.last_ns = told.kineto_last_ns;
  rank.kineto.untimed = told.kineto_untimed;
  rank.kineto.backend = std::move(told.kineto_backend);
  rank.kineto.host_name = std::move(told.kineto_host_name);
  rank.kineto.groups = std::move(told.kineto_groups);
  rank.kineto.strings = std::make_shared<StringPool>();
  rank.steps = std::move(told.steps);
  rank.step_operations.assign(told.marked_steps ? 1 : 0, 0);
  rank.meta.job = std::move(told.job);
  rank.diagnostics = Diagnostics(told.diagnostics);
  for (ToldTransfer& transfer : told.transfers) {
    if (transfer.named && transfer.name >= told.names.size()) {
      return false;
    }
    const std::string* const name =
        transfer.named ? rank.kineto.strings->Intern(told.names[transfer.name]) : nullptr;
    rank.transfers.push_back(Hear(transfer, name, rank));
  }
  return true;
}

bool TakeFindings(RankCapture& heard, RankCapture& read) {
  if (heard.rank != read.rank || heard.transfers.size() != read.transfers.size()) {
    return false;
  }
  read.world_size = heard.world_size;
  read.groups = std::move(heard.groups);
  read.diagnostics = heard.diagnostics;
  for (std::size_t i = 0; i < read.transfers.size(); ++i) {
    TransferRecord& from = heard.transfers[i];
    TransferRecord& to = read.transfers[i];
    to.end_ns = from.end_ns;
    to.wait_blocked = from.wait_blocked;
    to.transfer_ns = from.transfer_ns;
    // What was heard has as many tensors as were not found to be another member's.
    from.arguments.sent.swap(to.arguments.sent);
    from.arguments.received.swap(to.arguments.received);
    const std::size_t sent = to.arguments.sent.size();
    const std::size_t received = to.arguments.received.size();
    to.arguments = std::move(from.arguments);
    if (to.arguments.sent.size() < sent || to.arguments.received.size() < received) {
      return false;
    }
    to.arguments.sent.resize(sent);
    to.arguments.received.resize(received);
  }
  return true;
}

}  // namespace reprise::pytorch
