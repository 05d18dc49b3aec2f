// What a captured file is and of which rank, by its name and its first bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::pytorch {

enum class CaptureKind : std::uint8_t { kHost, kKineto, kMeta, kOther };

struct NamedCapture {
  CaptureKind kind = CaptureKind::kOther;
  std::int32_t rank = -1;  // -1: neither name nor content has it
};

// Reprise's own names: rank12.et.json, rank12.kineto.json.gz, rank12.meta.json.
[[nodiscard]] std::optional<NamedCapture> ParseOwnName(std::string_view file_name);

// "rank0.et.json.tmp-4711": a file that a capture had begun when its process was killed.
[[nodiscard]] bool IsUnfinishedName(std::string_view file_name);

// The rank that a path says: "rank-3.json.gz", "llama_rank_3.json", "rank3/trace.json",
// "dlrm_et_3.json", "dlrm_trace_3.json". -1: there is none, or there are two
// ("dp_rank_0_tp_rank_1.json").
[[nodiscard]] std::int32_t RankInName(std::string_view name);

// A name without .gz or .zst, taken apart at its numbers.
struct NumberedName {
  std::string form;                       // "host.#.json"
  std::vector<std::string_view> numbers;  // into the name
};
[[nodiscard]] NumberedName NumbersIn(std::string_view name);

// Whether it ends as a capture does: .json, .pftrace, .sqlite, .db or .xplane.pb, each perhaps with
// .gz or .zst.
[[nodiscard]] bool IsCaptureName(std::string_view file_name);

// What the first bytes of a file's text, or of its packets, say of it.
struct FileHead {
  CaptureKind kind = CaptureKind::kOther;
  std::int32_t rank = -1;      // of "distributedInfo"; -1: not known
  std::int64_t process = -1;   // as the recorded host numbers it; -1: not known
  std::string host;            // empty: not known
  std::int64_t start_ns = -1;  // UTC, of Kineto's; -1: not known
};

// "schema" and "nodes" make a host trace, "traceEvents" (or what comes before it) Kineto's, as does
// a list of Chrome's events, and packets of Perfetto.
[[nodiscard]] FileHead SniffText(std::string_view head);

}  // namespace reprise::pytorch
