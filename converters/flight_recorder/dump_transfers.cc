#include "converters/flight_recorder/dump_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/text.h"

namespace reprise::flight_recorder {
namespace {

using recorded_transfers::RecordedRank;
using recorded_transfers::RecordedTransfer;

// -1: not known.
std::int64_t BytesOf(const std::vector<DumpTensor>& tensors) {
  // More would overflow in sums; no message is near it.
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  std::int64_t bytes = 0;
  for (const DumpTensor& tensor : tensors) {
    if (tensor.elements == 0) {
      continue;
    }
    const std::int64_t item = SizeOf(tensor.dtype);
    if (tensor.elements < 0 || item == 0 || tensor.elements > kMost / item) {
      return -1;
    }
    bytes += tensor.elements * item;
    if (bytes > kMost) {
      return -1;
    }
  }
  return bytes;
}

DType TypeOf(const DumpEntry& entry) {
  for (const auto* side : {&entry.inputs, &entry.outputs}) {
    for (const DumpTensor& tensor : *side) {
      if (tensor.dtype != DType::kUnknown) {
        return tensor.dtype;
      }
    }
  }
  return DType::kUnknown;
}

// Elements for each member, where members have different ones; else empty.
std::vector<std::int64_t> UnevenSplits(const std::vector<DumpTensor>& tensors) {
  std::vector<std::int64_t> out;
  const bool even = std::ranges::all_of(tensors, [&](const DumpTensor& tensor) {
    return tensor.elements == tensors.front().elements;
  });
  for (std::size_t i = 0; !even && i < tensors.size(); ++i) {
    out.push_back(tensors[i].elements);
  }
  return out;
}

// "nccl:send 0->1" → 1, "nccl:recv 0<-1" → 1: the other side's position in the group.
std::int32_t PeerIn(std::string_view name) {
  std::size_t at = name.find("->");
  at = at == std::string_view::npos ? name.find("<-") : at;
  if (at == std::string_view::npos) {
    return -1;
  }
  const std::string_view number = name.substr(at + 2);
  const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
  return ParseNumber<std::int32_t>(number.substr(0, digits)).value_or(-1);
}

std::size_t Filled(const std::vector<DumpTensor>& tensors) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensors, [](const DumpTensor& tensor) { return tensor.elements != 0; }));
}

// Of a launch alone: "nccl:coalesced".
bool IsNamedLaunch(const DumpEntry& entry) { return LowerCase(entry.name).ends_with(":coalesced"); }

// Launches of one kind of collective ("nccl:ALLGATHER_coalesced") have no tensors, or empty sizes.
// A collective of several tensors ("nccl:allreduce_coalesced") has its own.
bool MayBeLaunch(const DumpEntry& entry) {
  const auto is_empty = [](const DumpTensor& tensor) {
    return tensor.elements == 0 || tensor.elements == 1;
  };
  return IsNamedLaunch(entry) || (LowerCase(entry.name).ends_with("coalesced") &&
                                  std::ranges::all_of(entry.inputs, is_empty) &&
                                  std::ranges::all_of(entry.outputs, is_empty));
}

class TransferReader {
 public:
  TransferReader(const Dump& dump, const std::string& path) : dump_(dump), path_(path) {}

