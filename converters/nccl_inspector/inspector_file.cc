#include "converters/nccl_inspector/inspector_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "converters/json_members.h"
#include "converters/json_split.h"
#include "converters/text_source.h"
#include "core/input_file.h"
#include "core/text.h"

namespace reprise::nccl_inspector {
namespace {

using simdjson::dom::element;

constexpr std::string_view kNewestVersion = "4.4";
constexpr std::size_t kLongestText = 1024;
// No time or size of a record is beyond.
constexpr double kMostMicroseconds = 4e15;

std::string TextOf(const JsonMember& value) {
  return std::string(TextOr(value).substr(0, kLongestText));
}

// Host and number.
using ProcessKey = std::pair<std::string, std::int64_t>;

class InspectorReader {
 public:
  explicit InspectorReader(const TextFile& file) : file_(file) {}

  Result<std::vector<InspectorFile>> Run() {
    std::optional<std::size_t> cut;
    REPRISE_ASSIGN(const std::vector<std::string_view> values, SplitValues(file_, &cut));
    if (cut) {
      diagnostics_.Count("recorder_record_cut",
                         fmt::format("{}: byte {}", file_.path(), file_.OffsetOf(*cut)));
    }
    simdjson::dom::parser parser;
    for (const std::string_view value : values) {
      REPRISE_ASSIGN(const element object, ParseElement(parser, file_, value));
      REPRISE_TRY(Read(object, file_.OffsetOf(value)));
      ++objects_;
    }
    if (!has_header_ || order_.empty()) {
      return BadInput(fmt::format(
          "{}: no record of NCCL's Inspector; expected JSON objects with header, metadata and "
          "coll_perf or p2p_perf",
          file_.path()));
    }
    std::vector<InspectorFile> out;
    for (const auto& key : order_) {
      out.push_back(std::move(processes_.at(key)));
    }
    CheckVersion(out.front());
    out.front().diagnostics.Merge(diagnostics_);
    return out;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Refuse(std::size_t byte, std::string_view what) const {
    return BadInput(fmt::format("{}: byte {}: {}", file_.path(), byte, what));
  }
  void Unreadable(std::string_view what) {
    diagnostics_.Count("recorder_value_unreadable",
                       fmt::format("{}: object {}: {}", file_.path(), objects_, what));
  }

  Status Read(element object, std::size_t byte) {
    const auto [header, metadata, coll, p2p, stats, proxy] = FindMembers(
        object, {"header", "metadata", "coll_perf", "p2p_perf", "dump_stats", "proxy_trace"});
    if (metadata.error() == simdjson::SUCCESS) {
      ReadMetadata(metadata.value_unsafe());
    }
    if (header.error() == simdjson::SUCCESS) {
      REPRISE_TRY(ReadHeader(header.value_unsafe(), byte));
    }
    process_->objects += has_header_ ? 1 : 0;
    const bool is_coll = coll.error() == simdjson::SUCCESS;
    if (is_coll || p2p.error() == simdjson::SUCCESS) {
      // A header of another process in the same file is none of this one's.
      if (!has_header_ || process_ == &nobody_ ||
          !process_->communicators.contains(context_.communicator)) {
        return Refuse(byte,
                      "a record without header and metadata, and no dump_stats before it: the "
                      "beginning of the file is missing");
      }
      ReadRecord(is_coll ? coll.value_unsafe() : p2p.value_unsafe(), is_coll ? "coll" : "p2p");
    } else if (stats.error() == simdjson::SUCCESS) {
      ReadStats(stats.value_unsafe());
    } else if (proxy.error() == simdjson::SUCCESS) {
      diagnostics_.Count("transfer_detail_left_out");
    } else {
      Unreadable("neither coll_perf nor p2p_perf nor dump_stats");
    }
    return {};
  }

  Status ReadHeader(element header, std::size_t byte) {
    const auto [id, name, rank, members] =
        FindMembers(header, {"id", "comm_name", "rank", "n_ranks"});
    const auto most = static_cast<std::int64_t>(CurrentInputLimits().ranks);
    const std::int64_t own = GetOr(rank, std::int64_t{-1});
    const std::int64_t all = GetOr(members, std::int64_t{-1});
    if (all > most) {
      return OverLimit(file_.path(), fmt::format("n_ranks {} at byte {}", all, byte), "ranks");
    }
    if (own < 0 || own >= all) {
      return Refuse(
          byte, fmt::format("header: rank {} of n_ranks {}; expected a rank of them", own, all));
    }
    context_.communicator = TextOf(id);
    context_.rank = static_cast<std::int32_t>(own);
    InspectorCommunicator& known = process_->communicators[context_.communicator];
    if (known.members > 0 && known.members != all) {
      return Refuse(byte, fmt::format("communicator {} has {} ranks here and {} before",
                                      context_.communicator, all, known.members));
    }
    known.members = static_cast<std::int32_t>(all);
    if (const std::string text = TextOf(name); !text.empty() && text != "unknown") {
      known.name = text;
    }
    has_header_ = true;
    return {};
  }

  void ReadMetadata(element metadata) {
    const auto [version, dumped, host, process] = FindMembers(
        metadata, {"inspector_output_format_version", "dump_timestamp_us", "hostname", "pid"});
    TakeProcess({TextOf(host), GetOr(process, std::int64_t{-1})});
    process_->version = TextOf(version);
    context_.dumped_ns = Nanoseconds(dumped, false);
  }
  void TakeProcess(const ProcessKey& key) {
    const auto [at, added] = processes_.try_emplace(key);
    process_ = &at->second;
    if (added) {
      order_.push_back(key);
      process_->path = file_.path();
      process_->host = key.first;
      process_->process = key.second;
    }
  }

  // Of microseconds; `zero`: whether 0 is a time.
  static std::int64_t Nanoseconds(const JsonMember& value, bool zero) {
    constexpr double kNsInMicrosecond = 1000;
    const std::int64_t whole = GetOr(value, std::int64_t{-1});
    const double us = whole >= 0 ? static_cast<double>(whole) : GetOr(value, -1.0);
    if (!(us >= 0) || us > kMostMicroseconds || (us == 0 && !zero)) {
      return -1;
    }
    return whole >= 0 ? whole * 1000 : std::llround(us * kNsInMicrosecond);
  }

  void ReadRecord(element perf, std::string_view prefix) {
    InspectorRecord record = context_;
    record.number = objects_;
    const auto member = [&](std::string_view name) -> JsonMember {
      return perf[fmt::format("{}{}", prefix, name)];
    };
    record.kind = ParseCommKind(TextOr(member(""))).value_or(CommKind::kUnknown);
    record.sequence = std::max<std::int64_t>(GetOr(member("_sn"), std::int64_t{-1}), -1);
    record.message_bytes =
        std::max<std::int64_t>(GetOr(member("_msg_size_bytes"), std::int64_t{-1}), -1);
    record.duration_ns = Nanoseconds(member("_exec_time_us"), true);
    if (record.duration_ns < 0 && member("_exec_time_us").error() == simdjson::SUCCESS) {
      Unreadable("exec_time_us");
    }
    const std::int64_t peer = GetOr(member("_peer"), std::int64_t{-1});
    record.peer = peer >= 0 && peer < process_->communicators[record.communicator].members
                      ? static_cast<std::int32_t>(peer)
                      : -1;
    ReadTrace(perf["event_trace_ts"], prefix, record);
    process_->records.push_back(std::move(record));
  }

  static void ReadTrace(const JsonMember& trace, std::string_view prefix, InspectorRecord& record) {
    if (trace.error() != simdjson::SUCCESS) {
      return;
    }
    record.issued_ns = Nanoseconds(trace[fmt::format("{}_start_ts", prefix)], false);
    simdjson::dom::array kernels;
    if (trace["kernel_events"].get(kernels) != simdjson::SUCCESS) {
      return;
    }
    for (const element kernel : kernels) {
      const std::int64_t start = Nanoseconds(kernel["kernel_start_ts"], false);
      const std::int64_t stop = Nanoseconds(kernel["kernel_stop_ts"], false);
      if (start >= 0) {
        record.started_ns = record.started_ns < 0 ? start : std::min(record.started_ns, start);
      }
      record.ended_ns = std::max(record.ended_ns, stop);
    }
  }

  // Totals grow: the last of a communicator counts.
  void ReadStats(element stats) {
    std::uint64_t dropped = 0;
    for (const std::string_view name : {"coll_dropped_total", "p2p_dropped_total"}) {
      dropped += static_cast<std::uint64_t>(
          std::clamp<std::int64_t>(GetOr(stats[name], std::int64_t{0}), 0, INT32_MAX));
    }
    if (has_header_) {
      std::uint64_t& known = process_->communicators[context_.communicator].dropped;
      known = std::max(known, dropped);
    }
  }

  void CheckVersion(const InspectorFile& first) {
    std::string_view version = first.version;
    version.remove_prefix(version.starts_with('v') ? 1 : 0);
    const double number = ParseNumber<double>(version).value_or(0);
    if (number > *ParseNumber<double>(kNewestVersion)) {
      diagnostics_.Count("recorder_version_newer",
                         fmt::format("{}: version {}", file_.path(), first.version));
    }
  }

  const TextFile& file_;
  std::map<ProcessKey, InspectorFile> processes_;
  std::vector<ProcessKey> order_;
  InspectorFile nobody_;  // before the first metadata
  InspectorFile* process_ = &nobody_;
  InspectorRecord context_;  // what the last header and metadata say
  bool has_header_ = false;
  std::uint64_t objects_ = 0;
  Diagnostics diagnostics_;
};

}  // namespace

bool LooksLikeInspector(const std::string& path) {
  constexpr std::size_t kHeadBytes = std::size_t{1} << 14;
  const std::string head = ReadHead(path, kHeadBytes);
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  return first != std::string::npos && head[first] == '{' &&
         (head.find("\"inspector_output_format_version\"") != std::string::npos ||
          (head.find("\"header\"") != std::string::npos &&
           head.find("\"coll_perf\"") != std::string::npos));
}

Result<std::vector<InspectorFile>> ReadInspectorFile(const TextFile& file) {
  return InspectorReader(file).Run();
}

}  // namespace reprise::nccl_inspector
