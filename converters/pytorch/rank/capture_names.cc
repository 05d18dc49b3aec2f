#include "converters/pytorch/rank/capture_names.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace reprise::pytorch {
namespace {

constexpr std::string_view kDigits = "0123456789";

std::string_view WithoutPacking(std::string_view name) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  return name;
}

// The number that `text` begins with; -1: none. `rest` is what follows.
std::int32_t LeadingNumber(std::string_view text, std::string_view& rest) {
  std::int32_t out = -1;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || out < 0) {
    return -1;
  }
  rest = std::string_view(next, static_cast<std::size_t>(end - next));
  return out;
}

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// What follows "key": in JSON text, spaces skipped; empty if there is no such member.
std::string_view ValueOf(std::string_view text, std::string_view key) {
  std::size_t at = text.find(fmt::format("\"{}\"", key));
  if (at == std::string_view::npos) {
    return {};
  }
  at = text.find_first_not_of(" \n\r\t", at + key.size() + 2);
  if (at == std::string_view::npos || text[at] != ':') {
    return {};
  }
  at = text.find_first_not_of(" \n\r\t", at + 1);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

}  // namespace

bool IsJsonName(std::string_view file_name) { return WithoutPacking(file_name).ends_with(".json"); }

std::optional<NamedCapture> ParseOwnName(std::string_view file_name) {
  constexpr std::string_view kPrefix = "rank";
  if (!file_name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  std::string_view suffix;
  NamedCapture out;
  out.rank = LeadingNumber(WithoutPacking(file_name.substr(kPrefix.size())), suffix);
  if (out.rank < 0) {
    return std::nullopt;
  }
  for (const auto& [ending, kind] :
       {std::pair(".et.json", CaptureKind::kHost), std::pair(".kineto.json", CaptureKind::kKineto),
        std::pair(".meta.json", CaptureKind::kMeta)}) {
    if (suffix == ending) {
      out.kind = kind;
      return out;
    }
  }
  return std::nullopt;
}

bool IsUnfinishedName(std::string_view file_name) {
  const std::size_t at = file_name.rfind(".tmp-");
  return at != std::string_view::npos && ParseOwnName(file_name.substr(0, at)).has_value();
}

std::int32_t RankInName(std::string_view file_name) {
  std::string_view stem = WithoutPacking(file_name);
  std::string_view rest;
  constexpr std::string_view kRank = "rank";
  for (std::size_t at = stem.find(kRank); at != std::string_view::npos;
       at = stem.find(kRank, at + 1)) {
    std::string_view number = stem.substr(at + kRank.size());
    if (number.starts_with('-') || number.starts_with('_')) {
      number.remove_prefix(1);
    }
    if (at > 0 && IsLetter(stem[at - 1])) {
      continue;  // "crank7"
    }
    if (const std::int32_t rank = LeadingNumber(number, rest); rank >= 0) {
      return rank;
    }
  }
  for (const std::string_view mark : {"et_", "trace_"}) {
    const std::size_t at = stem.rfind(mark);
    if (at != std::string_view::npos && (at == 0 || !IsLetter(stem[at - 1]))) {
      if (const std::int32_t rank = LeadingNumber(stem.substr(at + mark.size()), rest);
          rank >= 0 && rest == ".json") {
        return rank;
      }
    }
  }
  return -1;
}

NamedCapture SniffText(std::string_view head) {
  NamedCapture out;
  const std::size_t brace = head.find_first_not_of(" \n\r\t");
  if (brace == std::string_view::npos || (head[brace] != '{' && head[brace] != '[')) {
    return out;
  }
  const auto has = [&](std::string_view key) { return !ValueOf(head, key).empty(); };
  if (head[brace] == '[') {  // Chrome's list of events: nothing is around them
    out.kind = has("ph") && has("pid") ? CaptureKind::kKineto : CaptureKind::kOther;
    return out;
  }
  // Kineto first: strings in its events may say anything.
  if (has("traceEvents") || has("baseTimeNanoseconds") || has("deviceProperties")) {
    out.kind = CaptureKind::kKineto;
    const std::string_view info = ValueOf(head, "distributedInfo");
    std::string_view rest;
    const std::string_view rank = ValueOf(info, "rank");
    if (!rank.empty() && kDigits.find(rank.front()) != std::string_view::npos) {
      out.rank = LeadingNumber(rank, rest);
    }
    // A host trace that chakra_trace_link has been over is another format (converters/chakra).
  } else if (has("schema") && has("nodes") &&
             head.find("\"exclusive_dur\"") == std::string_view::npos &&
             head.find("\"inclusive_dur\"") == std::string_view::npos) {
    out.kind = CaptureKind::kHost;
  }
  return out;
}

}  // namespace reprise::pytorch
