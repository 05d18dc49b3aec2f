#include "collectives/algorithms/algorithm_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "collectives/algorithms/algorithm.h"
#include "core/bytes.h"
#include "core/nearest.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr std::string_view kOwn = "mpi";

std::vector<std::string> Names() {
  std::vector<std::string> names = {std::string(kOwn)};
  for (const auto& algorithm : BuiltinAlgorithms()) {
    names.emplace_back(algorithm->name());
  }
  return names;
}

std::optional<int> ParseCount(std::string_view text, int most) {
  const auto value = ParseNumber<int>(text);
  return value && *value >= 1 && *value <= most ? value : std::nullopt;
}

Status SetOption(std::string_view text, AlgorithmChoice& choice) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  constexpr int kMaxNodeRanks = 1 << 20;
  if (key == "chunk") {
    const auto bytes = ParseBytes(value);
    if (!bytes || *bytes < 1) {
      return UsageError(fmt::format("--algo: chunk '{}' is no size: 64KiB, 4MiB, …", value));
    }
    choice.chunk_bytes = *bytes;
  } else if (key == "channels") {
    const auto channels = ParseCount(value, kMaxChannels);
    if (!channels) {
      return UsageError(fmt::format("--algo: channels '{}': from 1 to {}", value, kMaxChannels));
    }
    choice.channels = *channels;
  } else if (key == "node") {
    const auto ranks = ParseCount(value, kMaxNodeRanks);
    if (!ranks) {
      return UsageError(fmt::format("--algo: node '{}': ranks per node, 1 or more", value));
    }
    choice.node_size = *ranks;
  } else {
    return UsageError(
        fmt::format("--algo: unknown '{}'; there are chunk=SIZE, channels=N, node=N", text));
  }
  return {};
}

std::string KnownKinds(const Algorithm& algorithm) {
  std::vector<std::string_view> kinds;
  for (const CommKind kind : kCommKinds) {
    if (algorithm.Supports(kind)) {
      kinds.push_back(Name(kind));
    }
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace

Result<AlgorithmChoice> ParseAlgorithm(std::string_view text) {
  AlgorithmChoice choice;
  const std::vector<std::string_view> parts = SplitText(text, ',');
  const std::string_view name = parts.front();
  choice.algorithm = FindAlgorithm(name);
  if (choice.algorithm == nullptr && name != kOwn) {
    return UsageError(fmt::format("--algo: unknown algorithm '{}'; there are {}{}", name,
                                  fmt::join(Names(), ", "), DidYouMean(name, Names())));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    REPRISE_TRY(SetOption(parts[i], choice));
  }
  return choice;
}

Status AlgorithmChoices::Add(std::string_view text) {
  Entry entry{.text = std::string(text)};
  // KIND= comes before the first comma, where options have an equals sign too.
  const std::string_view head = text.substr(0, text.find(','));
  if (const std::size_t equals = head.find('='); equals != std::string_view::npos) {
    std::string_view kind = head.substr(0, equals);
    if (const std::size_t at = kind.find('@'); at != std::string_view::npos) {
      entry.group = std::string(kind.substr(at + 1));
      kind = kind.substr(0, at);
    }
    entry.kind = ParseCommKind(kind);
    if (!entry.kind || IsPointToPoint(*entry.kind)) {
      return UsageError(
          fmt::format("--algo: '{}' is no collective{} (`reprise list collectives` shows them)",
                      kind, DidYouMean<CommKind>(kind)));
    }
    text.remove_prefix(equals + 1);
  }
  REPRISE_ASSIGN(entry.choice, ParseAlgorithm(text));
  const Algorithm* algorithm = entry.choice.algorithm;
  if (algorithm != nullptr && entry.kind && !algorithm->Supports(*entry.kind)) {
    return UsageError(fmt::format("--algo: {} is no algorithm for {}; it knows {}",
                                  algorithm->name(), Name(*entry.kind), KnownKinds(*algorithm)));
  }
  entries_.push_back(std::move(entry));
  return {};
}

AlgorithmChoices AlgorithmChoices::ForMessagesOnly() {
  AlgorithmChoices choices;
  for (const char* text : {"direct", "ring", "broadcast=tree", "reduce=tree", "all_to_all=direct",
                           "barrier=recursive_doubling"}) {
    static_cast<void>(choices.Add(text));  // known names
  }
  return choices;
}

void AlgorithmChoices::Append(const AlgorithmChoices& later) {
  entries_.insert(entries_.end(), later.entries_.begin(), later.entries_.end());
}

bool AlgorithmChoices::Entry::Covers(CommKind of, const std::string& in) const {
  if (group && *group != in) {
    return false;
  }
  return kind ? *kind == of : choice.algorithm == nullptr || choice.algorithm->Supports(of);
}

AlgorithmChoice AlgorithmChoices::Find(CommKind kind, const std::string& group) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.Covers(kind, group) && (found == nullptr || entry.group || !found->group)) {
      found = &entry;
    }
  }
  return found == nullptr ? AlgorithmChoice() : found->choice;
}

std::string AlgorithmChoices::Describe() const {
  std::vector<std::string_view> texts;
  for (const Entry& entry : entries_) {
    texts.push_back(entry.text);
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace reprise