  RecordedRank Run() {
    out_.rank = dump_.rank;
    out_.path = path_;
    out_.host = dump_.host;
    out_.source = fmt::format("pytorch flight recorder {} {}", dump_.version, dump_.form);
    out_.records = dump_.entries.size();
    out_.from_start = dump_.entries.empty() || dump_.entries.front().record == 0;
    for (const DumpGroup& group : dump_.groups) {
      AddGroup(group.name, group.description, group.ranks);
    }
    std::vector<DumpEntry> entries = dump_.entries;
    for (DumpEntry& entry : entries) {
      // gloo's calls have no events that say how far they got: what is retired has ended.
      if (entry.retired && entry.name.starts_with("gloo:")) {
        entry.state = TransferState::kCompleted;
      }
    }
    std::map<std::string, std::vector<std::size_t>> of_group;  // entries before, in order
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::vector<std::size_t>& before = of_group[entries[i].group];
      if (MayBeLaunch(entries[i])) {
        SpreadLaunch(entries, i, before);
      }
      before.push_back(i);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (launches_.contains(i)) {
        out_.diagnostics.Count("coalesced_launch", WhereOf(entries[i], i));
      } else {
        AddTransfer(entries[i], i);
      }
    }
    return std::move(out_);
  }

 private:
  std::int32_t AddGroup(const std::string& name, const std::string& description,
                        const std::vector<std::int32_t>& ranks) {
    const auto [at, added] =
        group_of_.try_emplace(name, static_cast<std::int32_t>(out_.groups.size()));
    if (added) {
      out_.groups.push_back({.name = name, .description = description, .ranks = ranks});
    }
    return at->second;
  }

  [[nodiscard]] std::string WhereOf(const DumpEntry& entry, std::size_t index) const {
    return fmt::format(
        "entry {} ({}{}{})", index, entry.name,
        entry.collective >= 0 ? fmt::format(", collective {}", entry.collective) : "",
        entry.retired && entry.state != TransferState::kCompleted ? ", timed out" : "");
  }

  // Entries of one launch have its group and numbers, no times but their creation's, and stand
  // right before it among the group's.
  void SpreadLaunch(std::vector<DumpEntry>& entries, std::size_t at,
                    const std::vector<std::size_t>& before) {
    const DumpEntry launch = entries[at];
    std::size_t parts = 0;
    for (std::size_t k = before.size(); k-- > 0;) {
      const std::size_t i = before[k];
      DumpEntry& part = entries[i];
      if (part.collective != launch.collective || part.p2p != launch.p2p || launches_.contains(i)) {
        break;
      }
      part.noticed_start_ns = launch.noticed_start_ns;
      part.noticed_end_ns = launch.noticed_end_ns;
      part.duration_ns = launch.duration_ns;
      part.state = launch.state;
      part.retired = launch.retired;
      ++parts;
    }
    if (parts > 0 || IsNamedLaunch(launch)) {
      launches_.emplace(at, parts);
    }
  }

  void AddTransfer(const DumpEntry& entry, std::size_t index) {
    RecordedTransfer& transfer = out_.transfers.emplace_back();
    transfer.name = entry.name.empty() ? "transfer" : entry.name;
    transfer.where = WhereOf(entry, index);
    transfer.group = AddGroup(entry.group, entry.group_description, {});
    transfer.duration_ns = entry.duration_ns;
    CommSpec& spec = transfer.spec;
    spec.kind = ParseCommKind(entry.name).value_or(CommKind::kUnknown);
    spec.async = true;
    spec.state = entry.state;
    spec.issued_ns = entry.created_ns;
    spec.noticed_start_ns = entry.noticed_start_ns;
    spec.noticed_end_ns = entry.noticed_end_ns;
    const bool pair = IsPointToPoint(spec.kind);
    spec.sequence = pair ? entry.p2p : entry.collective;
    spec.peer = pair ? PeerIn(entry.name) : -1;
    SetSizes(entry, spec);
    // The root alone has all members' tensors.
    transfer.is_root = (spec.kind == CommKind::kGather && Filled(entry.outputs) > 0) ||
                       (spec.kind == CommKind::kScatter && Filled(entry.inputs) > 0);
  }

  static void SetSizes(const DumpEntry& entry, CommSpec& spec) {
    spec.dtype = TypeOf(entry);
    if (spec.kind == CommKind::kBarrier) {
      return;
    }
    const std::int64_t in = spec.kind == CommKind::kRecv ? 0 : BytesOf(entry.inputs);
    const std::int64_t out = spec.kind == CommKind::kSend ? 0 : BytesOf(entry.outputs);
    spec.bytes_known = in >= 0 && out >= 0 && spec.dtype != DType::kUnknown &&
                       !(entry.inputs.empty() && entry.outputs.empty());
    if (!spec.bytes_known) {
      return;
    }
    spec.in_bytes = in;
    spec.out_bytes = out;
    const bool gathers = spec.kind == CommKind::kAllGather || spec.kind == CommKind::kGather;
    const bool scatters = IsScattering(spec.kind);
    if (gathers && entry.inputs.size() == 1 && entry.outputs.size() > 1) {
      spec.out_splits = UnevenSplits(entry.outputs);
    } else if (scatters && entry.outputs.size() == 1 && entry.inputs.size() > 1) {
      spec.in_splits = UnevenSplits(entry.inputs);
    } else if (spec.kind == CommKind::kAllToAll && entry.inputs.size() > 1) {
      spec.in_splits = UnevenSplits(entry.inputs);
      spec.out_splits = UnevenSplits(entry.outputs);
      if (spec.in_splits.empty() != spec.out_splits.empty()) {  // even on one side only: say both
        auto& missing = spec.in_splits.empty() ? spec.in_splits : spec.out_splits;
        for (const DumpTensor& tensor : spec.in_splits.empty() ? entry.inputs : entry.outputs) {
          missing.push_back(tensor.elements);
        }
      }
    }
  }

  const Dump& dump_;
  const std::string& path_;
  RecordedRank out_;
  std::map<std::string, std::int32_t> group_of_;
  std::map<std::size_t, std::size_t> launches_;  // entry → how many it carried out
};

}  // namespace

RecordedRank TransfersOf(const Dump& dump, const std::string& path) {
  return TransferReader(dump, path).Run();
}

}  // namespace reprise::flight_recorder
