#include "converters/pytorch/kineto/other_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/counters.h"

namespace reprise::pytorch {
namespace {

// Transfers of Ascend's library have rows, and no stream.
constexpr std::int64_t kFirstTransferStream = 1'000'000;

using StreamOf = std::pair<std::int32_t, std::int64_t>;  // device, stream

class OtherPlacer {
 public:
  OtherPlacer(const EventRows& rows, const ProcessNames& names,
              const std::vector<LaunchArrow>& arrows, DeviceTrace& trace)
      : rows_(rows), names_(names), trace_(trace) {
    std::map<std::int64_t, const LaunchArrow*> begins;  // by id
    for (const LaunchArrow& arrow : arrows) {
      if (arrow.begins) {
        begins[arrow.id] = &arrow;
      }
    }
    for (const LaunchArrow& arrow : arrows) {
      if (const auto from = begins.find(arrow.id); !arrow.begins && from != begins.end()) {
        launches_[{arrow.row, arrow.at_ns}] = from->second;
      }
    }
    for (const EventRow& row : rows.All()) {
      if (row.operations > 0) {
        hosts_.insert(row.process);
      }
    }
    for (const DeviceEvent& event : trace.events) {
      busy_[{event.device, event.stream}].emplace_back(event.start_ns, event.end_ns);
    }
    for (auto& [stream, spans] : busy_) {
      std::sort(spans.begin(), spans.end());
    }
  }

  void Run(std::vector<OtherEvent>& others, const std::string& path, Diagnostics& diagnostics) {
    std::set<std::int64_t> transfers;  // ids of their launches
    for (const OtherEvent& other : others) {
      if (IsTransfer(other)) {
        transfers.insert(other.event.work.correlation);
      }
    }
    transfers.erase(-1);
    std::erase_if(others, [&](const OtherEvent& other) {
      const bool sync = other.names_stream && other.stream_sync;
      const bool part = other.names_stream && transfers.contains(other.event.work.correlation);
      const std::int64_t ns = other.event.end_ns - other.event.start_ns;
      const auto example = [&] { return fmt::format("{}: {}", path, *other.event.name); };
      if (sync) {
        CountTime("stream_sync_left_out", ns, diagnostics, example());
      } else if (part) {
        CountTime("transfer_part_left_out", ns, diagnostics, example());
      }
      return sync || part;
    });
    std::map<const std::string*, std::pair<std::size_t, std::size_t>> inside;  // of all
    for (const OtherEvent& other : others) {
      if (IsWork(other)) {
        auto& [within, all] = inside[other.category];
        within += IsWithinWork(other.event) ? 1 : 0;
        ++all;
      }
    }
    for (OtherEvent& other : others) {
      const auto& [within, all] = inside[other.category];
      if (IsWork(other) && 2 * within <= all) {
        Launch(other);
        trace_.events.push_back(std::move(other.event));
      } else if (IsCall(other)) {
        trace_.calls.push_back({.name = other.event.name,
                                .kind = RuntimeKindOf(*other.event.name),
                                .thread = other.row,
                                .start_ns = other.event.start_ns,
                                .end_ns = other.event.end_ns,
                                .correlation = other.event.work.correlation});
      } else if (!IsSummary(other)) {
        Sum& sum = left_out_[{IsHost(other), Label(other)}];
        ++sum.count;
        sum.ns += other.event.end_ns - other.event.start_ns;
      }
    }
  }

  void Count(const std::string& path, Diagnostics& diagnostics) const {
    for (const auto& [key, sum] : left_out_) {
      const auto& [host, label] = key;
      CountTime(host ? "host_category_left_out: " + label : "device_category_left_out: " + label,
                sum.ns, diagnostics, path, sum.count);
    }
  }

 private:
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t ns = 0;
  };

