// What a captured file is and of which rank, by its name and its first bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// Names of others: "rank-3.json.gz", "llama_rank_3.json", "dlrm_et_3.json", "dlrm_trace_3.json".
// -1: there is no rank in it.
[[nodiscard]] std::int32_t RankInName(std::string_view file_name);

// Whether it ends as JSON does: .json, .json.gz, .json.zst.
[[nodiscard]] bool IsJsonName(std::string_view file_name);

// By the first bytes of its text: "schema" and "nodes" make a host trace, "traceEvents" (or what
// comes before it) Kineto's, as does a list of Chrome's events; the rank is that of
// "distributedInfo".
[[nodiscard]] NamedCapture SniffText(std::string_view head);

}  // namespace reprise::pytorch
