#include "collectives/matching/findings.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "collectives/byte_text.h"
#include "collectives/matching/fingerprint.h"

namespace reprise {
namespace {

constexpr std::size_t kTextsOfAll = 2000;
constexpr std::size_t kTextsOfOne = 20;

std::int64_t HashOfKey(const SequenceKey& key) {
  const auto group = static_cast<std::int64_t>(std::hash<std::string>()(key.group));
  const std::int64_t words[] = {group, key.source, key.destination};
  return HashOf(words);
}

void SortAndKeepFirst(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tie(a.key, a.position, a.order) < std::tie(b.key, b.position, b.order);
  });
  const auto same = [](const Finding& a, const Finding& b) { return a.key == b.key; };
  findings.erase(std::unique(findings.begin(), findings.end(), same), findings.end());
}

std::string Encode(const std::vector<Finding>& findings, std::size_t most_texts) {
  ByteWriter writer;
  std::vector<std::int64_t> keys;
  keys.reserve(findings.size());
  for (const Finding& finding : findings) {
    keys.push_back(HashOfKey(finding.key));
  }
  writer.Put(keys);
  for (std::size_t i = 0; i < std::min(findings.size(), most_texts); ++i) {
    const auto& [key, position, order, text] = findings[i];
    writer.Put(key.group, key.source, key.destination, position, order, text);
  }
  return writer.Take();
}

void Decode(std::string_view text, std::set<std::int64_t>& keys, std::vector<Finding>& findings) {
  if (text.empty()) {
    return;
  }
  ByteReader reader(text);
  const auto their_keys = reader.Get<std::vector<std::int64_t>>();
  keys.insert(their_keys.begin(), their_keys.end());
  while (!reader.AtEnd()) {
    auto& [key, position, order, their_text] = findings.emplace_back();
    reader.Read(key.group, key.source, key.destination, position, order, their_text);
  }
}

}  // namespace

Result<Findings> GatherFindings(Communicator& communicator, std::vector<Finding> mine) {
  REPRISE_ASSIGN(const auto counts, communicator.AllGather(mine.empty() ? "" : "x"));
  const auto finders = static_cast<std::size_t>(std::ranges::count(counts, "x"));
  if (finders == 0) {
    return Findings{};
  }
  SortAndKeepFirst(mine);
  const std::size_t most = std::clamp<std::size_t>(kTextsOfAll / finders, 1, kTextsOfOne);
  REPRISE_ASSIGN(const auto texts,
                 communicator.AllGather(mine.empty() ? std::string() : Encode(mine, most)));
  std::set<std::int64_t> keys;
  std::vector<Finding> all;
  for (const std::string& text : texts) {
    Decode(text, keys, all);  // by rank, and the sort is stable: the lowest rank's comes first
  }
  SortAndKeepFirst(all);
  Findings findings{.sequences = keys.size()};
  for (Finding& finding : all) {
    findings.texts.push_back(std::move(finding.text));
  }
  return findings;
}

}  // namespace reprise
