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
constexpr std::string_view kMeasured = "measured";
constexpr std::string_view kTable = "table";

std::vector<std::string> Names() {
  std::vector<std::string> names = {std::string(kMeasured), std::string(kTable), std::string(kOwn)};
  for (const auto& algorithm : BuiltinAlgorithms()) {
    names.emplace_back(algorithm->name());
  }
  return names;
}

std::optional<int> ParseCount(std::string_view text, int most) {
  const auto value = ParseNumber<int>(text);
  return value && *value >= 1 && *value <= most ? value : std::nullopt;
}

constexpr int kMaxNodeRanks = 1 << 20;

Result<std::int64_t> SizeOption(std::string_view key, std::string_view value) {
  const auto bytes = ParseBytes(value);
  if (!bytes || *bytes < 1) {
    return UsageError(fmt::format("--algo: {} '{}' is no size: 64KiB, 4MiB, …", key, value));
  }
  return *bytes;
}

Result<int> RanksOption(std::string_view key, std::string_view value, std::string_view what) {
  const auto count = ParseCount(value, kMaxNodeRanks);
  if (!count) {
    return UsageError(fmt::format("--algo: {} '{}': {}, 1 or more", key, value, what));
  }
  return *count;
}

struct Option {
  std::string_view key;
  std::string_view value;
};
Option OptionOf(std::string_view text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals),
          equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1)};
}

Status SetOption(std::string_view text, AlgorithmChoice& choice) {
  const auto [key, value] = OptionOf(text);
  if (key == "chunk") {
    REPRISE_ASSIGN(choice.chunk_bytes, SizeOption(key, value));
  } else if (key == "channels") {
    const auto channels = ParseCount(value, kMaxChannels);
    if (!channels) {
      return UsageError(fmt::format("--algo: channels '{}': from 1 to {}", value, kMaxChannels));
    }
    choice.channels = *channels;
  } else if (key == "node") {
    REPRISE_ASSIGN(choice.node_size, RanksOption(key, value, "ranks per node"));
  } else {
    return UsageError(
        fmt::format("--algo: unknown '{}'; there are chunk=SIZE, channels=N, node=N, from=SIZE, "
                    "members=N, hosts=N",
                    text));
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
  if (text == kMeasured || text == kTable) {
    measures_ = text == kMeasured;
    return {};
  }
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
  std::string rest;
  for (const std::string_view part : SplitText(text, ',')) {
    const auto [key, value] = OptionOf(part);
    REPRISE_ASSIGN(const bool taken, SetCondition(key, value, entry));
    if (!taken) {
      rest += (rest.empty() ? "" : ",") + std::string(part);
    }
  }
  REPRISE_ASSIGN(entry.choice, ParseAlgorithm(rest));
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

AlgorithmChoices AlgorithmChoices::Table() {
  AlgorithmChoices choices;
  // Open MPI 4.1 over shared memory without cross-memory attach moves and adds whole messages;
  // pieces that stay in a core's cache take half the time.
  for (const char* text : {"all_reduce=ring,chunk=128KiB,channels=1,from=4MiB,hosts=1"}) {
    static_cast<void>(choices.Add(text));  // known names
  }
  return choices;
}

void AlgorithmChoices::Append(const AlgorithmChoices& later) {
  entries_.insert(entries_.end(), later.entries_.begin(), later.entries_.end());
}

Result<bool> AlgorithmChoices::SetCondition(std::string_view key, std::string_view value,
                                            Entry& entry) {
  if (key == "from") {
    REPRISE_ASSIGN(entry.from_bytes, SizeOption(key, value));
  } else if (key == "members") {
    REPRISE_ASSIGN(entry.members, RanksOption(key, value, "ranks of a group"));
  } else if (key == "hosts") {
    REPRISE_ASSIGN(entry.hosts, RanksOption(key, value, "hosts of a group"));
  } else {
    return false;
  }
  return true;
}

bool AlgorithmChoices::Entry::Covers(const ChosenTransfer& transfer) const {
  if ((group && *group != transfer.group) || (members > 0 && members != transfer.members) ||
      (hosts > 0 && hosts != transfer.hosts) ||
      (from_bytes > 0 && transfer.bytes.value_or(0) < from_bytes)) {
    return false;
  }
  return kind ? *kind == transfer.kind
              : choice.algorithm == nullptr || choice.algorithm->Supports(transfer.kind);
}

std::optional<AlgorithmChoice> AlgorithmChoices::Find(const ChosenTransfer& transfer) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.Covers(transfer) && (found == nullptr || entry.group || !found->group)) {
      found = &entry;
    }
  }
  return found == nullptr ? std::nullopt : std::optional(found->choice);
}

std::string AlgorithmChoices::Describe() const {
  std::vector<std::string_view> texts;
  for (const Entry& entry : entries_) {
    texts.push_back(entry.text);
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace reprise