  void Launch(OtherEvent& other) {
    if (IsTransfer(other)) {
      other.event.stream = kFirstTransferStream + other.event.stream;
    }
    const auto arrow = launches_.find({other.row, other.event.start_ns});
    if (arrow == launches_.end()) {
      return;
    }
    const LaunchArrow& from = *arrow->second;
    other.event.work.correlation = from.id;
    trace_.calls.push_back({.name = other.event.name,
                            .kind = RuntimeKind::kOther,
                            .thread = from.row,
                            .start_ns = from.at_ns,
                            .end_ns = from.at_ns,
                            .correlation = from.id});
  }

  [[nodiscard]] const RowId& ProcessOf(const OtherEvent& other) const {
    return rows_.All()[static_cast<std::size_t>(other.row)].process;
  }
  [[nodiscard]] bool IsHost(const OtherEvent& other) const {
    const auto named = names_.find(ProcessOf(other));
    return hosts_.contains(ProcessOf(other)) ||
           (named != names_.end() && named->second.second.starts_with("CPU"));
  }
  [[nodiscard]] bool IsWork(const OtherEvent& other) const {
    const DeviceEvent& event = other.event;
    return other.names_stream || IsTransfer(other) ||
           (!IsHost(other) && !other.category->empty() &&
            (event.work.correlation >= 0 || event.external_id >= 0 ||
             IsDevice(names_, ProcessOf(other))));
  }
  [[nodiscard]] static bool IsTransfer(const OtherEvent& other) {
    return other.category->empty() && other.event.name->starts_with("hcom_");
  }
  [[nodiscard]] bool IsCall(const OtherEvent& other) const {
    return IsHost(other) && !other.names_stream &&
           (other.event.work.correlation >= 0 || IsHostWait(RuntimeKindOf(*other.event.name)));
  }
  [[nodiscard]] bool IsWithinWork(const DeviceEvent& event) const {
    const auto stream = busy_.find({event.device, event.stream});
    if (stream == busy_.end()) {
      return false;
    }
    const auto& spans = stream->second;
    const auto after =
        std::upper_bound(spans.begin(), spans.end(), std::pair(event.start_ns, INT64_MAX));
    return (after != spans.end() && after->first < event.end_ns) ||
           (after != spans.begin() && std::prev(after)->second > event.start_ns);
  }
  // Ascend's rows of what other rows add up to, and of what its transfers consist of.
  [[nodiscard]] bool IsSummary(const OtherEvent& other) const {
    const auto named = names_.find(ProcessOf(other));
    return named != names_.end() && other.category->empty() &&
           (named->second.first == "Overlap Analysis" || named->second.first == "HCCL" ||
            named->second.first == "Communication");
  }
  // "category mtia_ccp_events", "no category on 'Overlap Analysis'"
  [[nodiscard]] std::string Label(const OtherEvent& other) const {
    if (!other.category->empty()) {
      return fmt::format("category {}", *other.category);
    }
    const auto named = names_.find(ProcessOf(other));
    const std::string& name = named != names_.end() && !named->second.first.empty()
                                  ? named->second.first
                                  : RowText(ProcessOf(other));
    return fmt::format("no category in process {}", name);
  }

  const EventRows& rows_;
  const ProcessNames& names_;
  DeviceTrace& trace_;
  std::set<RowId> hosts_;
  std::map<std::pair<std::int64_t, std::int64_t>, const LaunchArrow*>
      launches_;  // by row and start
  std::map<StreamOf, std::vector<std::pair<std::int64_t, std::int64_t>>> busy_;
  std::map<std::pair<bool, std::string>, Sum> left_out_;
};

}  // namespace

void PlaceOtherEvents(const std::string& path, std::vector<OtherEvent>& others,
                      const std::vector<LaunchArrow>& arrows, const EventRows& rows,
                      const ProcessNames& names, DeviceTrace& trace, Diagnostics& diagnostics) {
  if (others.empty()) {
    return;
  }
  OtherPlacer placer(rows, names, arrows, trace);
  placer.Run(others, path, diagnostics);
  placer.Count(path, diagnostics);
  others.clear();
}

}  // namespace reprise::pytorch
