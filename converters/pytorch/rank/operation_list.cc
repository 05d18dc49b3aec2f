#include "converters/pytorch/rank/operation_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include "converters/pytorch/alignment/call_sequences.h"
#include "converters/pytorch/alignment/thread_repeats.h"
#include "converters/pytorch/rank/identity.h"

namespace reprise::pytorch {
namespace {

// rf_id 0 belongs to the process and thread nodes, several at once, and never to an operation.
std::unordered_map<std::int64_t, std::int32_t> IndexByRecordFunction(const HostTrace& host,
                                                                     const std::string& label,
                                                                     Diagnostics& diagnostics) {
  std::unordered_map<std::int64_t, std::int32_t> index;
  index.reserve(host.nodes.size());
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const HostNode& node = host.nodes[i];
    if (node.rf_id > 0 && !index.emplace(node.rf_id, static_cast<std::int32_t>(i)).second) {
      diagnostics.Count("duplicate_record_function_id",
                        fmt::format("{}: node {} {}", label, node.id, *node.name));
    }
  }
  return index;
}

// By event: the host record of the same id and name, else -1.
struct MatchedIds {
  std::vector<std::int32_t> host_of_event;
  std::size_t matched = 0;
  std::size_t possible = 0;  // of the smaller file
  std::size_t span = 0;  // records between the first and the last matched id, of the smaller file

  // The rule of alignment: 90 % of what the matches span, and half of the smaller file.
  [[nodiscard]] bool Agree() const {
    return matched > 0 && matched * 2 >= possible &&
           static_cast<double>(matched) >= kMinAgreement * static_cast<double>(span);
  }
};

void FindSpan(const HostTrace& host, const KinetoTrace& kineto, MatchedIds& out) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < kineto.events.size(); ++i) {
    if (out.host_of_event[i] >= 0) {
      first = std::min(first, kineto.events[i].rf_id);
      last = std::max(last, kineto.events[i].rf_id);
    }
  }
  const auto inside = [&](const auto& record) {
    return record.rf_id > 0 && record.rf_id >= first && record.rf_id <= last;
  };
  out.span = static_cast<std::size_t>(
      std::min(std::count_if(host.nodes.begin(), host.nodes.end(), inside),
               std::count_if(kineto.events.begin(), kineto.events.end(), inside)));
}

MatchedIds MatchIds(const HostTrace& host, const KinetoTrace& kineto, const std::string& label,
                    Diagnostics& diagnostics) {
  const auto index = IndexByRecordFunction(host, label, diagnostics);
  MatchedIds out;
  out.host_of_event.assign(kineto.events.size(), -1);
  std::vector<bool> used(host.nodes.size(), false);
  std::size_t events_with_id = 0;
  for (std::size_t i = 0; i < kineto.events.size(); ++i) {
    const KinetoEvent& event = kineto.events[i];
    events_with_id += event.rf_id > 0 ? 1 : 0;
    const auto it = index.find(event.rf_id);
    if (it != index.end() &&
        *host.nodes[static_cast<std::size_t>(it->second)].name == *event.name) {
      if (used[static_cast<std::size_t>(it->second)]) {
        diagnostics.Count("duplicate_record_function_id",
                          fmt::format("{}: Kineto's {} again with record function {}", label,
                                      *event.name, event.rf_id));
        continue;
      }
      used[static_cast<std::size_t>(it->second)] = true;
      out.host_of_event[i] = it->second;
      ++out.matched;
    }
  }
  out.possible = std::min(index.size(), events_with_id);
  FindSpan(host, kineto, out);
  return out;
}

Result<AlignedEvents> AlignByOrder(const HostTrace& host, const KinetoTrace& kineto,
                                   RepeatChoice choice, const std::string& label,
                                   Diagnostics& diagnostics) {
  AlignedEvents out;
  if (kineto.untimed) {
    out.host_of_event = kineto.host_nodes;
    out.in_span.assign(kineto.events.size(), true);
    return out;
  }
  MatchedIds ids = MatchIds(host, kineto, label, diagnostics);
  const bool device_alone = host.nodes.empty() && kineto.events.empty();
  if (device_alone || ids.Agree()) {
    // Ids are a process's own: all ranks of a job count alike, so that agreement proves nothing.
    REPRISE_TRY(CheckProcess(host, kineto, label));
    out.host_of_event = std::move(ids.host_of_event);
    out.in_span.assign(kineto.events.size(), true);
    out.report = {.method = "record function id", .matched = ids.matched, .choice = "only one"};
    return out;
  }
  auto aligned = LinkByAlignment(host, kineto, choice, label);
  if (!aligned) {
    aligned.error().message += fmt::format(" (by record-function id, {} of {} match)", ids.matched,
                                           std::max(ids.possible, ids.span));
    return aligned;
  }
  diagnostics.Count("linked_by_order", label, aligned->report.matched);
  // The first steps, and those that the host trace's observer slowed down.
  if (const LinkReport& link = aligned->report; link.repeat_ns * 2 > link.repeat_median_ns * 3) {
    diagnostics.Count("repeat_slower_than_median",
                      fmt::format("{}: {} ns against {} ns; --repeat median takes another", label,
                                  link.repeat_ns, link.repeat_median_ns));
  }
  if (aligned->another_step) {
    diagnostics.Count("linked_to_another_step", label);
  }
  if (aligned->other_process) {
    diagnostics.Count("linked_to_another_process", label);
  }
  return aligned;
}

