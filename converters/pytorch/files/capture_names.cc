#include "converters/pytorch/files/capture_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "converters/other_forms.h"
#include "converters/pytorch/perfetto/packets.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kEndings[] = {".json", ".pftrace", ".sqlite", ".db", ".xplane.pb"};
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

// The whole number of that member, -1 if there is none.
std::int64_t NumberOf(std::string_view text, std::string_view key) {
  const std::string_view value = ValueOf(text, key);
  std::int64_t out = -1;
  const auto [next, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  return error == std::errc() && out >= 0 ? out : -1;
}

// The text of that member as it is written, empty if there is none.
std::string_view TextOf(std::string_view text, std::string_view key) {
  std::string_view value = ValueOf(text, key);
  if (!value.starts_with('"')) {
    return {};
  }
  value.remove_prefix(1);
  const std::size_t end = value.find('"');
  return end == std::string_view::npos ? std::string_view() : value.substr(0, end);
}

constexpr std::int64_t kLargestNs = std::numeric_limits<std::int64_t>::max();

}  // namespace

bool IsCaptureName(std::string_view file_name) {
  const std::string_view name = WithoutPacking(file_name);
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

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

std::int32_t RankInName(std::string_view name) {
  name = WithoutPacking(name);
  std::string_view rest;
  constexpr std::string_view kRank = "rank";
  std::int32_t found = -1;
  for (std::size_t at = name.find(kRank); at != std::string_view::npos;
       at = name.find(kRank, at + 1)) {
    std::string_view number = name.substr(at + kRank.size());
    if (number.starts_with('-') || number.starts_with('_')) {
      number.remove_prefix(1);
    }
    if (at > 0 && IsLetter(name[at - 1])) {
      continue;  // "crank7"
    }
    if (const std::int32_t rank = LeadingNumber(number, rest); rank >= 0) {
      if (found >= 0 && found != rank) {
        return -1;
      }
      found = rank;
    }
  }
  for (const std::string_view mark : {"et_", "trace_"}) {
    const std::size_t at = name.rfind(mark);
    if (found < 0 && at != std::string_view::npos && (at == 0 || !IsLetter(name[at - 1]))) {
      const std::int32_t rank = LeadingNumber(name.substr(at + mark.size()), rest);
      found = rank >= 0 && std::ranges::find(kEndings, rest) != std::end(kEndings) ? rank : found;
    }
  }
  return found;
}

NumberedName NumbersIn(std::string_view name) {
  name = WithoutPacking(name);
  NumberedName out;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, at), name.size());
    if (end > at) {
      out.form += '#';
      out.numbers.push_back(name.substr(at, end - at));
      at = end;
    } else {
      out.form += name[at++];
    }
  }
  return out;
}

FileHead SniffText(std::string_view head) {
  FileHead out;
  if (const auto packets = SniffPerfetto(head)) {
    out.kind = CaptureKind::kKineto;
    out.process = packets->process;
    out.start_ns = packets->start_ns;
    return out;
  }
  const std::size_t brace = head.find_first_not_of(" \n\r\t");
  if (brace == std::string_view::npos || (head[brace] != '{' && head[brace] != '[')) {
    return out;
  }
  const auto has = [&](std::string_view key) { return !ValueOf(head, key).empty(); };
  if (head[brace] == '[') {  // Chrome's list of events: nothing is around them
    out.kind = has("ph") && has("pid") ? CaptureKind::kKineto : CaptureKind::kOther;
    return out;
  }
  if (IsViewersTrace(head)) {
    return out;
  }
  // Kineto first: strings in its events may say anything.
  if (has("traceEvents") || has("baseTimeNanoseconds") || has("deviceProperties")) {
    out.kind = CaptureKind::kKineto;
    const std::string_view info = ValueOf(head, "distributedInfo");
    out.rank = static_cast<std::int32_t>(
        std::min<std::int64_t>(NumberOf(info, "rank"), std::numeric_limits<std::int32_t>::max()));
    // What is around the events, then the first event.
    const std::string_view events = ValueOf(head, "traceEvents");
    out.host = TextOf(head.substr(0, head.size() - events.size()), "host_name");
    out.process = NumberOf(events, "pid");
    if (const std::int64_t us = NumberOf(events, "ts"); us >= 0) {
      const std::int64_t base_ns = std::max<std::int64_t>(NumberOf(head, "baseTimeNanoseconds"), 0);
      out.start_ns = us > kLargestNs / 1000 - base_ns / 1000 ? -1 : base_ns + us * 1000;
    }
    // A host trace that chakra_trace_link has been over is another format (converters/chakra).
  } else if (has("schema") && has("nodes") &&
             head.find("\"exclusive_dur\"") == std::string_view::npos &&
             head.find("\"inclusive_dur\"") == std::string_view::npos) {
    out.kind = CaptureKind::kHost;
    out.process = NumberOf(head, "pid");
  }
  return out;
}

}  // namespace reprise::pytorch
