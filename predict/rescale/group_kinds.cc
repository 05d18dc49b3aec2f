#include "predict/rescale/group_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace reprise {
namespace {

struct KindWord {
  std::string_view word;
  GroupKind kind;
};
constexpr std::array kWords = {
    KindWord{"data", GroupKind::kData},      KindWord{"dp", GroupKind::kData},
    KindWord{"ddp", GroupKind::kData},       KindWord{"fsdp", GroupKind::kData},
    KindWord{"hsdp", GroupKind::kData},      KindWord{"edp", GroupKind::kData},
    KindWord{"shard", GroupKind::kData},     KindWord{"replica", GroupKind::kData},
    KindWord{"replicate", GroupKind::kData}, KindWord{"tensor", GroupKind::kTensor},
    KindWord{"tp", GroupKind::kTensor},      KindWord{"pipeline", GroupKind::kPipeline},
    KindWord{"pp", GroupKind::kPipeline},    KindWord{"embedding", GroupKind::kPipeline},
    KindWord{"embd", GroupKind::kPipeline},  KindWord{"context", GroupKind::kContext},
    KindWord{"cp", GroupKind::kContext},     KindWord{"expert", GroupKind::kExpert},
    KindWord{"ep", GroupKind::kExpert},      KindWord{"norm", GroupKind::kOther}};

std::vector<std::string> WordsOf(std::string_view description) {
  std::vector<std::string> words(1);
  for (const char c : description) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// Sums of counts and norms are smaller, activations and buckets larger.
constexpr std::int64_t kLargeElements = 256;
constexpr std::int64_t kLeastWidth = 2;  // bytes of a gradient

}  // namespace

std::optional<GroupKind> KindOfDescription(std::string_view description) {
  std::set<GroupKind> kinds;
  bool with = false;
  for (const std::string& word : WordsOf(description)) {
    with = with || word == "with";
    const auto* const known = std::ranges::find(kWords, word, &KindWord::word);
    // "DATA_PARALLEL_GROUP_WITH_CP" has data-parallel replicas.
    if (known != kWords.end() && !with) {
      kinds.insert(known->kind);
    }
  }
  if (kinds.contains(GroupKind::kData)) {
    kinds.erase(GroupKind::kExpert);  // the replicas of one expert
  }
  if (kinds.empty()) {
    return std::nullopt;
  }
  return kinds.size() == 1 ? *kinds.begin() : GroupKind::kOther;
}

void SeenTransfers::Add(const Node& node) {
  ++transfers;
  kinds.insert(node.comm->kind);
  std::int64_t elements = 0;
  std::size_t dimensions = 0;
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      if (tensor->elements > elements) {
        elements = tensor->elements;
        dimensions = tensor->shape.size();
      }
    }
  }
  if (elements >= kLargeElements) {
    ++(dimensions == 1 ? flat : shaped);
  } else if (elements == 0 && (!node.comm->bytes_known ||
                               ContributedBytes(*node.comm) >= kLargeElements * kLeastWidth)) {
    ++unseen;
  }
}

GroupKind KindOfTransfers(const SeenTransfers& transfers) {
  const auto only = [&transfers](std::initializer_list<CommKind> kinds) {
    return std::ranges::all_of(transfers.kinds, [&kinds](CommKind kind) {
      return std::ranges::find(kinds, kind) != kinds.end();
    });
  };
  if (only({CommKind::kSend, CommKind::kRecv, CommKind::kBarrier})) {
    return transfers.kinds.contains(CommKind::kSend) || transfers.kinds.contains(CommKind::kRecv)
               ? GroupKind::kPipeline
               : GroupKind::kOther;
  }
  if (transfers.kinds.contains(CommKind::kAllToAll)) {
    return GroupKind::kExpert;
  }
  if (transfers.shaped > 0) {
    return transfers.flat == 0 ? GroupKind::kTensor : GroupKind::kUnknown;
  }
  return transfers.unseen > 0 ? GroupKind::kUnknown
         : transfers.flat > 0 ? GroupKind::kData
                              : GroupKind::kOther;
}

}  // namespace reprise
