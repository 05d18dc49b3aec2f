#include "core/comm.h"

#include <algorithm>
#include <cctype>

namespace reprise {
namespace {

// Lower-case letters only: "_reduce_scatter_base_" and "ReduceScatter" compare alike.
std::string Squeeze(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace

std::optional<CommKind> ParseCommKind(std::string_view text) {
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);  // "c10d::allreduce_", "gloo:all_reduce"
  }
  const std::string squeezed = Squeeze(text);
  // Longest first: "allreduce" contains "reduce".
  struct Pattern {
    std::string_view text;
    CommKind kind;
  };
  constexpr Pattern kPatterns[] = {
      {"reducescatter", CommKind::kReduceScatter},
      {"allreduce", CommKind::kAllReduce},
      {"allgather", CommKind::kAllGather},
      {"alltoall", CommKind::kAllToAll},
      {"broadcast", CommKind::kBroadcast},
      {"barrier", CommKind::kBarrier},
      {"scatter", CommKind::kScatter},
      {"gather", CommKind::kGather},
      {"reduce", CommKind::kReduce},
      {"send", CommKind::kSend},
      {"recv", CommKind::kRecv},
  };
  for (const Pattern& pattern : kPatterns) {
    if (squeezed.find(pattern.text) != std::string::npos) {
      return pattern.kind;
    }
  }
  return std::nullopt;
}

std::optional<ReduceOp> ParseReduceOp(std::string_view text) {
  const auto& names = kNamesOf<ReduceOp>;
  const auto* const found = std::ranges::find(names, Squeeze(text), Squeeze);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<ReduceOp>(found - names.begin()));
}

std::string_view LacksOf(const CommSpec& spec) {
  if (spec.kind == CommKind::kUnknown) {
    return "kind";
  }
  if (!spec.bytes_known) {
    return "size";
  }
  if (HasRoot(spec.kind) && spec.root < 0) {
    return "root";
  }
  if (IsPointToPoint(spec.kind) && spec.peer < 0) {
    return "peer";
  }
  if (spec.unmatched) {
    return "members";
  }
  return spec.certainty == GroupCertainty::kUnknown && spec.group.empty() ? kLacksGroup : "";
}

SequenceKey SequenceOf(const CommSpec& spec, std::int32_t rank) {
  SequenceKey key{.group = spec.group};
  if (spec.kind == CommKind::kSend) {
    key.source = rank;
    key.destination = spec.peer;
  } else if (spec.kind == CommKind::kRecv) {
    key.source = spec.peer;
    key.destination = rank;
  }
  return key;
}

std::int64_t ContributedBytes(const CommSpec& spec) {
  switch (spec.kind) {
    case CommKind::kBroadcast:
    case CommKind::kScatter:
    case CommKind::kRecv:
      return std::max(spec.in_bytes, spec.out_bytes);
    default:
      return spec.in_bytes;
  }
}

std::int64_t AlgorithmBytes(const CommSpec& spec, int group_size) {
  switch (spec.kind) {
    case CommKind::kAllGather:
      return std::max(spec.out_bytes, spec.in_bytes * group_size);
    case CommKind::kReduceScatter:
      return std::max(spec.in_bytes, spec.out_bytes * group_size);
    case CommKind::kGather:  // the same on all members: the root alone has the whole buffer
      return std::max(spec.out_bytes, spec.in_bytes * group_size);
    case CommKind::kScatter:
      return std::max(spec.in_bytes, spec.out_bytes * group_size);
    default:
      return std::max(spec.in_bytes, spec.out_bytes);
  }
}

double BusFactor(CommKind kind, int group_size) {
  if (group_size < 1) {
    return 1.0;
  }
  const double n = group_size;
  switch (kind) {
    case CommKind::kAllReduce:
      return 2.0 * (n - 1) / n;
    case CommKind::kAllGather:
    case CommKind::kReduceScatter:
    case CommKind::kAllToAll:
    case CommKind::kGather:
    case CommKind::kScatter:
      return (n - 1) / n;
    default:
      return 1.0;
  }
}

}  // namespace reprise