void AddExample(LinkReport& report, std::string example) {
  constexpr std::size_t kMaxExamples = 8;
  if (report.unmatched.size() < kMaxExamples) {
    report.unmatched.push_back(std::move(example));
  }
}

void AddOperations(const HostTrace& host, const KinetoTrace& kineto, const AlignedEvents& match,
                   const std::string& label, OperationList& list, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < kineto.events.size(); ++i) {
    if (!match.in_span[i]) {
      continue;
    }
    const KinetoEvent& event = kineto.events[i];
    Operation op{.name = event.name,
                 .start_ns = event.start_ns,
                 .end_ns = event.end_ns,
                 .rf_id = event.rf_id,
                 .host = match.host_of_event[i],
                 .event = static_cast<std::int32_t>(i),
                 .annotation = event.annotation,
                 .transfer = IsTransferRecord(*event.name)};
    if (op.host >= 0) {
      op.rf_id = host.nodes[static_cast<std::size_t>(op.host)].rf_id;
    } else if (!event.annotation) {
      std::string what = fmt::format("{} record function {}", *event.name, event.rf_id);
      diagnostics.Count("operation_without_host_record", fmt::format("{}: {}", label, what));
      AddExample(list.link, fmt::format("Kineto thread {}: {}", event.thread, what));
    }
    ++list.link.timed_records;
    list.operations.push_back(op);
  }
}

// Only records that could have a partner count as matched: Kineto shows the observer's own frames
// and the start of process groups, too.
void CountHostRecords(const HostTrace& host, const AlignedEvents& match, const std::string& label,
                      LinkReport& report, Diagnostics& diagnostics) {
  std::vector<bool> used(host.nodes.size(), false);
  for (const std::int32_t node : match.host_of_event) {
    if (node >= 0) {
      used[static_cast<std::size_t>(node)] = true;
    }
  }
  report.matched = 0;
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const HostNode& node = host.nodes[i];
    if (!IsLinkable(node)) {
      continue;
    }
    ++report.host_records;
    if (used[i]) {
      report.matched += report.method.empty() ? 0 : 1;  // a host trace alone has no times
    } else {
      std::string what = fmt::format("{} record function {}", *node.name, node.rf_id);
      diagnostics.Count("host_record_without_time", fmt::format("{}: {}", label, what));
      AddExample(report, fmt::format("host thread {}: {} (node {})", node.thread, what, node.id));
    }
  }
}

// Whatever linked them: two runs of one program agree in many calls.
Status CheckShare(const HostTrace& host, const LinkReport& report, const std::string& label) {
  if (report.method.empty() || report.host_records == 0 ||
      static_cast<double>(report.matched) >=
          kMinAgreement * static_cast<double>(report.host_records)) {
    return {};
  }
  return BadInput(fmt::format(
      "{}: host trace and Kineto trace do not belong together: {:.1f} % of the host trace's "
      "records "
      "have their times in the Kineto trace ({} of {} by {}; needed: {:.0f} %); unmatched: {}; "
      "give "
      "the two files of one rank, recorded at one time",
      label, 100 * static_cast<double>(report.matched) / static_cast<double>(report.host_records),
      report.matched, report.host_records, report.method, 100 * kMinAgreement,
      report.unmatched.empty() ? fmt::format("{} records", host.nodes.size())
                               : report.unmatched.front()));
}

// Span and threads.
void Summarise(const HostTrace& host, OperationList& list) {
  std::map<std::int64_t, std::uint64_t> host_records;
  for (const HostNode& node : host.nodes) {
    host_records[node.thread] += IsLinkable(node) ? 1 : 0;
  }
  for (const OperationThread& thread : list.threads) {
    LinkReport::Thread row{.timed = thread.kineto_id};
    for (std::int32_t i = thread.first; i < thread.last; ++i) {
      const std::int32_t node = list.Op(i).host;
      row.matched += node >= 0 && IsLinkable(host.nodes[static_cast<std::size_t>(node)]) ? 1 : 0;
      ++row.timed_records;
    }
    // Workers of gloo run what is counted to the threads that issued it.
    const auto it = host_records.find(thread.number);
    if (row.matched > 0 && it != host_records.end()) {
      row.host = thread.number;
      row.host_records = it->second;
      host_records.erase(it);
    }
    list.link.threads.push_back(row);
  }
  for (const auto& [thread, records] : host_records) {
    if (records > 0) {
      list.link.threads.push_back({.host = thread, .host_records = records});
    }
  }
  if (list.operations.empty()) {
    return;
  }
  list.start_ns = list.operations.front().start_ns;
  list.end_ns = list.operations.front().end_ns;
  for (const Operation& op : list.operations) {
    list.start_ns = std::min(list.start_ns, op.start_ns);
    list.end_ns = std::max(list.end_ns, op.end_ns);
  }
}

}  // namespace

Result<OperationList> LinkOperations(const HostTrace& host, const KinetoTrace& kineto,
                                     RepeatChoice choice, const std::string& label,
                                     Diagnostics& diagnostics) {
  REPRISE_ASSIGN(const AlignedEvents match, AlignByOrder(host, kineto, choice, label, diagnostics));
  OperationList list;
  list.link = match.report;
  list.operations.reserve(kineto.events.size());
  AddOperations(host, kineto, match, label, list, diagnostics);
  CountHostRecords(host, match, label, list.link, diagnostics);
  REPRISE_TRY(CheckShare(host, list.link, label));
  NestOperations(host, kineto, match.order, label, list, diagnostics);
  Summarise(host, list);
  return list;
}

}  // namespace reprise::pytorch
